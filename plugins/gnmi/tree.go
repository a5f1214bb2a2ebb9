package gnmi

import (
	"context"
	"slices"
	"time"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/tenuto-dev/tenuto/infra/grpc"
	"github.com/tenuto-dev/tenuto/infra/logging"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/apierr"
	kvspb "github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
)

// The names of the trees.
const (
	configTree   = "config"
	stateTree    = "state"
	countersTree = "counters"

	operationalTree = "operational"
)

// tree is a tree of paths.
type tree struct {
	name string
	// fields returns the type of the nodes of a model; nil if the tree has none of it.
	fields func(m *model) protoreflect.MessageDescriptor
	// alike: the nodes of different models have fields in common, so that a path may name a
	// field of all of them.
	alike bool
	// nodes returns the nodes of a selection.
	nodes func(ctx context.Context, sel *selection) ([]node, error)
	// node returns the node of a key, which is the way to follow changes; nil: the tree
	// reports none.
	node func(ctx context.Context, m *model, key string) (n node, ok bool)
}

// node is an item in a tree.
type node struct {
	tree  *tree
	model *model
	key   string
	item  proto.Message // has the fields that make its keys in paths
	value proto.Message // what the tree has of it
}

// path returns the path of a field of the node; of the node itself for none.
func (n *node) path(fields []protoreflect.FieldDescriptor) *gpb.Path {
	p := &gpb.Path{Elem: []*gpb.PathElem{{Name: n.tree.name}, n.model.elem(n.key, n.item.ProtoReflect())}}
	for _, f := range fields {
		p.Elem = append(p.Elem, &gpb.PathElem{Name: f.JSONName()})
	}
	return p
}

func (s *service) newTrees() []*tree {
	config := &tree{name: configTree, fields: func(m *model) protoreflect.MessageDescriptor {
		return m.NewInstance().ProtoReflect().Descriptor()
	}}
	config.nodes = func(ctx context.Context, sel *selection) ([]node, error) { return s.configured(ctx, config, sel), nil }
	config.node = func(ctx context.Context, m *model, key string) (node, bool) {
		return s.configuredNode(ctx, config, m, key)
	}
	state := &tree{name: stateTree, alike: true, fields: func(*model) protoreflect.MessageDescriptor {
		return (&kvspb.ValueStatus{}).ProtoReflect().Descriptor()
	}}
	state.nodes = func(ctx context.Context, sel *selection) ([]node, error) { return s.states(ctx, state, sel) }
	state.node = func(_ context.Context, m *model, key string) (node, bool) {
		return s.stateNode(state, m, key, s.Orchestrator.Status(key).Status)
	}
	operational := &tree{name: operationalTree, alike: true, fields: s.ofInterfaces(func(k *interfaceKind) protoreflect.MessageDescriptor { return k.state })}
	operational.nodes = func(_ context.Context, sel *selection) ([]node, error) { return s.links(operational, sel), nil }
	operational.node = func(_ context.Context, m *model, key string) (node, bool) { return s.link(operational, m, key) }
	counters := &tree{name: countersTree, alike: true, fields: s.ofInterfaces(func(k *interfaceKind) protoreflect.MessageDescriptor { return k.counters })}
	counters.nodes = func(ctx context.Context, sel *selection) ([]node, error) {
		return s.counters(ctx, counters, sel, s.cfg.MinSampleInterval/2)
	}
	return []*tree{config, state, operational, counters}
}

// shown returns a value without its secrets, unless the client may see them.
func shown(ctx context.Context, m proto.Message) proto.Message {
	if !grpc.ShowSecrets(ctx) {
		m, _ = logging.HideSecrets(m)
	}
	return m
}

// modelOf returns the model of a key among the models of a selection.
func (s *service) modelOf(key string) *model {
	known, ok := s.Orchestrator.Models().ForKey(key)
	if !ok {
		return nil
	}
	name := known.Spec().ModelName()
	for _, m := range s.models {
		if m.name == name {
			return m
		}
	}
	return nil
}

// configured returns the items in effect.
func (s *service) configured(ctx context.Context, t *tree, sel *selection) (nodes []node) {
	if sel.key != "" {
		if n, ok := s.configuredNode(ctx, t, sel.models[0], sel.key); ok {
			nodes = append(nodes, n)
		}
		return nodes
	}
	for _, kv := range s.Orchestrator.ListData("") {
		if m := s.modelOf(kv.Key); m != nil && sel.has(m, kv.Key, kv.Val.ProtoReflect()) {
			nodes = append(nodes, node{t, m, kv.Key, kv.Val, shown(ctx, kv.Val)})
		}
	}
	return nodes
}

func (s *service) configuredNode(ctx context.Context, t *tree, m *model, key string) (node, bool) {
	it := s.Orchestrator.Item(key)
	if len(it.Sources) == 0 {
		return node{}, false
	}
	val := it.Sources[0].Val
	return node{t, m, key, val, shown(ctx, val)}, true
}

// states returns the states of values that a source configures.
func (s *service) states(ctx context.Context, t *tree, sel *selection) (nodes []node, err error) {
	if sel.key != "" {
		if n, ok := s.stateNode(t, sel.models[0], sel.key, s.Orchestrator.Status(sel.key).Status); ok {
			nodes = append(nodes, n)
		}
		return nodes, nil
	}
	watch := s.Scheduler.Watch(api.WatchRequest{})
	defer watch.Close()
	all, err := watch.Next(ctx) // a snapshot
	if err != nil {
		return nil, apierr.Of(ctx, err)
	}
	for _, st := range all.Values {
		key := st.GetValue().GetKey()
		m := s.modelOf(key)
		if m == nil {
			continue
		}
		if n, ok := s.stateNode(t, m, key, st); ok && sel.has(m, key, n.item.ProtoReflect()) {
			nodes = append(nodes, n)
		}
	}
	return nodes, nil
}

func (s *service) stateNode(t *tree, m *model, key string, st *api.BaseValueStatus) (node, bool) {
	it := s.Orchestrator.Item(key)
	if st == nil || len(it.Sources) == 0 {
		return node{}, false
	}
	return node{t, m, key, it.Sources[0].Val, orchestrator.PublicState(st)}, true
}

// counters returns the counters of the selected interfaces; VPP's counters are no older than maxAge.
// VPP interfaces that no source configures have the names of VPP. A selection that does not name the
// tree may lack counters.
func (s *service) counters(ctx context.Context, t *tree, sel *selection, maxAge time.Duration) (nodes []node, err error) {
	for _, m := range sel.models {
		k := s.kindOf(m)
		if k == nil || k.stats == nil {
			continue
		}
		list, err := k.stats(ctx, maxAge)
		switch {
		case err == nil:
			nodes = append(nodes, k.nodes(t, m, list)...)
		case sel.named:
			return nil, status.Error(codes.Unavailable, err.Error())
		}
	}
	return sel.filter(nodes), nil
}

// filter returns the nodes that are selected.
func (sel *selection) filter(nodes []node) []node {
	return slices.DeleteFunc(nodes, func(n node) bool { return !sel.has(n.model, n.key, n.item.ProtoReflect()) })
}

// nodes returns the nodes of a selection in all its trees. The error is the status of the first
// tree that cannot be read.
func (s *service) nodes(ctx context.Context, sel *selection) (list []node, err error) {
	for _, t := range sel.trees {
		nodes, terr := t.nodes(ctx, sel)
		list = append(list, nodes...)
		if err == nil {
			err = terr
		}
	}
	return list, err
}
