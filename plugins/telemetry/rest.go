package telemetry

import (
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/tenuto-dev/tenuto/infra/rates"
	"github.com/tenuto-dev/tenuto/infra/rest"
)

// liveAge is how old the counters of /vpp/rates may be.
const liveAge = 2 * time.Second

// History is how values changed in the last hour.
type History struct {
	Up     bool   `json:"up"`
	Reason string `json:"reason,omitempty"`
	// Until is the time of the last sample, and Every the seconds between two of them.
	Until time.Time `json:"until,omitzero"`
	Every float64   `json:"every"`
	// Series are the values, the oldest first.
	Series []Series `json:"series"`
	// Omitted is the number of interfaces without a history, because there are too many.
	Omitted int `json:"omitted,omitempty"`
}

// Series is a value over time: of VPP, or a rate of an interface per second.
type Series struct {
	Interface string `json:"interface,omitempty"`
	Name      string `json:"name"`
	// Values are null where the value is unknown: VPP could not be read, or it has restarted.
	Values Gapped `json:"values"`
}

// Gapped are numbers, NaN where one is unknown.
type Gapped []float32

// MarshalJSON writes null for an unknown number.
func (g Gapped) MarshalJSON() ([]byte, error) {
	b := []byte{'['}
	for i, v := range g {
		if i > 0 {
			b = append(b, ',')
		}
		if math.IsNaN(float64(v)) {
			b = append(b, "null"...)
		} else {
			b = strconv.AppendFloat(b, math.Round(float64(v)*10)/10, 'f', -1, 64)
		}
	}
	return append(b, ']'), nil
}

// endpoints returns the endpoints of rates and history.
func (p *Plugin) endpoints() []rest.Endpoint {
	groups := []string{rest.GroupTelemetry, rest.GroupStats}
	return []rest.Endpoint{
		{Path: "/vpp/rates", Groups: groups, Query: []string{"interface..."}, Response: rates.Rates{}, Handler: p.serveRates,
			Doc: "packets, bits, drops and errors of interfaces of VPP per second, between this request and the one before; ?interface=NAME (repeatable), all without"},
		{Path: "/vpp/history", Groups: groups, Query: []string{"interface..."}, Response: History{}, Handler: p.serveHistory,
			Doc: "the last hour: vector rate, input rate, buffers and heap of VPP in percent; ?interface=NAME (repeatable) for the packets, bits, drops and errors of interfaces per second; null where a value is unknown"},
	}
}

func (p *Plugin) serveRates(w http.ResponseWriter, r *http.Request) {
	rest.WriteJSON(w, http.StatusOK, p.Rates(r.URL.Query()["interface"]))
}

// Rates returns what interfaces do per second, all without names.
func (p *Plugin) Rates(names []string) rates.Rates {
	out := rates.Rates{Interfaces: []rates.Interface{}}
	s := p.readSince(liveAge)
	if s.snapshot == nil {
		out.Reason = s.err.Error()
		return out
	}
	out.Up = true
	former, latest := p.history.live(s)
	if former == nil || former.boot != latest.boot {
		return out
	}
	out.Seconds = latest.at.Sub(former.at).Seconds()
	if len(names) == 0 {
		for name := range latest.interfaces {
			names = append(names, name)
		}
	}
	for _, name := range slices.Sorted(slices.Values(names)) {
		if v, ok := latest.since(former, name); ok {
			out.Interfaces = append(out.Interfaces, named(name, v))
		}
	}
	return out
}

// named returns the rates of an interface as a response has them.
func named(name string, v [rateCount]float32) rates.Interface {
	of := func(r rate) float64 { return rates.Rounded(float64(v[r])) }
	return rates.Interface{Name: name, RxPackets: of(rxPackets), TxPackets: of(txPackets), RxBits: of(rxBits), TxBits: of(txBits), Drops: of(drops), Errors: of(errorPackets)}
}

// live returns the last two points. Before the second request the former one is of the history.
func (h *history) live(s readState) (former, latest *point) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.latest == nil || !h.latest.at.Equal(s.at) {
		h.former, h.latest = h.latest, pointOf(s)
	}
	if h.former == nil || h.last != nil && h.last.at.After(h.former.at) && h.last.at.Before(h.latest.at) {
		h.former = h.last
	}
	return h.former, h.latest
}

func (p *Plugin) serveHistory(w http.ResponseWriter, r *http.Request) {
	names := r.URL.Query()["interface"]
	if len(names) > maxAsked {
		rest.WriteError(w, http.StatusBadRequest, fmt.Errorf("parameter interface: %d names, expected at most %d", len(names), maxAsked))
		return
	}
	out := History{Series: []Series{}, Every: p.sampling.Seconds()}
	if s := p.readSince(p.sampling); s.snapshot == nil {
		out.Reason = s.err.Error()
	} else {
		out.Up = true
	}
	p.history.fill(&out, names)
	rest.WriteJSON(w, http.StatusOK, out)
}

// maxAsked is the number of interfaces in one response with histories.
const maxAsked = 100

// fill adds the series of VPP, or of the named interfaces.
func (h *history) fill(out *History, names []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	out.Until, out.Omitted = h.times[(h.next+samples-1)%samples], h.omitted
	inOrder := func(ring *[samples]float32) (values Gapped) {
		for i := range samples {
			if at := (h.next + i) % samples; !h.times[at].IsZero() {
				values = append(values, ring[at])
			}
		}
		return values
	}
	if len(names) == 0 {
		for v := range h.vpp {
			out.Series = append(out.Series, Series{Name: vppNames[v], Values: inOrder(&h.vpp[v])})
		}
	}
	for _, name := range names {
		if of := h.interfaces[name]; of != nil {
			for r := range of.values {
				out.Series = append(out.Series, Series{Interface: name, Name: rateNames[r], Values: inOrder(&of.values[r])})
			}
		}
	}
}
