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

// virtualRouters are the VRRP instances.
type virtualRouters struct {
	*VNet
	pool[virtualRouter]
}

func newVirtualRouters(n *VNet) feature { return &virtualRouters{VNet: n} }

func (rs *virtualRouters) register(server *wire.Server) {
	handle[vrrp.VrrpVrAddDelReply](server, rs.vrrpAddDel)
	handle[vrrp.VrrpVrStartStopReply](server, rs.vrrpStartStop)
	handle[vrrp.VrrpVrSetPeersReply](server, rs.vrrpSetPeers)
	wire.HandleDump(server, rs.vrrpDump)
	wire.HandleDump(server, rs.vrrpPeerDump)
}

func (rs *virtualRouters) reset() { rs.pool = pool[virtualRouter]{} }

func (rs *virtualRouters) find(key vrrpKey) (uint32, *virtualRouter) {
	return rs.pool.find(func(r *virtualRouter) bool { return r.vrrpKey == key })
}

func (rs *virtualRouters) vrrpAddDel(req *vrrp.VrrpVrAddDel) retval {
	key := vrrpKey{uint32(req.SwIfIndex), req.VrID, familyFlag(req.Flags&vrrp.VRRP_API_VR_IPV6 != 0)}
	index, r := rs.find(key)
	switch {
	case rs.byIndex(req.SwIfIndex) == nil:
		return api.INVALID_SW_IF_INDEX
	case req.Priority == 0, req.Interval == 0, req.VrID == 0:
		return api.INVALID_VALUE
	case req.IsAdd != 0:
		return rs.addRouter(key, r, req)
	case r == nil:
		return api.NO_SUCH_ENTRY
	default:
		rs.remove(index)
	}
	return ok
}

func (rs *virtualRouters) addRouter(key vrrpKey, existing *virtualRouter, req *vrrp.VrrpVrAddDel) retval {
	if existing != nil {
		return api.ENTRY_ALREADY_EXISTS
	}
	if rv, crashes := rs.noMAC(rs.byIndex(req.SwIfIndex), "virtual router"); crashes {
		return rv
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
		if req.Priority == priorityOwner && !rs.hasAddress(rs.byIndex(req.SwIfIndex), addr) {
			return api.ADDRESS_NOT_FOUND_FOR_INTERFACE
		}
	}
	for _, other := range rs.all() {
		if other.out == key.out && other.family == key.family &&
			slices.ContainsFunc(r.addrs, func(a netip.Addr) bool { return slices.Contains(other.addrs, a) }) {
			return api.ADDRESS_IN_USE
		}
	}
	rs.add(r)
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
func (rs *virtualRouters) hasAddress(i *swInterface, addr netip.Addr) bool {
	return slices.ContainsFunc(rs.borrowed(i, familyOf(addr)), func(a ifAddress) bool { return a.prefix.Addr() == addr })
}

// vrrpStartStop succeeds if there is nothing to do.
func (rs *virtualRouters) vrrpStartStop(req *vrrp.VrrpVrStartStop) retval {
	_, r := rs.find(vrrpKey{uint32(req.SwIfIndex), req.VrID, familyFlag(req.IsIPv6 != 0)})
	switch {
	case r == nil:
		return api.NO_SUCH_ENTRY
	case req.IsStart == 0:
		r.state = vrrp.VRRP_API_VR_STATE_INIT
	case r.state != vrrp.VRRP_API_VR_STATE_INIT:
	case r.conf.Flags&vrrp.VRRP_API_VR_UNICAST != 0 && len(r.peers) == 0:
		return api.INIT_FAILED
	case rs.canSend(r.out, r.family):
		r.activate()
	default:
		r.state = vrrp.VRRP_API_VR_STATE_INTF_DOWN
	}
	return ok
}

// canSend says whether an interface is up and has an address to send from.
func (rs *virtualRouters) canSend(out uint32, f family) bool {
	i := rs.ifs.at(out)
	if i == nil || !i.adminUp || !i.hw.linkUp {
		return false
	}
	return len(rs.borrowed(i, f)) > 0 || f == ip6 && i.linkLocal.IsValid()
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

// afterRequest changes the state of routers whose interface went up or down.
// Addresses that come and go are not noticed.
func (rs *virtualRouters) afterRequest() {
	for _, r := range rs.all() {
		changed := rs.events.pending[r.out]&(ifAdminUp|ifAdminDown|ifLinkUp|ifLinkDown|ifDeleted) != 0
		switch {
		case !changed || r.state == vrrp.VRRP_API_VR_STATE_INIT:
		case !rs.canSend(r.out, r.family):
			r.state = vrrp.VRRP_API_VR_STATE_INTF_DOWN
		case r.state == vrrp.VRRP_API_VR_STATE_INTF_DOWN:
			r.activate()
		}
	}
}

func (rs *virtualRouters) vrrpSetPeers(req *vrrp.VrrpVrSetPeers) retval {
	_, r := rs.find(vrrpKey{uint32(req.SwIfIndex), req.VrID, familyFlag(req.IsIPv6 != 0)})
	switch {
	case r == nil:
		return api.NO_SUCH_ENTRY
	case r.conf.Flags&vrrp.VRRP_API_VR_UNICAST == 0:
		return api.INVALID_ARGUMENT
	case r.state != vrrp.VRRP_API_VR_STATE_INIT:
		return api.RSRC_IN_USE
	case len(req.Addrs) == 0:
		return api.INVALID_DST_ADDRESS
	default:
		r.peers = vrrpAddrs(r.family, req.Addrs)
	}
	return ok
}

// vrrpDump: an index of 0 means all, as ~0 does.
func (rs *virtualRouters) vrrpDump(c *wire.Call, req *vrrp.VrrpVrDump) {
	for _, r := range rs.all() {
		if req.SwIfIndex != 0 && !selects(req.SwIfIndex, r.out) {
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
func (rs *virtualRouters) vrrpPeerDump(c *wire.Call, req *vrrp.VrrpVrPeerDump) {
	if req.SwIfIndex == 0 || uint32(req.SwIfIndex) == none {
		for _, r := range rs.all() {
			if len(r.peers) > 0 {
				c.Send(r.details())
			}
		}
		return
	}
	_, r := rs.find(vrrpKey{uint32(req.SwIfIndex), req.VrID, familyFlag(req.IsIPv6 != 0)})
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

func (rs *virtualRouters) dump(b *strings.Builder) {
	var lines []string
	for _, r := range rs.all() {
		lines = append(lines, fmt.Sprintf("%s vrrp %d on %s priority %d interval %d flags %d %s %v\n", r.family, r.id,
			rs.orStaleIf(r.out), r.conf.Priority, r.conf.Interval, r.conf.Flags, strings.TrimPrefix(r.state.String(), "VRRP_API_VR_STATE_"), r.addrs))
	}
	dumpSorted(b, lines)
}
