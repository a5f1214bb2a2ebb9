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
	started bool
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
	case req.IsStart != 0 && !r.started && r.conf.Flags&vrrp.VRRP_API_VR_UNICAST != 0 && len(r.peers) == 0:
		rv = api.INIT_FAILED
	default:
		r.started = req.IsStart != 0
	}
	return &vrrp.VrrpVrStartStopReply{Retval: int32(rv)}
}

func (n *VNet) vrrpSetPeers(_ *wire.Call, req *vrrp.VrrpVrSetPeers) *vrrp.VrrpVrSetPeersReply {
	_, r := n.findRouter(vrrpKey{uint32(req.SwIfIndex), req.VrID, familyFlag(req.IsIPv6 != 0)})
	rv := ok
	switch {
	case r == nil:
		rv = api.NO_SUCH_ENTRY
	case r.conf.Flags&vrrp.VRRP_API_VR_UNICAST == 0:
		rv = api.INVALID_ARGUMENT
	case r.started:
		rv = api.RSRC_IN_USE
	case len(req.Addrs) == 0:
		rv = api.INVALID_DST_ADDRESS
	default:
		r.peers = vrrpAddrs(r.family, req.Addrs)
	}
	return &vrrp.VrrpVrSetPeersReply{Retval: int32(rv)}
}

// state is what a started router does: nothing while its interface cannot send.
func (n *VNet) routerState(r *virtualRouter) vrrp.VrrpVrState {
	i := n.ifs.at(r.out)
	switch {
	case !r.started:
		return vrrp.VRRP_API_VR_STATE_INIT
	case i == nil || !i.adminUp || !i.hw.linkUp || len(n.borrowed(i, r.family)) == 0 && (r.family == ip4 || !i.linkLocal.IsValid()):
		return vrrp.VRRP_API_VR_STATE_INTF_DOWN
	case r.conf.Priority == priorityOwner:
		return vrrp.VRRP_API_VR_STATE_MASTER
	}
	return vrrp.VRRP_API_VR_STATE_BACKUP
}

// vrrpDump: an index of 0 means all, as ~0 does.
func (n *VNet) vrrpDump(c *wire.Call, req *vrrp.VrrpVrDump) {
	for _, r := range n.l3.routers.all() {
		if req.SwIfIndex != 0 && uint32(req.SwIfIndex) != none && uint32(req.SwIfIndex) != r.out {
			continue
		}
		details := &vrrp.VrrpVrDetails{Config: r.conf, Runtime: n.routerRuntime(r), NAddrs: uint8(len(r.addrs))}
		for _, a := range r.addrs {
			details.Addrs = append(details.Addrs, apiAddr(a))
		}
		c.Send(details)
	}
}

func (n *VNet) routerRuntime(r *virtualRouter) vrrp.VrrpVrRuntime {
	runtime := vrrp.VrrpVrRuntime{
		State: n.routerState(r), Mac: ethernet_types.MacAddress{0, 0, 0x5e, 0, 1, r.id},
		Tracking: vrrp.VrrpVrTracking{Priority: r.conf.Priority},
	}
	if r.family == ip6 {
		runtime.Mac[4] = 2
	}
	if runtime.State == vrrp.VRRP_API_VR_STATE_BACKUP { // in hundredths of a second
		runtime.MasterAdvInt = r.conf.Interval
		runtime.Skew = uint16((256 - uint32(r.conf.Priority)) * uint32(r.conf.Interval) / 256)
		runtime.MasterDownInt = 3*r.conf.Interval + runtime.Skew
	}
	return runtime
}

func (n *VNet) dumpVirtualRouters(b *strings.Builder) {
	var lines []string
	for _, r := range n.l3.routers.all() {
		lines = append(lines, fmt.Sprintf("%s vrrp %d on %s priority %d interval %d flags %d started %t %v\n", r.family, r.id,
			n.orStaleIf(r.out), r.conf.Priority, r.conf.Interval, r.conf.Flags, r.started, r.addrs))
	}
	slices.Sort(lines)
	b.WriteString(strings.Join(lines, ""))
}
