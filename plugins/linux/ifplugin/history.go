package ifplugin

import (
	"context"
	"net/http"
	"sync"

	"github.com/tenuto-dev/tenuto/infra/rates"
	"github.com/tenuto-dev/tenuto/infra/rest"
)

// history has the rates of interfaces in the last hour, within the limits of the history of VPP.
type history struct {
	mu   sync.Mutex
	hour rates.Hour
	last *counted // of the last sample; nil: there is none
}

// add adds a sample. Interfaces that were not read, that were created again and whose counters began again
// have a gap.
func (h *history) add(now *counted) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.hour.Begin(now.at)
	for name := range now.interfaces {
		h.hour.Put(now.since(h.last, name))
	}
	h.last = now
}

// response returns the last hour of interfaces.
func (h *history) response(names []string) rates.History {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := rates.History{Up: true, Series: []rates.Series{}}
	if h.last != nil && h.last.err != nil {
		out.Up, out.Reason = len(h.last.interfaces) > 0, h.last.err.Error()
	}
	h.hour.Fill(&out, names)
	return out
}

// keepHistory samples until the plugin is closed.
func (p *Plugin) keepHistory(ctx context.Context) {
	rates.Sample(ctx, p.sampling, func() { p.history.add(p.count(ctx)) })
}

// historyEndpoint is the endpoint of the history.
func (p *Plugin) historyEndpoint() rest.Endpoint {
	return rest.Endpoint{
		Path: "/linux/history", Groups: []string{rest.GroupTelemetry, rest.GroupStats}, Query: []string{"interface..."}, Response: rates.History{}, Handler: p.serveHistory,
		Doc: "the last hour of interfaces of Linux: packets, bits, drops and errors per second; ?interface=NAME (repeatable); null where a value is unknown",
	}
}

func (p *Plugin) serveHistory(w http.ResponseWriter, r *http.Request) {
	names := r.URL.Query()["interface"]
	if err := rates.CheckNames(names); err != nil {
		rest.WriteError(w, http.StatusBadRequest, err)
		return
	}
	out := p.history.response(names)
	out.Every = p.sampling.Seconds()
	rest.WriteJSON(w, http.StatusOK, out)
}
