package engine

import (
	"context"
	"slices"
	"strings"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/drift"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/graph"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/refresh"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/registry"
)

// reading is the result of Retrieve of one descriptor, with the actual state of its
// values in the graph at that time.
type reading struct {
	believed []drift.Belief
	found    []api.KVWithMetadata
	changed  bool  // transactions ran during a concurrent read
	err      error // of the descriptor
}

// detect returns the drifts of one descriptor and the number of values compared.
// failed is the reason why the descriptor could not be read.
func (dd *driftDetector) detect(ctx context.Context, reg *registry.Registry, d *registry.Descriptor) (found []api.Drift, values int, failed, err error) {
	read := dd.readBetween
	if d.ConcurrentRetrieve {
		read = dd.readBeside
	}
	var before []api.Drift
	for attempt := 1; ; attempt++ {
		r, err := read(ctx, d)
		if err != nil || r.err != nil {
			return nil, 0, r.err, err
		}
		found, values, failed = drift.Compare(reg, d, r.believed, r.found)
		if failed != nil || !r.changed || len(found) == 0 {
			return found, values, failed, nil
		}
		if attempt > 1 {
			return drift.Common(before, found), values, nil, nil
		}
		// A concurrent change of another value may look like drift of a value that
		// refers to it. Only real drift is found again.
		before = found
	}
}

// readBetween runs Retrieve between two transactions, in the order of the queue.
func (dd *driftDetector) readBetween(ctx context.Context, d *registry.Descriptor) (reading, error) {
	done := make(chan reading, 1)
	err := dd.admission.push(call(func() {
		if ctx.Err() == nil {
			done <- dd.readNow(d)
		}
	}))
	if err != nil {
		return reading{}, err
	}
	return await(ctx, dd.admission, done)
}

func (dd *driftDetector) readNow(d *registry.Descriptor) (r reading) {
	known, found, err := dd.southbound.refresher(dd.southbound.closed()).Read(d)
	r.found, r.err = found, err
	r.believed = make([]drift.Belief, len(known))
	for i, n := range known {
		r.believed[i] = drift.Believe(n)
	}
	return r
}

// readBeside runs Retrieve concurrently with transactions. The result omits the values
// that they change before Retrieve returns.
func (dd *driftDetector) readBeside(ctx context.Context, d *registry.Descriptor) (r reading, err error) {
	dd.track()
	defer dd.untrack()
	believed, correlate := dd.believed(d)
	var read func() ([]api.KVWithMetadata, error)
	err = dd.admission.onWorker(ctx, func() { read, r.err = dd.southbound.refresher(dd.southbound.closed()).Prepare(d, correlate) })
	if err != nil || r.err != nil || read == nil {
		return r, err
	}
	done := make(chan reading, 1)
	go func() {
		found, err := read()
		done <- reading{found: found, err: err}
	}()
	if r, err = await(ctx, dd.admission, done); err != nil || r.err != nil {
		return r, err
	}
	believed = dd.elsewhere(d, believed, r.found)
	var changed map[string]bool
	err = dd.admission.onWorker(ctx, func() { // between transactions, so that all changes are recorded
		changed = dd.untrack()
		if dd.southbound.closed()[d.Session()] {
			r.err = refresh.Disconnected(d)
		}
	})
	r.changed = len(changed) > 0
	r.believed = slices.DeleteFunc(believed, func(b drift.Belief) bool { return changed[b.Key] })
	r.found = slices.DeleteFunc(r.found, func(kv api.KVWithMetadata) bool { return changed[kv.Key] })
	return r, err
}

// lockedNodes is how many nodes are visited before the lock is released.
const lockedNodes = 1024

// believed copies the actual state of the values of a descriptor in the graph, and
// returns the values for its Retrieve to correlate. Transactions may run concurrently.
func (dd *driftDetector) believed(d *registry.Descriptor) (list []drift.Belief, correlate []api.KVWithMetadata) {
	for from, more := d.NBKeyPrefix, true; more; {
		from, more = dd.someNodes(d.NBKeyPrefix, from, func(n *graph.Node) {
			if n.Desc == d && n.Base == nil {
				list = append(list, drift.Believe(n))
				correlate = refresh.Expect(correlate, n)
			}
		})
	}
	return list, correlate
}

// someNodes calls f with nodes that have a prefix, starting at a key, at most lockedNodes
// of them. It returns the next key; more is false at the end.
func (dd *driftDetector) someNodes(prefix, from string, f func(*graph.Node)) (next string, more bool) {
	dd.state.mu.RLock()
	defer dd.state.mu.RUnlock()
	count := 0
	for n := range dd.state.graph.From(from) {
		if !strings.HasPrefix(n.Key, prefix) {
			break
		}
		if count++; count > lockedNodes {
			return n.Key, true
		}
		f(n)
	}
	return "", false
}

// elsewhere adds the actual state of values that were found under keys without the
// prefix of their descriptor.
func (dd *driftDetector) elsewhere(d *registry.Descriptor, believed []drift.Belief, found []api.KVWithMetadata) []drift.Belief {
	dd.state.mu.RLock()
	defer dd.state.mu.RUnlock()
	for i := range found {
		if strings.HasPrefix(found[i].Key, d.NBKeyPrefix) {
			continue
		}
		if n := dd.state.graph.Node(found[i].Key); n != nil && n.Desc == d && n.Base == nil {
			believed = append(believed, drift.Believe(n))
		}
	}
	return believed
}

// track starts collecting the base values that transactions change.
func (dd *driftDetector) track() {
	dd.mu.Lock()
	defer dd.mu.Unlock()
	dd.changed = map[string]bool{}
}

// untrack stops the collection and returns the keys of the values.
func (dd *driftDetector) untrack() map[string]bool {
	dd.mu.Lock()
	defer dd.mu.Unlock()
	changed := dd.changed
	dd.changed = nil
	return changed
}

// note adds the keys of base values that a transaction changed.
func (dd *driftDetector) note(keys []string) {
	dd.mu.Lock()
	defer dd.mu.Unlock()
	if dd.changed == nil {
		return
	}
	for _, key := range keys {
		dd.changed[key] = true
	}
}
