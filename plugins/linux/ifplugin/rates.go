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
		now, here := l.latest.interfaces[name]
		before, there := l.former.interfaces[name]
		if !here || !there || now.Index != before.Index {
			continue // it was created again
		}
		if r, known := now.counted().Since(before.counted(), out.Seconds, name); known {
			out.Interfaces = append(out.Interfaces, r)
		}
	}
	return out
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
	if at := time.Now(); p.live.latest == nil || at.Sub(p.live.latest.at) >= liveAge {
		all, err := p.Counters(ctx)
		now := &counted{at: at, interfaces: make(map[string]InterfaceCounters, len(all)), err: err}
		for _, c := range all {
			now.interfaces[c.Name] = c
		}
		p.live.add(now)
	}
	return p.live.rates(slices.Clone(names))
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
