package refresh

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/graph"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/plan"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/registry"
)

// Reads knows which descriptors were read since their southbound came up, or
// since the start, and which could not be. A Retrieve that fails says nothing:
// where values were read before, they are assumed to be unchanged; where not,
// it is not known which of them exist. Changes are made by one goroutine; List
// and Of may be called by any.
type Reads struct {
	now func() time.Time

	mu     sync.Mutex
	read   map[*registry.Descriptor]bool
	failed map[*registry.Descriptor]*Failed
}

// Failed is a descriptor that could not be read, and nothing was known before.
type Failed struct {
	Desc *registry.Descriptor
	// Keys are the values that it returned without content; empty: nothing of it
	// could be read at all.
	Keys  []string
	Err   error
	Since time.Time
}

// NewReads returns Reads before anything was read.
func NewReads(now func() time.Time) *Reads {
	return &Reads{now: now, read: map[*registry.Descriptor]bool{}, failed: map[*registry.Descriptor]*Failed{}}
}

// List returns what could not be read, sorted by the names of descriptors.
func (r *Reads) List() []Failed {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := make([]Failed, 0, len(r.failed))
	for _, f := range r.failed {
		list = append(list, *f)
	}
	slices.SortFunc(list, func(a, b Failed) int { return cmp.Compare(a.Desc.Name, b.Desc.Name) })
	return list
}

// Of returns why it is not known whether a base value of the descriptor exists
// that is not known to; nil if that is known.
func (r *Reads) Of(key string, d *registry.Descriptor) *Failed {
	r.mu.Lock()
	defer r.mu.Unlock()
	if f := r.failed[d]; f != nil && (len(f.Keys) == 0 || slices.Contains(f.Keys, key)) {
		found := *f
		return &found
	}
	return nil
}

// Unread is what plans have to mind; nil if there is nothing.
func (r *Reads) Unread(reg *registry.Registry) *plan.Unread {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.failed) == 0 {
		return nil
	}
	u := &plan.Unread{Registry: reg, Descriptors: map[*registry.Descriptor]bool{}, Keys: map[string]bool{}}
	for d, f := range r.failed {
		if len(f.Keys) == 0 {
			u.Descriptors[d] = true
		}
		for _, key := range f.Keys {
			u.Keys[key] = true
		}
	}
	return u
}

// Forget forgets everything about a southbound, which went down.
func (r *Reads) Forget(southbound string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.DeleteFunc(r.read, func(d *registry.Descriptor, _ bool) bool { return d.Session() == southbound })
	maps.DeleteFunc(r.failed, func(d *registry.Descriptor, _ *Failed) bool { return d.Session() == southbound })
}

// blocked returns an error if a descriptor cannot be read because one of those that are
// read before it could not be: it would take for absent what it finds by them.
func (r *Reads) blocked(d *registry.Descriptor, reg *registry.Registry) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, name := range d.RetrieveDependencies {
		if f := r.failed[reg.ByName(name)]; f != nil && len(f.Keys) == 0 {
			return fmt.Errorf("it is read after descriptor %q, which could not be read", name)
		}
	}
	return nil
}

// unknown reports whether it was unknown until now that a value exists.
func (r *Reads) unknown(n *graph.Node) bool {
	return n.Have == nil && r.Of(n.Key, n.Desc) != nil
}

// fail notes that nothing of a descriptor could be read; false if something is
// known of it from before.
func (r *Reads) fail(d *registry.Descriptor, err error) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.read[d] {
		return false
	}
	r.note(d, nil, err)
	return true
}

// done notes that a descriptor was read, but for the content of some values.
func (r *Reads) done(d *registry.Descriptor, without []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.read[d] = true
	if len(without) == 0 {
		delete(r.failed, d)
		return
	}
	r.note(d, without, fmt.Errorf("it returned %q without a value", without[0]))
}

func (r *Reads) note(d *registry.Descriptor, keys []string, err error) {
	since := r.now()
	if before := r.failed[d]; before != nil {
		since = before.Since
	}
	r.failed[d] = &Failed{Desc: d, Keys: keys, Err: err, Since: since}
}

// withoutValue lists the keys that were found without a value and that nothing
// is known of. What is known of others stays.
func (r *Refresher) withoutValue(found []api.KVWithMetadata) (unknown []string) {
	for _, kv := range found {
		if kv.Value != nil || kv.Key == "" {
			continue
		}
		switch n := r.Graph.Node(kv.Key); {
		case n == nil || n.Have == nil && !n.IsDerived():
			unknown = append(unknown, kv.Key)
		default:
			r.Graph.Mark(n, graph.Seen)
		}
	}
	slices.Sort(unknown)
	return slices.Compact(unknown)
}
