package engine

import (
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/record"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/refresh"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/registry"
)

// southbound reads the actual state from the southbounds. It belongs to the worker.
type southbound struct {
	*shared

	progress progress
}

// closed returns the southbounds that descriptors name and that are not known to be
// connected.
func (b *southbound) closed() map[string]bool { return b.sessions.closed(b.state.registry.Load()) }

func (b *southbound) refresher(closed map[string]bool) *refresh.Refresher {
	return &refresh.Refresher{
		Graph: b.state.graph, Registry: b.state.registry.Load(), Lock: &b.state.mu, Closed: closed,
		Unconfirmed: b.journal.unconfirmed,
		Complete:    b.state.fullResyncDone, Policies: b.opts.Policies,
		Reads: b.reads, Calls: b.overdue, Observer: readObserver{b, false},
	}
}

// verboseRefresher returns a refresher that logs the values that it reads, if the
// transaction asks for that.
func (b *southbound) verboseRefresher(p *transaction) *refresh.Refresher {
	r := b.refresher(p.request.Closed)
	r.Observer = readObserver{b, p.opts.Verbose}
	return r
}

// readObserver logs what is read and passes it on, as a refresh.Observer.
type readObserver struct {
	*southbound
	verbose bool // logs the values
}

func (o readObserver) Reading(descriptor string) { o.beginReading(descriptor) }

func (o readObserver) Retrieved(descriptor string, values []api.KVWithMetadata) {
	o.contracts.Begin(descriptor)
	if !o.verbose {
		return
	}
	o.log.Info("retrieved", "descriptor", descriptor, "values", len(values))
	for _, kv := range values {
		o.log.Info("retrieved value", "descriptor", descriptor, "key", kv.Key, "value", record.ValueText(kv.Value))
	}
}

func (o readObserver) Changed(key string) { o.state.refreshed = append(o.state.refreshed, key) }

func (o readObserver) Problem(descriptor, problem string, violation bool) {
	o.log.Warn("refresh", "descriptor", descriptor, "problem", problem)
	if violation {
		o.contracts.Retrieve(descriptor, problem)
	}
}

func (b *southbound) refreshKeys(keys []string) (unread []string) {
	return b.refresher(b.closed()).Keys(keys)
}

// readAgain reads base values from the southbound into the graph, including values that
// do not exist in the graph.
func (b *southbound) readAgain(bases []string, closed map[string]bool) {
	keys := map[*registry.Descriptor]map[string]bool{}
	reg := b.state.registry.Load()
	for _, base := range bases {
		d, err := reg.Lookup(base)
		if err != nil || d == nil || d.Retrieve == nil {
			continue // it cannot be read
		}
		if keys[d] == nil {
			keys[d] = map[string]bool{}
		}
		keys[d][base] = true
	}
	r := b.refresher(closed)
	for _, d := range reg.RetrieveOrder {
		if keys[d] != nil {
			r.Among(d, keys[d])
		}
	}
}
