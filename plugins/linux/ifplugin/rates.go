package ifplugin

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/tenuto-dev/tenuto/infra/rates"
	"github.com/tenuto-dev/tenuto/infra/rest"
)

const (
	// liveAge is how old the counters of /linux/rates may be.
	liveAge = 2 * time.Second
	// livePause is the longest time that rates are computed over. After a longer one without requests they begin
	// again: the mean of an hour is not the rate now.
	livePause = time.Minute
)

// live has the counters of the last two reads. They are read for requests only.
type live struct {
	mu             sync.Mutex
	former, latest *counted
}

// counted are the counters of all interfaces at a time.
type counted struct {
	at         time.Time
	interfaces map[string]InterfaceCounters
	err        error
}

// add remembers a read.
func (l *live) add(now *counted) {
	l.former, l.latest = l.latest, now
	if l.former != nil && (l.former.err != nil || now.at.Sub(l.former.at) > livePause) {
		l.former = nil
	}
}

// rates returns the rates of interfaces, of all without names.
func (l *live) rates(names []string) rates.Rates {
	out := rates.Rates{Interfaces: []rates.Interface{}}
	if l.latest.err != nil {
		out.Reason = l.latest.err.Error()
	}
	if out.Up = l.latest.err == nil || len(l.latest.interfaces) > 0; l.former == nil {
		return out
	}
	out.Seconds = l.latest.at.Sub(l.former.at).Seconds()
	if len(names) == 0 {
		for name := range l.latest.interfaces {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if r, known := l.latest.since(l.former, name); known {
			out.Interfaces = append(out.Interfaces, r)
		}
	}
	return out
}

// since returns the rates of an interface since an earlier read. They are unknown if it was created again.
func (c *counted) since(before *counted, name string) (r rates.Interface, known bool) {
	r.Name = name
	now, here := c.interfaces[name]
	if before == nil || !here {
		return r, false
	}
	was, there := before.interfaces[name]
	if !there || now.Index != was.Index {
		return r, false
	}
	return now.counted().Since(was.counted(), c.at.Sub(before.at).Seconds(), name)
}

func (c InterfaceCounters) counted() rates.Counters {
	return rates.Counters{
		RxPackets: c.RXPackets, TxPackets: c.TXPackets, RxBits: 8 * c.RXBytes, TxBits: 8 * c.TXBytes,
		Drops: c.RXDropped + c.TXDropped, Errors: c.RXErrors + c.TXErrors,
	}
}

// Rates returns what interfaces do per second, all without names. It reads the counters if those that it
// has are too old.
func (p *Plugin) Rates(ctx context.Context, names []string) rates.Rates {
	p.live.mu.Lock()
	defer p.live.mu.Unlock()
	if p.live.latest == nil || time.Since(p.live.latest.at) >= liveAge {
		p.live.add(p.count(ctx))
	}
	return p.live.rates(slices.Clone(names))
}

// count reads the counters.
func (p *Plugin) count(ctx context.Context) *counted {
	at := time.Now()
	all, err := p.Counters(ctx)
	now := &counted{at: at, interfaces: make(map[string]InterfaceCounters, len(all)), err: err}
	for _, c := range all {
		now.interfaces[c.Name] = c
	}
	return now
}

// ratesEndpoint is the endpoint of the rates.
func (p *Plugin) ratesEndpoint() rest.Endpoint {
	return rest.Endpoint{
		Path: "/linux/rates", Groups: []string{rest.GroupTelemetry, rest.GroupStats}, Query: []string{"interface..."}, Response: rates.Rates{}, Handler: p.serveRates,
		Doc: "packets, bits, drops and errors of interfaces of Linux per second, between this request and the one before; ?interface=NAME (repeatable), all without",
	}
}

func (p *Plugin) serveRates(w http.ResponseWriter, r *http.Request) {
	rest.WriteJSON(w, http.StatusOK, p.Rates(r.Context(), r.URL.Query()["interface"]))
}
