package vnet

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim/internal/wire"
	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/ethernet_types"
	"go.fd.io/govpp/binapi/ip_types"
	"go.fd.io/govpp/binapi/vrrp"
)

// virtualRouter is a VRRP instance. There are no packets and no timers, so one that
// does not own its addresses stays the backup. It is not cleaned up behind the
// interface.
type virtualRouter struct {
	vrrpKey
	conf    vrrp.VrrpVrConf
	addrs   []netip.Addr
	peers   []netip.Addr
	state   vrrp.VrrpVrState
	runtime vrrp.VrrpVrRuntime // of its last time as backup, in hundredths of a second
}

// vrrpKey identifies a virtual router.
type vrrpKey struct {
	out    uint32
	id     uint8
	family family
}

// priorityOwner is the priority of the router that has the addresses itself.
const priorityOwner = 255

func (n *VNet) handleVirtualRouters() {
	wire.Handle(n.server, n.vrrpAddDel)
	wire.Handle(n.server, n.vrrpStartStop)
	wire.Handle(n.server, n.vrrpSetPeers)
	wire.HandleDump(n.server, n.vrrpDump)
	wire.HandleDump(n.server, n.vrrpPeerDump)
}

func (n *VNet) findRouter(key vrrpKey) (uint32, *virtualRouter) {
	for index, r := range n.l3.routers.all() {
		if r.vrrpKey == key {
			return index, r
		}
	}
	return none, nil
}

func (n *VNet) vrrpAddDel(_ *wire.Call, req *vrrp.VrrpVrAddDel) *vrrp.VrrpVrAddDelReply {
	key := vrrpKey{uint32(req.SwIfIndex), req.VrID, familyFlag(req.Flags&vrrp.VRRP_API_VR_IPV6 != 0)}
	index, r := n.findRouter(key)
	rv := ok
	switch {
	case n.byIndex(req.SwIfIndex) == nil:
		rv = api.INVALID_SW_IF_INDEX
	case req.Priority == 0, req.Interval == 0, req.VrID == 0:
		rv = api.INVALID_VALUE
	case req.IsAdd != 0:
		rv = n.addRouter(key, r, req)
	case r == nil:
		rv = api.NO_SUCH_ENTRY
	default:
		n.l3.routers.remove(index)
	}
	return &vrrp.VrrpVrAddDelReply{Retval: int32(rv)}
}

func (n *VNet) addRouter(key vrrpKey, existing *virtualRouter, req *vrrp.VrrpVrAddDel) api.VPPApiError {
	if existing != nil {
		return api.ENTRY_ALREADY_EXISTS
	}
	if len(req.Addrs) == 0 {
		return api.INVALID_SRC_ADDRESS
	}
	r := &virtualRouter{vrrpKey: key, addrs: vrrpAddrs(key.family, req.Addrs)}
	r.conf = vrrp.VrrpVrConf{
		SwIfIndex: req.SwIfIndex, VrID: req.VrID, Priority: req.Priority, Interval: req.Interval,
		Flags: req.Flags & (vrrp.VRRP_API_VR_PREEMPT | vrrp.VRRP_API_VR_ACCEPT | vrrp.VRRP_API_VR_UNICAST | vrrp.VRRP_API_VR_IPV6),
	}
	for _, addr := range r.addrs {
		if req.Priority == priorityOwner && !n.hasAddress(n.byIndex(req.SwIfIndex), addr) {
			return api.ADDRESS_NOT_FOUND_FOR_INTERFACE
		}
	}
	for _, other := range n.l3.routers.all() {
		if other.out == key.out && other.family == key.family &&
			slices.ContainsFunc(r.addrs, func(a netip.Addr) bool { return slices.Contains(other.addrs, a) }) {
			return api.ADDRESS_IN_USE
		}
	}
	n.l3.routers.add(r)
	return ok
}

// vrrpAddrs reads addresses in the family of the router, whatever they say of
// themselves.
func vrrpAddrs(f family, in []ip_types.Address) []netip.Addr {
	out := make([]netip.Addr, len(in))
	for at, a := range in {
		a.Af = ip_types.AddressFamily(f)
		out[at] = addrOf(a)
	}
	return out
}

// hasAddress counts borrowed addresses.
func (n *VNet) hasAddress(i *swInterface, addr netip.Addr) bool {
	return slices.ContainsFunc(n.borrowed(i, familyOf(addr)), func(a ifAddress) bool { return a.prefix.Addr() == addr })
}

// vrrpStartStop succeeds if there is nothing to do.
func (n *VNet) vrrpStartStop(_ *wire.Call, req *vrrp.VrrpVrStartStop) *vrrp.VrrpVrStartStopReply {
	_, r := n.findRouter(vrrpKey{uint32(req.SwIfIndex), req.VrID, familyFlag(req.IsIPv6 != 0)})
	rv := ok
	switch {
	case r == nil:
		rv = api.NO_SUCH_ENTRY
	case req.IsStart == 0:
		r.state = vrrp.VRRP_API_VR_STATE_INIT
	case r.state != vrrp.VRRP_API_VR_STATE_INIT:
	case r.conf.Flags&vrrp.VRRP_API_VR_UNICAST != 0 && len(r.peers) == 0:
		rv = api.INIT_FAILED
	case n.canSend(r.out, r.family):
		r.activate()
	default:
		r.state = vrrp.VRRP_API_VR_STATE_INTF_DOWN
	}
	return &vrrp.VrrpVrStartStopReply{Retval: int32(rv)}
}

// canSend says whether an interface is up and has an address to send from.
func (n *VNet) canSend(out uint32, f family) bool {
	i := n.ifs.at(out)
	return i != nil && i.adminUp && i.hw.linkUp && (len(n.borrowed(i, f)) > 0 || f == ip6 && i.linkLocal.IsValid())
}

// activate makes a router what it is while it hears no other router.
func (r *virtualRouter) activate() {
	if r.conf.Priority == priorityOwner {
		r.state = vrrp.VRRP_API_VR_STATE_MASTER
		return
	}
	r.state = vrrp.VRRP_API_VR_STATE_BACKUP
	r.runtime.MasterAdvInt = r.conf.Interval
	r.runtime.Skew = uint16((256 - uint32(r.conf.Priority)) * uint32(r.conf.Interval) / 256)
	r.runtime.MasterDownInt = 3*r.conf.Interval + r.runtime.Skew
}

// routersFollow changes the state of routers whose interface went up or down.
// Addresses that come and go are not noticed.
func (n *VNet) routersFollow() {
	for _, r := range n.l3.routers.all() {
		changed := n.events.pending[r.out]&(ifAdminUp|ifAdminDown|ifLinkUp|ifLinkDown|ifDeleted) != 0
		switch {
		case !changed || r.state == vrrp.VRRP_API_VR_STATE_INIT:
		case !n.canSend(r.out, r.family):
			r.state = vrrp.VRRP_API_VR_STATE_INTF_DOWN
		case r.state == vrrp.VRRP_API_VR_STATE_INTF_DOWN:
			r.activate()
		}
	}
}

func (n *VNet) vrrpSetPeers(_ *wire.Call, req *vrrp.VrrpVrSetPeers) *vrrp.VrrpVrSetPeersReply {
	_, r := n.findRouter(vrrpKey{uint32(req.SwIfIndex), req.VrID, familyFlag(req.IsIPv6 != 0)})
	rv := ok
	switch {
	case r == nil:
		rv = api.NO_SUCH_ENTRY
	case r.conf.Flags&vrrp.VRRP_API_VR_UNICAST == 0:
		rv = api.INVALID_ARGUMENT
	case r.state != vrrp.VRRP_API_VR_STATE_INIT:
		rv = api.RSRC_IN_USE
	case len(req.Addrs) == 0:
		rv = api.INVALID_DST_ADDRESS
	default:
		r.peers = vrrpAddrs(r.family, req.Addrs)
	}
	return &vrrp.VrrpVrSetPeersReply{Retval: int32(rv)}
}

// vrrpDump: an index of 0 means all, as ~0 does.
func (n *VNet) vrrpDump(c *wire.Call, req *vrrp.VrrpVrDump) {
	for _, r := range n.l3.routers.all() {
		if req.SwIfIndex != 0 && uint32(req.SwIfIndex) != none && uint32(req.SwIfIndex) != r.out {
			continue
		}
		c.Send(r.details())
	}
}

func (r *virtualRouter) details() *vrrp.VrrpVrDetails {
	return &vrrp.VrrpVrDetails{
		Config: r.conf, Runtime: r.describe(), NAddrs: uint8(len(r.addrs)), Addrs: apiAddrs(r.addrs),
	}
}

func apiAddrs(addrs []netip.Addr) []ip_types.Address {
	var out []ip_types.Address
	for _, a := range addrs {
		out = append(out, apiAddr(a))
	}
	return out
}

// vrrpPeerDump: asked for all, VPP sends the routers that have peers instead of
// their peers.
func (n *VNet) vrrpPeerDump(c *wire.Call, req *vrrp.VrrpVrPeerDump) {
	if req.SwIfIndex == 0 || uint32(req.SwIfIndex) == none {
		for _, r := range n.l3.routers.all() {
			if len(r.peers) > 0 {
				c.Send(r.details())
			}
		}
		return
	}
	_, r := n.findRouter(vrrpKey{uint32(req.SwIfIndex), req.VrID, familyFlag(req.IsIPv6 != 0)})
	if r == nil {
		return
	}
	c.Send(&vrrp.VrrpVrPeerDetails{
		SwIfIndex: req.SwIfIndex, VrID: r.id, IsIPv6: req.IsIPv6, NPeerAddrs: uint8(len(r.peers)), PeerAddrs: apiAddrs(r.peers),
	})
}

func (r *virtualRouter) describe() vrrp.VrrpVrRuntime {
	runtime := r.runtime
	runtime.State, runtime.Tracking.Priority = r.state, r.conf.Priority
	runtime.Mac = ethernet_types.MacAddress{0, 0, 0x5e, 0, 1, r.id}
	if r.family == ip6 {
		runtime.Mac[4] = 2
	}
	return runtime
}

func (n *VNet) dumpVirtualRouters(b *strings.Builder) {
	var lines []string
	for _, r := range n.l3.routers.all() {
		lines = append(lines, fmt.Sprintf("%s vrrp %d on %s priority %d interval %d flags %d %s %v\n", r.family, r.id,
			n.orStaleIf(r.out), r.conf.Priority, r.conf.Interval, r.conf.Flags, strings.TrimPrefix(r.state.String(), "VRRP_API_VR_STATE_"), r.addrs))
	}
	slices.Sort(lines)
	b.WriteString(strings.Join(lines, ""))
}
