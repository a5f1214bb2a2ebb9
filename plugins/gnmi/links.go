package gnmi

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	linuxif "github.com/tenuto-dev/tenuto/proto/ligato/linux/interfaces"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

// InterfaceStates provides the states of VPP interfaces, as ifplugin.States does.
type InterfaceStates interface {
	// List returns the states of all interfaces.
	List() []*interfaces.InterfaceState
	// Watch calls f, which does not block, with every state and with each that changes.
	Watch(f func(*interfaces.InterfaceNotification)) (cancel func())
}

// LinuxInterfaces provides the states and counters of Linux interfaces, as InterfaceStates
// and InterfaceStats do for VPP.
type LinuxInterfaces interface {
	List() []*linuxif.InterfaceState
	Watch(f func(*linuxif.InterfaceNotification)) (cancel func())
	// InterfaceStats reads the counters of all interfaces.
	InterfaceStats(ctx context.Context) ([]*linuxif.InterfaceStats, error)
}

// named is a message about an interface.
type named interface {
	proto.Message
	GetName() string
}

// interfaceKind is what the interfaces of VPP, or of Linux, have in the trees.
type interfaceKind struct {
	model    protoreflect.FullName // of the message of the model
	item     func(name string) proto.Message
	state    protoreflect.MessageDescriptor // in /operational
	counters protoreflect.MessageDescriptor // in /counters

	// What the agent lacks is nil.
	states func() []named
	watch  func(f func(name string)) (cancel func())
	stats  func(ctx context.Context, maxAge time.Duration) ([]named, error) // no older than maxAge
}

// interfaceKinds returns the kinds of interfaces.
func (p *Plugin) interfaceKinds() []*interfaceKind {
	return []*interfaceKind{p.vppKind(), p.linuxKind()}
}

func newKind(item func(name string) proto.Message, state, counters proto.Message) *interfaceKind {
	return &interfaceKind{
		model: item("").ProtoReflect().Descriptor().FullName(), item: item,
		state: state.ProtoReflect().Descriptor(), counters: counters.ProtoReflect().Descriptor(),
	}
}

func (p *Plugin) vppKind() *interfaceKind {
	k := newKind(func(name string) proto.Message { return &interfaces.Interface{Name: name} }, &interfaces.InterfaceState{}, &interfaces.InterfaceStats{})
	if p.Links != nil {
		k.states = func() []named { return allNamed(p.Links.List()) }
		k.watch = func(f func(string)) func() {
			return p.Links.Watch(func(n *interfaces.InterfaceNotification) { f(n.GetState().GetName()) })
		}
	}
	if p.Stats != nil {
		k.stats = func(_ context.Context, maxAge time.Duration) ([]named, error) {
			list, err := p.Stats.InterfaceStats(maxAge)
			return allNamed(list), err
		}
	}
	return k
}

func (p *Plugin) linuxKind() *interfaceKind {
	k := newKind(func(name string) proto.Message { return &linuxif.Interface{Name: name} }, &linuxif.InterfaceState{}, &linuxif.InterfaceStats{})
	if p.Linux == nil {
		return k
	}
	k.states = func() []named {
		list := p.Linux.List()
		for i, state := range list { // its counters date from its last change
			list[i] = proto.CloneOf(state)
			list[i].Statistics = nil
		}
		return allNamed(list)
	}
	k.watch = func(f func(string)) func() {
		return p.Linux.Watch(func(n *linuxif.InterfaceNotification) { f(n.GetState().GetName()) })
	}
	k.stats = func(ctx context.Context, _ time.Duration) ([]named, error) {
		list, err := p.Linux.InterfaceStats(ctx)
		return allNamed(list), err
	}
	return k
}

func allNamed[M named](list []M) []named {
	all := make([]named, len(list))
	for i, m := range list {
		all[i] = m
	}
	return all
}

// kindOf returns the kind of the interfaces of a model; nil if the model is another one.
func (s *service) kindOf(m *model) *interfaceKind {
	for _, k := range s.kinds {
		if k.model == m.ProtoName() {
			return k
		}
	}
	return nil
}

// ofInterfaces returns the function fields of a tree that has a message per interface.
func (s *service) ofInterfaces(value func(*interfaceKind) protoreflect.MessageDescriptor) func(m *model) protoreflect.MessageDescriptor {
	return func(m *model) protoreflect.MessageDescriptor {
		if k := s.kindOf(m); k != nil {
			return value(k)
		}
		return nil
	}
}

// nodes returns the nodes of interfaces.
func (k *interfaceKind) nodes(t *tree, m *model, all []named) (nodes []node) {
	for _, value := range all {
		item := k.item(value.GetName())
		if key, err := m.KeyOf(item); err == nil {
			nodes = append(nodes, node{t, m, key, item, value})
		}
	}
	return nodes
}

// links returns the operational states of the selected interfaces.
func (s *service) links(t *tree, sel *selection) (nodes []node) {
	for _, m := range sel.models {
		if k := s.kindOf(m); k != nil && k.states != nil {
			nodes = append(nodes, k.nodes(t, m, k.states())...)
		}
	}
	return sel.filter(nodes)
}

// link returns the operational state of an interface.
func (s *service) link(t *tree, m *model, key string) (n node, ok bool) {
	k := s.kindOf(m)
	if k == nil || k.states == nil {
		return node{}, false
	}
	for _, n := range k.nodes(t, m, k.states()) {
		if n.key == key {
			return n, true
		}
	}
	return node{}, false
}

// linkKeys are the keys of interfaces whose operational state changes, until they are taken.
type linkKeys struct {
	mu      sync.Mutex
	pending map[string]bool
	wake    chan struct{} // buffered
	cancels []func()
}

// watchLinks begins to follow operational states, if there are subscriptions of them.
func (sub *subscriber) watchLinks() *linkKeys {
	w := &linkKeys{pending: map[string]bool{}, wake: make(chan struct{}, 1)}
	if !sub.follows(operationalTree) {
		return w
	}
	for _, m := range sub.models {
		k := sub.kindOf(m)
		if k == nil || k.watch == nil {
			continue
		}
		w.cancels = append(w.cancels, k.watch(func(name string) {
			if key, err := m.KeyOf(k.item(name)); err == nil {
				w.add(key)
			}
		}))
	}
	return w
}

// cancel ends the watches.
func (w *linkKeys) cancel() {
	for _, cancel := range w.cancels {
		cancel()
	}
}

func (w *linkKeys) add(key string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pending[key] = true
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

func (w *linkKeys) take() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	keys := slices.Sorted(maps.Keys(w.pending))
	clear(w.pending)
	return keys
}
