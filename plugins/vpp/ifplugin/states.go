package ifplugin

import (
	"maps"
	"slices"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/ifaceidx"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/vppcalls"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

// States is what is known of the operational state of the interfaces of the
// configuration. Its methods may be called concurrently. Counters are not part
// of it.
type States struct {
	now func() time.Time

	mu       sync.Mutex
	known    map[string]*interfaces.InterfaceState // never changed, only replaced
	watchers map[int]func(*interfaces.InterfaceNotification)
	nextID   int
}

func newStates(now func() time.Time) *States {
	return &States{
		now: now, known: map[string]*interfaces.InterfaceState{},
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

// set takes in what VPP tells of an interface.
func (s *States) set(name string, m *ifaceidx.IfMeta, d *vppcalls.Details) {
	s.mu.Lock()
	defer s.mu.Unlock()
	state := &interfaces.InterfaceState{
		Name: name, InternalName: d.Name, Type: m.Type, IfIndex: d.SwIfIndex,
		AdminStatus: upDown(d.AdminUp), OperStatus: upDown(d.LinkUp),
		Speed: uint64(d.Speed), Mtu: d.MTU, Duplex: interfaces.InterfaceState_Duplex(d.Duplex),
	}
	if d.MAC != (vppcalls.MAC{}) {
		state.PhysAddress = d.MAC.String()
	}
	s.put(state)
}

// gone takes in that an interface does not exist any more.
func (s *States) gone(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.known[name]
	if before == nil {
		return
	}
	state := proto.CloneOf(before)
	state.AdminStatus, state.OperStatus = interfaces.InterfaceState_DELETED, interfaces.InterfaceState_DELETED
	s.put(state)
	delete(s.known, name)
}

// unknown takes in that VPP cannot be asked.
func (s *States) unknown() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(s.known)) {
		state := proto.CloneOf(s.known[name])
		state.AdminStatus, state.OperStatus = interfaces.InterfaceState_UNKNOWN_STATUS, interfaces.InterfaceState_UNKNOWN_STATUS
		s.put(state)
	}
}

// keep forgets all interfaces but those named.
func (s *States) keep(names map[string]bool) {
	for _, state := range s.List() {
		if !names[state.Name] {
			s.gone(state.Name)
		}
	}
}

// put makes a state the known one and tells it, if it is another one; the time
// of the last change is that of a status.
func (s *States) put(state *interfaces.InterfaceState) {
	before := s.known[state.Name]
	if before.GetAdminStatus() != state.AdminStatus || before.GetOperStatus() != state.OperStatus || before == nil {
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
