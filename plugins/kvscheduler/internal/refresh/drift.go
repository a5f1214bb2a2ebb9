package refresh

import (
	"fmt"
	"maps"
	"slices"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/graph"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/registry"
)

// Read reads all values of one descriptor without changing the graph, and
// returns them with the base values that are known of it, sorted by key. Known
// are the values with the NB key prefix, and what was found elsewhere.
func (r *Refresher) Read(d *registry.Descriptor) (known []*graph.Node, found []api.KVWithMetadata, err error) {
	if d.Retrieve == nil {
		return nil, nil, fmt.Errorf("descriptor %q has no Retrieve: the southbound state cannot be read", d.Name)
	}
	if r.Closed[d.Session()] {
		return nil, nil, Disconnected(d)
	}
	if r.skips(d) {
		return nil, nil, nil
	}
	known = r.known(d)
	if found, err = r.expect(d, known); err != nil {
		return nil, nil, err
	}
	found = r.without(d, found)
	listed := make(map[string]bool, len(known))
	for _, n := range known {
		listed[n.Key] = true
	}
	for _, kv := range found {
		if n := r.Graph.Node(kv.Key); n != nil && n.Desc == d && n.Base == nil && !listed[kv.Key] {
			listed[kv.Key] = true
			known = append(known, n)
		}
	}
	return known, found, nil
}

// Prepare returns a function that runs Retrieve. Any goroutine may call it, once, while
// transactions run. It is nil if the values are ignored. correlate is what Expect returned
// of the values of the descriptor.
func (r *Refresher) Prepare(d *registry.Descriptor, correlate []api.KVWithMetadata) (func() ([]api.KVWithMetadata, error), error) {
	if r.Closed[d.Session()] {
		return nil, Disconnected(d)
	}
	if r.skips(d) {
		return nil, nil
	}
	correlate = r.Unconfirmed.correlate(d, correlate)
	return func() ([]api.KVWithMetadata, error) {
		found, err := r.call(d, correlate)
		return r.without(d, found), err
	}, nil
}

func (r *Refresher) known(d *registry.Descriptor) (known []*graph.Node) {
	for n := range r.Graph.Ascend(d.NBKeyPrefix) {
		if n.Desc == d && n.Base == nil {
			known = append(known, n)
		}
	}
	return known
}

// Among reads one descriptor and takes over what it says about the base values
// with the given keys; others stay what they are believed to be.
func (r *Refresher) Among(d *registry.Descriptor, keys map[string]bool) {
	known, found, err := r.Read(d)
	if err != nil {
		r.Observer.Problem(d.Name, "retrieve: "+err.Error()+"; its values are assumed to be unchanged", false)
		return
	}
	known = slices.DeleteFunc(known, func(n *graph.Node) bool { return !keys[n.Key] })
	kept := slices.DeleteFunc(slices.Clone(found), func(kv api.KVWithMetadata) bool { return !keys[kv.Key] })
	r.apply(d, known, kept)
}

// Others reads one descriptor and takes over what it says about foreign base values that are not
// desired. It returns the keys of those that appeared or disappeared.
func (r *Refresher) Others(d *registry.Descriptor) (changed []string) {
	known, found, err := r.Read(d)
	if err != nil {
		r.Observer.Problem(d.Name, "retrieve: "+err.Error()+"; its values are assumed to be unchanged", false)
		return nil
	}
	gone := map[string]bool{}
	known = slices.DeleteFunc(known, func(n *graph.Node) bool { return n.Desired() != nil || n.Owner != graph.Foreign })
	for _, n := range known {
		gone[n.Key] = true
	}
	found = slices.DeleteFunc(slices.Clone(found), func(kv api.KVWithMetadata) bool {
		if gone[kv.Key] {
			delete(gone, kv.Key)
			return false
		}
		if r.Graph.Node(kv.Key) != nil || kv.Origin == api.FromSB {
			return true
		}
		changed = append(changed, kv.Key)
		return false
	})
	r.apply(d, known, found)
	return slices.AppendSeq(changed, maps.Keys(gone))
}

// Disconnected is the error of a descriptor whose southbound cannot be reached.
func Disconnected(d *registry.Descriptor) error {
	return fmt.Errorf("southbound %q is disconnected", d.Session())
}
