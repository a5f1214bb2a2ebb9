package ifplugin

import (
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/infra/observable"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/ifaceidx"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/vppcalls"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

// States is what is known of the operational state of the interfaces of the
// configuration. Its methods may be called concurrently. Counters are not part
// of it.
type States struct {
	now func() time.Time

	states observable.Values[*interfaces.InterfaceState]
}

func newStates(now func() time.Time) *States { return &States{now: now} }

// List returns the states of all interfaces, by name.
func (s *States) List() []*interfaces.InterfaceState { return s.states.List() }

// Watch calls f with the states of all interfaces, and then with each that
// changes, until cancel is called. f must not block nor call methods of States;
// the notification must not be changed.
func (s *States) Watch(f func(*interfaces.InterfaceNotification)) (cancel func()) {
	return s.states.Watch(func(state *interfaces.InterfaceState) {
		f(&interfaces.InterfaceNotification{Type: interfaces.InterfaceNotification_UPDOWN, State: state})
	})
}

// set takes in what VPP reports about an interface.
func (s *States) set(name string, m *ifaceidx.IfMeta, d *vppcalls.Details) {
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

// unknown takes in that VPP cannot be asked.
func (s *States) unknown() {
	for _, state := range s.List() {
		state = proto.CloneOf(state)
		state.AdminStatus, state.OperStatus = interfaces.InterfaceState_UNKNOWN_STATUS, interfaces.InterfaceState_UNKNOWN_STATUS
		s.put(state)
	}
}

// keep forgets all interfaces but those named.
func (s *States) keep(names map[string]bool) {
	for _, name := range s.states.Names() {
		if !names[name] {
			s.gone(name)
		}
	}
}

// put records a state; the time of the last change is the time of the last
// status change.
func (s *States) put(state *interfaces.InterfaceState) {
	s.states.Put(state.Name, func(before *interfaces.InterfaceState, known bool) (*interfaces.InterfaceState, bool) {
		if !known || before.AdminStatus != state.AdminStatus || before.OperStatus != state.OperStatus {
			state.LastChange = s.now().Unix()
		} else {
			state.LastChange = before.LastChange
		}
		return state, !known || !proto.Equal(before, state)
	})
}

// gone takes in that an interface no longer exists.
func (s *States) gone(name string) {
	s.states.Remove(name, func(before *interfaces.InterfaceState) (after *interfaces.InterfaceState, remove bool) {
		state := proto.CloneOf(before)
		state.AdminStatus, state.OperStatus = interfaces.InterfaceState_DELETED, interfaces.InterfaceState_DELETED
		state.LastChange = s.now().Unix()
		return state, true
	})
}

func upDown(up bool) interfaces.InterfaceState_Status {
	if up {
		return interfaces.InterfaceState_UP
	}
	return interfaces.InterfaceState_DOWN
}
