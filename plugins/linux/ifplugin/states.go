package ifplugin

import (
	"maps"
	"slices"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/linux/ifplugin/ifaceidx"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
	nsmodel "github.com/tenuto-dev/tenuto/plugins/linux/nsplugin/model"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/linux/interfaces"
)

// States is what is known of the operational state of the interfaces of the
// configuration that are in the namespace of the agent. Others are not followed:
// whoever listens in a namespace keeps it alive after its owner has removed it.
// The type of an interface is that of the link in the kernel. Its methods may be
// called concurrently.
type States struct {
	index ifaceidx.Index
	now   func() time.Time

	mu       sync.Mutex
	known    map[string]*interfaces.InterfaceState // never changed, only replaced
	watchers map[int]func(*interfaces.InterfaceNotification)
	nextID   int
}

func newStates(index ifaceidx.Index, now func() time.Time) *States {
	return &States{
		index: index, now: now, known: map[string]*interfaces.InterfaceState{},
		watchers: map[int]func(*interfaces.InterfaceNotification){},
	}
}

// List returns the states of all interfaces, by name.
func (s *States) List() []*interfaces.InterfaceState {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]*interfaces.InterfaceState, 0, len(s.known))
	for _, name := range slices.Sorted(maps.Keys(s.known)) {
		out = append(out, s.known[name])
	}
	return out
}

// Watch calls f with the states of all interfaces, and then with each that
// changes, until cancel is called. f must not block nor call methods of States;
// the notification must not be changed.
func (s *States) Watch(f func(*interfaces.InterfaceNotification)) (cancel func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := s.nextID
	s.nextID++
	s.watchers[id] = f
	for _, name := range slices.Sorted(maps.Keys(s.known)) {
		f(notification(s.known[name]))
	}
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.watchers, id)
	}
}

func notification(s *interfaces.InterfaceState) *interfaces.InterfaceNotification {
	return &interfaces.InterfaceNotification{Type: interfaces.InterfaceNotification_UPDOWN, State: s}
}

// look takes in all links of the namespace of the agent.
func (s *States) look(links []netlinkapi.Link) {
	at := make(map[int]netlinkapi.Link, len(links))
	for _, l := range links {
		at[l.Index] = l
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	there := map[string]bool{}
	for name, meta := range s.index.All() {
		link, ok := at[meta.LinuxIfIndex]
		if ok && nsmodel.IsOwn(meta.Namespace) && link.Name == meta.HostIfName {
			there[name] = true
			s.put(stateOf(name, meta, link))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.known)) {
		if !there[name] {
			state := proto.CloneOf(s.known[name])
			state.AdminStatus, state.OperStatus = interfaces.InterfaceState_DELETED, interfaces.InterfaceState_DELETED
			s.put(state)
			delete(s.known, name)
		}
	}
}

func stateOf(name string, meta ifaceidx.LinuxIfMetadata, link netlinkapi.Link) *interfaces.InterfaceState {
	return &interfaces.InterfaceState{
		Name: name, InternalName: link.Name, Type: typeOf(meta, link), IfIndex: int32(link.Index),
		AdminStatus: upDown(link.Up), OperStatus: upDown(link.Up && link.Running),
		PhysAddress: link.MAC.String(), Mtu: uint32(link.MTU),
	}
}

func typeOf(meta ifaceidx.LinuxIfMetadata, link netlinkapi.Link) interfaces.Interface_Type {
	switch {
	case meta.VPPTapName != "":
		return interfaces.Interface_TAP_TO_VPP
	case link.Loopback:
		return interfaces.Interface_LOOPBACK
	case link.Kind == netlinkapi.KindVeth:
		return interfaces.Interface_VETH
	case link.Kind == netlinkapi.KindVRF:
		return interfaces.Interface_VRF_DEVICE
	case link.Kind == netlinkapi.KindDummy:
		return interfaces.Interface_DUMMY
	}
	return interfaces.Interface_EXISTING
}

// put makes a state the known one and tells it, if it is another one; the time
// of the last change is that of a status. The lock is held.
func (s *States) put(state *interfaces.InterfaceState) {
	before := s.known[state.Name]
	if before == nil || before.AdminStatus != state.AdminStatus || before.OperStatus != state.OperStatus {
		state.LastChange = s.now().Unix()
	} else {
		state.LastChange = before.LastChange
	}
	if before != nil && proto.Equal(before, state) {
		return
	}
	s.known[state.Name] = state
	for _, id := range slices.Sorted(maps.Keys(s.watchers)) {
		s.watchers[id](notification(state))
	}
}

func upDown(up bool) interfaces.InterfaceState_Status {
	if up {
		return interfaces.InterfaceState_UP
	}
	return interfaces.InterfaceState_DOWN
}
