package telemetry

import (
	"net/http"
	"slices"
	"time"

	"github.com/tenuto-dev/tenuto/infra/rates"
	"github.com/tenuto-dev/tenuto/infra/rest"
)

// liveAge is how old the counters of /vpp/rates may be.
const liveAge = 2 * time.Second

// endpoints returns the endpoints of rates and history.
func (p *Plugin) endpoints() []rest.Endpoint {
	groups := []string{rest.GroupTelemetry, rest.GroupStats}
	return []rest.Endpoint{
		{Path: "/vpp/rates", Groups: groups, Query: []string{"interface..."}, Response: rates.Rates{}, Handler: p.serveRates,
			Doc: "packets, bits, drops and errors of interfaces of VPP per second, between this request and the one before; ?interface=NAME (repeatable), all without"},
		{Path: "/vpp/history", Groups: groups, Query: []string{"interface..."}, Response: rates.History{}, Handler: p.serveHistory,
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
		if r, ok := latest.since(former, name); ok {
			out.Interfaces = append(out.Interfaces, r)
		}
	}
	return out
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
	if err := rates.CheckNames(names); err != nil {
		rest.WriteError(w, http.StatusBadRequest, err)
		return
	}
	out := rates.History{Series: []rates.Series{}, Every: p.sampling.Seconds()}
	if s := p.readSince(p.sampling); s.snapshot == nil {
		out.Reason = s.err.Error()
	} else {
		out.Up = true
	}
	p.history.fill(&out, names)
	rest.WriteJSON(w, http.StatusOK, out)
}

// fill adds the series of VPP, or of the named interfaces.
func (h *history) fill(out *rates.History, names []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(names) == 0 {
		for v := range h.vpp {
			out.Series = append(out.Series, rates.Series{Name: vppNames[v], Values: h.hour.InOrder(&h.vpp[v])})
		}
	}
	h.hour.Fill(out, names)
}
