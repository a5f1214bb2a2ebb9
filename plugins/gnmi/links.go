package gnmi

import (
	"maps"
	"slices"
	"sync"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

// InterfaceStates provides the states of VPP interfaces, as ifplugin.States does.
type InterfaceStates interface {
	// List returns the states of all interfaces.
	List() []*interfaces.InterfaceState
	// Watch calls f, which does not block, with every state and with each that changes.
	Watch(f func(*interfaces.InterfaceNotification)) (cancel func())
}

// interfaceName is the message of the model with counters and operational states.
var interfaceName = (&interfaces.Interface{}).ProtoReflect().Descriptor().FullName()

// ofInterfaces returns the function fields of a tree that has a message per interface.
func ofInterfaces(value proto.Message) func(m *model) protoreflect.MessageDescriptor {
	return func(m *model) protoreflect.MessageDescriptor {
		if m != nil && m.ProtoName() != interfaceName {
			return nil
		}
		return value.ProtoReflect().Descriptor()
	}
}

// interfaceModel returns the model of interfaces; nil if the agent does not have it.
func (s *service) interfaceModel() *model {
	for _, m := range s.models {
		if m.ProtoName() == interfaceName {
			return m
		}
	}
	return nil
}

// interfaceNode returns the node of an interface.
func interfaceNode(t *tree, m *model, name string, value proto.Message) (n node, ok bool) {
	item := &interfaces.Interface{Name: name}
	key, err := m.KeyOf(item)
	return node{t, m, key, item, value}, err == nil
}

// links returns the operational states of interfaces.
func (s *service) links(t *tree) (nodes []node) {
	m := s.interfaceModel()
	if m == nil || s.Links == nil {
		return nil
	}
	for _, l := range s.Links.List() {
		if n, ok := interfaceNode(t, m, l.GetName(), l); ok {
			nodes = append(nodes, n)
		}
	}
	return nodes
}

// link returns the operational state of an interface.
func (s *service) link(t *tree, key string) (n node, ok bool) {
	for _, n := range s.links(t) {
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
	cancel  func()
}

// watchLinks begins to follow operational states, if there are subscriptions of them.
func (sub *subscriber) watchLinks() *linkKeys {
	w := &linkKeys{pending: map[string]bool{}, wake: make(chan struct{}, 1), cancel: func() {}}
	m := sub.interfaceModel()
	if m == nil || sub.Links == nil || !sub.follows(operationalTree) {
		return w
	}
	w.cancel = sub.Links.Watch(func(l *interfaces.InterfaceNotification) {
		n, ok := interfaceNode(nil, m, l.GetState().GetName(), nil)
		if !ok {
			return
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		w.pending[n.key] = true
		select {
		case w.wake <- struct{}{}:
		default:
		}
	})
	return w
}

func (w *linkKeys) take() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	keys := slices.Sorted(maps.Keys(w.pending))
	clear(w.pending)
	return keys
}
