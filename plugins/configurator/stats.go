package configurator

import (
	"cmp"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/tenuto-dev/tenuto/infra/rest"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api/response"
)

// statistics are the numbers and times of calls of the ConfiguratorService. The zero value is
// ready.
type statistics struct {
	mu    sync.Mutex
	calls map[string]response.Timing
	all   response.Timing
}

// timed counts a call. The caller calls done at its end.
func (s *statistics) timed(method string) (done func()) {
	begin := time.Now()
	return func() {
		took := time.Since(begin).Seconds()
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.calls == nil {
			s.calls = map[string]response.Timing{}
		}
		s.calls[method] = with(s.calls[method], method, took)
		s.all = with(s.all, "", took)
	}
}

// with adds a call to a timing.
func with(t response.Timing, name string, took float64) response.Timing {
	t.Name = name
	t.Count++
	t.Total += took
	t.Avg = t.Total / float64(t.Count)
	t.Min, t.Max = min(cmp.Or(t.Min, took), took), max(t.Max, took)
	return t
}

// statsResponse is the response of /stats/configurator, with the fields of the predecessor.
type statsResponse struct {
	AllOperations struct {
		Count uint64  `json:"count"`
		Total float64 `json:"total,omitempty"`
		Avg   float64 `json:"avg,omitempty"`
		Min   float64 `json:"min,omitempty"`
		Max   float64 `json:"max,omitempty"`
	}
	Operations []response.Timing // by method
}

func (s *statistics) response() statsResponse {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := statsResponse{Operations: []response.Timing{}}
	all := &r.AllOperations
	all.Count, all.Total, all.Avg, all.Min, all.Max = s.all.Count, s.all.Total, s.all.Avg, s.all.Min, s.all.Max
	for _, method := range slices.Sorted(maps.Keys(s.calls)) {
		r.Operations = append(r.Operations, s.calls[method])
	}
	return r
}

func (p *Plugin) endpoint() rest.Endpoint {
	return rest.Endpoint{
		Path: "/stats/configurator", Groups: []string{rest.GroupStats}, Response: statsResponse{}, Doc: "numbers and times of calls of ligato.configurator.ConfiguratorService",
		Handler: func(w http.ResponseWriter, _ *http.Request) { rest.WriteJSON(w, http.StatusOK, p.stats.response()) },
	}
}
