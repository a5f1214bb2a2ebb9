package refresh

import (
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/graph"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/registry"
)

// Keys reads single values again, after an operation on them failed with an
// unknown effect. A derived value is read through its base where its own
// descriptor cannot retrieve. What cannot be read is assumed to be unchanged
// by the failed operation.
func (r *Refresher) Keys(keys []string) {
	type group struct{ nodes []*graph.Node }
	groups := map[*registry.Descriptor]*group{}
	var order []*registry.Descriptor
	for _, key := range slices.Sorted(slices.Values(keys)) {
		n := r.Graph.Node(key)
		if n == nil {
			continue
		}
		d := n.Desc
		if n.IsDerived() && (d == nil || d.Retrieve == nil && d.RetrieveValue == nil) {
			d = n.Base.Desc
		}
		if d == nil || r.Closed[d.Session()] {
			continue
		}
		if d.RetrieveValue != nil && d == n.Desc {
			r.one(n)
			continue
		}
		if d.Retrieve == nil {
			continue
		}
		if groups[d] == nil {
			groups[d] = &group{}
			order = append(order, d)
		}
		groups[d].nodes = append(groups[d].nodes, n)
	}
	slices.SortFunc(order, func(a, b *registry.Descriptor) int { return strings.Compare(a.Name, b.Name) })
	for _, d := range order {
		r.some(d, groups[d].nodes)
	}
}

// one reads a value with RetrieveValue.
func (r *Refresher) one(n *graph.Node) {
	v := expected(n)
	if v == nil {
		return
	}
	msg, meta, exists, err := r.retrieveValue(n, v.Msg)
	if err != nil {
		r.Warn(n.Desc.Name, fmt.Sprintf("retrieve %s: %v; assumed to be unchanged", n.Key, err))
		return
	}
	r.Lock.Lock()
	defer r.Lock.Unlock()
	if exists {
		r.state(n, msg, meta)
	} else {
		r.gone(n)
	}
}

func (r *Refresher) retrieveValue(n *graph.Node, last proto.Message) (proto.Message, api.Metadata, bool, error) {
	var found struct {
		msg    proto.Message
		meta   api.Metadata
		exists bool
	}
	meta := n.Meta
	err := r.run(n.Desc, n.Key, func() (err error) {
		found.msg, found.meta, found.exists, err = n.Desc.RetrieveValue(n.Key, last, meta)
		return err
	})
	if err != nil {
		return nil, nil, false, err
	}
	return found.msg, found.meta, found.exists, nil
}

// some reads values of one descriptor with Retrieve.
func (r *Refresher) some(d *registry.Descriptor, nodes []*graph.Node) {
	roots := make([]*graph.Node, 0, len(nodes))
	for _, n := range nodes {
		if root := n.Root(); root.Desc == d {
			roots = append(roots, root)
		}
	}
	found, err := r.expect(d, slices.Compact(roots))
	if err != nil {
		r.Warn(d.Name, "retrieve: "+err.Error()+"; its values are assumed to be unchanged")
		return
	}
	byKey := make(map[string]api.KVWithMetadata, len(found))
	for _, kv := range found {
		byKey[kv.Key] = kv
	}
	r.Lock.Lock()
	defer r.Lock.Unlock()
	for _, n := range nodes {
		kv, ok := byKey[n.Root().Key]
		switch {
		case ok && kv.Value == nil: // it exists, that is all
		case n.IsDerived() && n.Desc != d:
			r.stateOfDerived(n, kv, ok)
		case ok:
			r.state(n, kv.Value, kv.Metadata)
		default:
			r.gone(n)
		}
	}
}

// state sets what exists of a value whose derived values are not in question.
func (r *Refresher) state(n *graph.Node, msg proto.Message, meta api.Metadata) {
	v, _ := r.value(n, api.KVWithMetadata{Key: n.Key, Value: msg}, n.Want != nil && (n.Want.FromSB || n.Want.Observed))
	if n.Desc != nil && !n.Desc.WithMetadata {
		meta = nil
	}
	if err := r.Graph.SetHave(n, v, meta); err != nil {
		r.complain(n.Desc, err.Error())
	}
}

// gone: the value does not exist; what was derived from it does not either.
func (r *Refresher) gone(n *graph.Node) {
	for child := range n.Derived {
		_ = r.Graph.SetHave(child, nil, nil)
	}
	_ = r.Graph.SetHave(n, nil, nil)
}

// stateOfDerived looks for a derived value in its base as it was found.
func (r *Refresher) stateOfDerived(n *graph.Node, base api.KVWithMetadata, exists bool) {
	if !exists {
		_ = r.Graph.SetHave(n, nil, nil)
		return
	}
	var have *registry.Value
	for _, dv := range r.Registry.Found(base.Key, n.Base.Desc, base.Value, false).Derived {
		if dv.Key == n.Key {
			have = dv.Value
		}
	}
	if have != nil && n.Want != nil && proto.Equal(have.Msg, n.Want.Msg) {
		have = n.Want
	}
	_ = r.Graph.SetHave(n, have, nil)
}
