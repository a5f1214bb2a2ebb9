package nlsim

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"

	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
)

// The kinds of links that are made from parameters: what they need, what they refuse and
// what they begin with.

// What the kernel answers when a link cannot be used for another one.
var (
	errBusyParent = errors.New("the parent is used by other links in a way that excludes it")
	errLoop       = errors.New("too many levels of links")
	errUpPort     = errors.New("the port of a bond must be down")
)

// MTUs that links begin with.
const (
	vrfMTU       = 65575
	wireGuardMTU = 1420
	greOverhead  = 24
	ipipOverhead = 20
	vxlanHeader  = 50
	ethernetMTU  = 1500
)

func (h *handle) AddLink(ctx context.Context, name string, p netlinkapi.LinkParams, parent int) error {
	return h.change(ctx, "AddLink", func() error {
		if err := h.ns.checkName(name); err != nil {
			return err
		}
		l := netlinkapi.Link{Name: name, Kind: p.Kind(), MTU: ethernetMTU, Params: p}
		beneath := h.ns.links[parent]
		if parent != 0 && beneath == nil {
			return netlinkapi.ErrNotFound
		}
		if err := h.prepare(&l, beneath); err != nil {
			return err
		}
		added := h.ns.add(l)
		if l.Kind == netlinkapi.KindBridge {
			added.vlans = firstVLANs()
		}
		added.origin = h.ns
		if beneath != nil {
			added.parent = beneath
			beneath.children = append(beneath.children, added)
		}
		return nil
	})
}

// RunWireGuard implements netlinkapi.LinkMaker.
func (h *handle) RunWireGuard(ctx context.Context, _, name string) error {
	return h.AddLink(ctx, name, netlinkapi.WireGuard{}, 0)
}

// prepare checks the parameters of a new link and fills in what follows from them.
func (h *handle) prepare(l *netlinkapi.Link, parent *link) error {
	switch p := l.Params.(type) {
	case netlinkapi.VRF:
		l.MTU = vrfMTU
	case netlinkapi.WireGuard:
		l.MTU, l.MAC = wireGuardMTU, net.HardwareAddr{}
	case netlinkapi.VLAN, netlinkapi.MACVLAN, netlinkapi.IPVLAN:
		return stack(l, parent)
	case netlinkapi.VXLAN:
		if p.Remote.IsMulticast() && parent == nil {
			return errInvalid
		}
		if parent != nil {
			l.MTU = parent.MTU - vxlanHeader
		}
		return h.unique(func(o netlinkapi.LinkParams) bool {
			other, ok := o.(netlinkapi.VXLAN)
			return ok && other.VNI == p.VNI && other.Port == p.Port
		})
	case netlinkapi.GRE:
		return h.tunnel(l, p.Local.AsSlice(), greOverhead)
	case netlinkapi.IPIP:
		return h.tunnel(l, p.Local.AsSlice(), ipipOverhead)
	case netlinkapi.SIT:
		return h.tunnel(l, p.Local.AsSlice(), ipipOverhead)
	}
	return nil
}

// stack prepares a link that passes on the frames of its parent.
func stack(l *netlinkapi.Link, parent *link) error {
	if parent == nil || parent.Loopback {
		return errInvalid
	}
	l.MTU = parent.MTU
	for _, c := range parent.children {
		switch {
		case l.Kind == netlinkapi.KindVLAN:
			if c.Params == l.Params {
				return netlinkapi.ErrExists
			}
		case c.Kind == netlinkapi.KindVLAN || c.Kind == netlinkapi.KindVXLAN:
		case c.Kind != l.Kind && isStacked(c.Kind), passthru(c.Params), c.Kind == l.Kind && passthru(l.Params):
			return errBusyParent
		}
	}
	if l.Kind != netlinkapi.KindMACVLAN || passthru(l.Params) {
		l.MAC = slices.Clone(parent.MAC)
	}
	return nil
}

// overhead is how many bytes the link needs of a packet of its parent.
func (l *link) overhead() int {
	if l.Kind == netlinkapi.KindVXLAN {
		return vxlanHeader
	}
	return 0
}

// setMTU changes the MTU of the link and of ports of a bond, and makes larger ones of links on it smaller.
func (l *link) setMTU(mtu int) {
	l.MTU = mtu
	for _, port := range l.bondPorts() {
		port.setMTU(mtu)
		l.ns.notify(netlinkapi.Event{Link: port.Index})
	}
	for _, c := range l.children {
		if c.Kind == netlinkapi.KindIPVLAN || (c.Kind == netlinkapi.KindMACVLAN || c.Kind == netlinkapi.KindVLAN) && c.MTU > mtu {
			c.setMTU(mtu)
			c.ns.notify(netlinkapi.Event{Link: c.Index})
		}
	}
	l.ns.links[l.Master].adjustMTU()
}

// adjustMTU gives a bridge the smallest MTU of its ports, unless its MTU was set.
func (l *link) adjustMTU() {
	if l == nil || l.Kind != netlinkapi.KindBridge || l.mtuSet {
		return
	}
	mtu := 0
	for _, port := range l.ns.links {
		if port.Master == l.Index && (mtu == 0 || port.MTU < mtu) {
			mtu = port.MTU
		}
	}
	if mtu = cmp.Or(mtu, ethernetMTU); mtu != l.MTU {
		l.setMTU(mtu)
		l.ns.notify(netlinkapi.Event{Link: l.Index})
	}
}

// bondPorts returns the ports of a bond.
func (l *link) bondPorts() (ports []*link) {
	if l.Kind != netlinkapi.KindBond {
		return nil
	}
	for _, other := range l.ns.sorted() {
		if other.Master == l.Index {
			ports = append(ports, other)
		}
	}
	return ports
}

// setMAC changes the MAC address of the link, of ports of a bond, and of links on it that have no other.
func (l *link) setMAC(mac net.HardwareAddr) {
	l.MAC = slices.Clone(mac)
	for _, port := range l.bondPorts() {
		port.setMAC(mac)
		l.ns.notify(netlinkapi.Event{Link: port.Index})
	}
	l.flushNeighbours(func(netlinkapi.Neighbour) bool { return true })
	for _, c := range l.children {
		if c.Kind == netlinkapi.KindIPVLAN || c.Kind == netlinkapi.KindVLAN && !c.ownMAC {
			c.setMAC(mac)
			c.ns.notify(netlinkapi.Event{Link: c.Index})
		}
	}
}

func isStacked(kind string) bool {
	return kind == netlinkapi.KindMACVLAN || kind == netlinkapi.KindIPVLAN
}

func passthru(p netlinkapi.LinkParams) bool {
	m, ok := p.(netlinkapi.MACVLAN)
	return ok && m.Mode == netlinkapi.MACVLANPassthru
}

// tunnel prepares a tunnel, whose hardware address is its local address.
func (h *handle) tunnel(l *netlinkapi.Link, local net.HardwareAddr, overhead int) error {
	l.MTU, l.MAC = ethernetMTU-overhead, local
	return h.unique(func(o netlinkapi.LinkParams) bool { return o == l.Params })
}

// unique refuses a second link that would receive the packets of an existing one; the packets are in the
// namespace that the link was made in.
func (h *handle) unique(same func(netlinkapi.LinkParams) bool) error {
	for _, ns := range h.k.spaces {
		for _, l := range ns.links {
			if l.origin == h.ns && same(l.Params) {
				return netlinkapi.ErrExists
			}
		}
	}
	return nil
}

func (h *handle) ChangeLink(ctx context.Context, index int, p netlinkapi.LinkParams) error {
	return h.set(ctx, "ChangeLink", index, func(l *link) error {
		if l.Params == nil || !netlinkapi.CanChange(l.Params, p) {
			return errInvalid
		}
		l.Params = p
		return nil
	})
}

func (h *handle) SetMaster(ctx context.Context, index, master int) error {
	return h.set(ctx, "SetMaster", index, func(l *link) error {
		var m *link
		if master != 0 {
			if m = h.ns.links[master]; m == nil {
				return netlinkapi.ErrNotFound
			}
			if err := l.checkMaster(m); err != nil {
				return err
			}
		}
		before := h.ns.links[l.Master]
		l.leaveMaster()
		l.Master = master
		before.adjustMTU()
		m.adjustMTU()
		if m != nil && m.Kind == netlinkapi.KindBridge {
			l.vlans = firstVLANs()
		}
		if m != nil && m.Kind == netlinkapi.KindBond { // which is in charge of its ports
			l.released = &netlinkapi.Link{MAC: l.MAC, MTU: l.MTU}
			l.setMAC(m.MAC)
			l.setMTU(m.MTU)
			l.Up = true
			l.refresh()
			l.linkUp()
		}
		return nil
	})
}

func (l *link) checkMaster(m *link) error {
	switch {
	case m.Kind == netlinkapi.KindVRF:
	case !netlinkapi.TakesPorts(m.Kind):
		return netlinkapi.ErrUnsupported
	case l.Loopback:
		return errInvalid
	case l.Kind == netlinkapi.KindBridge:
		return errLoop
	case m.isUnder(l):
		return errLoop
	case m.Kind == netlinkapi.KindBond && l.Up:
		return errUpPort
	}
	return nil
}

// isUnder reports whether a link is a port of the other one, or of a port of it, and so on.
func (l *link) isUnder(other *link) bool {
	for m := l.ns.links[l.Master]; m != nil; m = l.ns.links[m.Master] {
		if m == other {
			return true
		}
	}
	return false
}

// leaveMaster ends the membership in a bond, bridge or VRF.
func (l *link) leaveMaster() {
	if l.Master != 0 && l.Kind != netlinkapi.KindBridge {
		l.vlans = nil
	}
	l.Master = 0
	if l.released == nil {
		return
	}
	l.setMAC(l.released.MAC)
	l.setMTU(l.released.MTU)
	l.Up, l.released = false, nil
	l.refresh()
	l.linkDown()
}

// bound returns an error if the link cannot leave its namespace.
func (l *link) bound() error {
	if l.Loopback || l.Kind == netlinkapi.KindVRF || netlinkapi.TakesPorts(l.Kind) {
		return fmt.Errorf("link %s is bound to its namespace: invalid argument", l.Name)
	}
	return nil
}

// inherit makes a link that was moved what it was before.
func (l *link) inherit(before *link) {
	l.tap, l.origin, l.ownMAC = before.tap, before.origin, before.ownMAC
	if p := before.peer; p != nil {
		l.peer, p.peer = p, l
	}
	if p := before.parent; p != nil {
		l.parent = p
		p.children[slices.Index(p.children, before)] = l
	}
	l.children = before.children
	for _, c := range l.children {
		c.parent = l
	}
}

// removeRelatives removes what a deleted link takes along.
func (l *link) removeRelatives() {
	if p := l.peer; p != nil {
		p.peer, l.peer = nil, nil
		p.remove()
	}
	if p := l.parent; p != nil {
		p.children = slices.DeleteFunc(p.children, func(c *link) bool { return c == l })
	}
	for _, c := range slices.Clone(l.children) {
		if c.parent = nil; l.takesAlong(c) {
			c.remove()
		}
	}
}

// takesAlong: tunnels alone outlive the link that their packets leave through.
func (l *link) takesAlong(child *link) bool {
	switch child.Kind {
	case netlinkapi.KindGRE, netlinkapi.KindIPIP, netlinkapi.KindSIT:
		return false
	}
	return true
}
