package ifplugin

import (
	"context"
	"errors"
	"net/netip"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/infra/observable"
	"github.com/tenuto-dev/tenuto/plugins/linux/ifplugin/descriptor"
	"github.com/tenuto-dev/tenuto/plugins/linux/ifplugin/ifaceidx"
	ifmodel "github.com/tenuto-dev/tenuto/plugins/linux/ifplugin/model"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
	nsmodel "github.com/tenuto-dev/tenuto/plugins/linux/nsplugin/model"
	alloc "github.com/tenuto-dev/tenuto/plugins/netalloc"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/linux/interfaces"
	namespace "github.com/tenuto-dev/tenuto/proto/ligato/linux/namespace"
)

// States keeps the operational states of the interfaces of the configuration. An
// interface has the type of the link in the kernel. Its methods may be called
// concurrently.
type States struct {
	allocated alloc.Addresses // that interfaces may refer to
	index     ifaceidx.Index
	now       func() time.Time
	states    observable.Values[*interfaces.InterfaceState]
	report    func(keys ...string) // receives the keys of what may be lost; nil: ignored

	mu    sync.Mutex
	addrs map[string]map[linkAddress]bool // that were seen last, by nsmodel.Text of the namespace
}

// linkAddress is an address of a link.
type linkAddress struct {
	link   int
	prefix netip.Prefix
}

func newStates(index ifaceidx.Index, now func() time.Time, report func(keys ...string)) *States {
	return &States{index: index, now: now, report: report, addrs: map[string]map[linkAddress]bool{}}
}

// List returns the states of all interfaces, by name.
func (s *States) List() []*interfaces.InterfaceState { return s.states.List() }

// Watch calls f with the states of all interfaces, and then with each that
// changes, until cancel is called. The counters in a state date from its last change; a change of
// counters alone is not reported. f must not block nor call methods of States; the notification
// must not be changed.
func (s *States) Watch(f func(*interfaces.InterfaceNotification)) (cancel func()) {
	return s.states.Watch(func(state *interfaces.InterfaceState) {
		f(&interfaces.InterfaceNotification{Type: interfaces.InterfaceNotification_UPDOWN, State: state})
	})
}

// look takes in all links and addresses of a namespace, and returns whether there are
// interfaces of the configuration in it. It reports interfaces that no longer exist under their
// name, and addresses. h is a handle on the namespace; without links it is not used.
func (s *States) look(ctx context.Context, ns *namespace.NetNamespace, h netlinkapi.Sysctls, links []netlinkapi.Link, addrs []netlinkapi.Address) (used bool) {
	vanished := s.vanished(ns, addrs)
	var lost []string
	defer func() {
		if s.report != nil && len(lost) > 0 {
			s.report(lost...)
		}
	}()
	at := make(map[int]netlinkapi.Link, len(links))
	for _, l := range links {
		at[l.Index] = l
	}
	for name, meta := range s.index.All() {
		if !nsmodel.Equal(meta.Namespace, ns) {
			continue
		}
		used = true
		if link, ok := at[meta.LinuxIfIndex]; ok && link.Name == meta.HostIfName {
			if speed, there := speedOf(ctx, h, link.Name); there {
				s.put(meta, stateOf(name, meta, link, speed))
			}
			if meta.MasterIf != "" && link.Master == 0 {
				lost = append(lost, ifmodel.PortKey.Key(name))
			}
		} else {
			s.remove(name, func() bool { return true })
			lost = append(lost, ifmodel.InterfaceModel.KeyFor(name))
		}
		for _, prefix := range vanished[meta.LinuxIfIndex] {
			lost = append(lost, addressKeys(name, prefix, s.allocated)...)
		}
	}
	s.removeOthers()
	return used
}

// vanished remembers the addresses of a namespace, and returns the addresses that it no longer
// has, by link.
func (s *States) vanished(ns *namespace.NetNamespace, addrs []netlinkapi.Address) map[int][]netip.Prefix {
	now := make(map[linkAddress]bool, len(addrs))
	for _, a := range addrs {
		now[linkAddress{a.Link, a.Prefix}] = true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	vanished := map[int][]netip.Prefix{}
	for a := range s.addrs[nsmodel.Text(ns)] {
		if !now[a] {
			vanished[a.link] = append(vanished[a.link], a.prefix)
		}
	}
	if s.addrs[nsmodel.Text(ns)] = now; len(now) == 0 {
		delete(s.addrs, nsmodel.Text(ns))
	}
	return vanished
}

func stateOf(name string, meta ifaceidx.LinuxIfMetadata, link netlinkapi.Link, speed uint64) *interfaces.InterfaceState {
	return &interfaces.InterfaceState{
		Name: name, InternalName: link.Name, Type: typeOf(meta, link), IfIndex: int32(link.Index),
		AdminStatus: upDown(link.Up), OperStatus: upDown(link.Up && link.Running),
		PhysAddress: link.MAC.String(), Speed: speed, Mtu: uint32(link.MTU), Statistics: statistics(link.Counters),
	}
}

func statistics(c netlinkapi.Counters) *interfaces.InterfaceState_Statistics {
	return &interfaces.InterfaceState_Statistics{
		InPackets: c.RXPackets, InBytes: c.RXBytes, OutPackets: c.TXPackets, OutBytes: c.TXBytes,
		DropPackets: c.RXDropped + c.TXDropped, InErrorPackets: c.RXErrors, OutErrorPackets: c.TXErrors,
	}
}

// megabit is the number of bits per second in 1 Mb/s.
const megabit = 1_000_000

// speedOf returns the speed of a link in bits per second; 0 if it cannot be read. It is false if the
// link has ceased to exist since it was read, or has another name: an event follows.
func speedOf(ctx context.Context, h netlinkapi.Sysctls, link string) (speed uint64, there bool) {
	values, err := h.Sysctls(ctx, link, []string{netlinkapi.LinkSpeed})
	return uint64(values[netlinkapi.LinkSpeed]) * megabit, !errors.Is(err, netlinkapi.ErrNotFound)
}

func typeOf(meta ifaceidx.LinuxIfMetadata, link netlinkapi.Link) interfaces.Interface_Type {
	switch {
	case meta.VPPTapName != "":
		return interfaces.Interface_TAP_TO_VPP
	case link.Loopback:
		return interfaces.Interface_LOOPBACK
	case link.Kind == netlinkapi.KindVeth:
		return interfaces.Interface_VETH
	}
	if typ, ok := descriptor.TypeOf(link); ok {
		return typ
	}
	return interfaces.Interface_EXISTING
}

// put records a state, unless the interface is no longer where it was found; the time of the last
// change is the time of the last status change.
func (s *States) put(found ifaceidx.LinuxIfMetadata, state *interfaces.InterfaceState) {
	s.states.Put(state.Name, func(before *interfaces.InterfaceState, known bool) (*interfaces.InterfaceState, bool) {
		now, ok := s.index.Get(state.Name)
		if !ok || now.LinuxIfIndex != found.LinuxIfIndex || now.HostIfName != found.HostIfName || !nsmodel.Equal(now.Namespace, found.Namespace) {
			return before, false
		}
		if !known || before.AdminStatus != state.AdminStatus || before.OperStatus != state.OperStatus {
			state.LastChange = s.now().Unix()
		} else {
			state.LastChange = before.LastChange
		}
		return state, !known || !sameButCounters(before, state)
	})
}

// sameButCounters compares two states but for their counters, which change all the time.
func sameButCounters(a, b *interfaces.InterfaceState) bool {
	counters := b.Statistics
	b.Statistics = a.GetStatistics()
	same := proto.Equal(a, b)
	b.Statistics = counters
	return same
}

// removeOthers removes the states of interfaces that are no longer configured. The index is asked
// for each of them again, because a look at another namespace may have added a state since the
// caller read the index.
func (s *States) removeOthers() {
	for _, name := range s.states.Names() {
		s.remove(name, func() bool { _, ok := s.index.Get(name); return !ok })
	}
}

// remove records that an interface no longer exists if gone, which is called with the states
// locked, confirms it.
func (s *States) remove(name string, gone func() bool) {
	s.states.Remove(name, func(before *interfaces.InterfaceState) (after *interfaces.InterfaceState, remove bool) {
		if !gone() {
			return before, false
		}
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
