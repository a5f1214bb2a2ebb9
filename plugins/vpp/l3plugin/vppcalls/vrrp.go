package vppcalls

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/interface_types"
	"go.fd.io/govpp/binapi/vrrp"

	"github.com/tenuto-dev/tenuto/plugins/vpp/ipconv"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
)

// RouterParams are what a VRRP router is created with, besides addresses; interface, number and
// version of IP distinguish it from others.
type RouterParams struct {
	SwIfIndex uint32
	ID        uint8
	IPv6      bool
	Priority  uint8
	// Interval between advertisements, in hundredths of a second.
	Interval                 uint16
	Preempt, Accept, Unicast bool
}

// VirtualRouter is a VRRP router.
type VirtualRouter struct {
	RouterParams
	Addrs []netip.Addr
	// Peers are the other routers that a unicast one talks to.
	Peers []netip.Addr
	// Running routers take part in the election.
	Running bool
}

var vrrps = session.Require("VRRP", "vrrp",
	(*vrrp.VrrpVrAddDel)(nil), (*vrrp.VrrpVrAddDelReply)(nil), (*vrrp.VrrpVrStartStop)(nil),
	(*vrrp.VrrpVrStartStopReply)(nil), (*vrrp.VrrpVrDump)(nil), (*vrrp.VrrpVrDetails)(nil))

var vrrpPeers = session.Require("VRRP: unicast", "vrrp",
	(*vrrp.VrrpVrSetPeers)(nil), (*vrrp.VrrpVrSetPeersReply)(nil),
	(*vrrp.VrrpVrPeerDump)(nil), (*vrrp.VrrpVrPeerDetails)(nil))

// AddVirtualRouter adds a router, with its peers, and starts it if it is Running. If that fails,
// it leaves none. One that exists gives way to it: VPP
// would refuse. (vrrp_vr_update could change it in place, but needs an index that
// only the reply to the creation has it, stops the router too, and walks the list
// of addresses while it removes from it.)
func (c *Calls) AddVirtualRouter(ctx context.Context, r VirtualRouter) error {
	err := c.virtualRouter(ctx, r, true)
	if errors.Is(err, api.ENTRY_ALREADY_EXISTS) {
		if err = c.DeleteVirtualRouter(ctx, r); err == nil {
			err = c.virtualRouter(ctx, r, true)
		}
	}
	if err != nil {
		return err
	}
	if len(r.Peers) > 0 {
		err = c.setVirtualRouterPeers(ctx, r)
	}
	if err == nil && r.Running {
		err = c.StartVirtualRouter(ctx, r, true)
	}
	if err != nil {
		err = errors.Join(err, c.DeleteVirtualRouter(ctx, r))
	}
	return err
}

// DeleteVirtualRouter stops and deletes a router. If it does not exist, that is a
// success. Deleted while it is running, a router would leave behind its MAC
// address and, if it accepts packets to them, its addresses (vrrp_vr_del_common
// in src/plugins/vrrp/vrrp.c makes no transition).
func (c *Calls) DeleteVirtualRouter(ctx context.Context, r VirtualRouter) error {
	err := c.StartVirtualRouter(ctx, r, false)
	if err == nil {
		err = c.virtualRouter(ctx, r, false)
	}
	if session.Gone(err, api.NO_SUCH_ENTRY) {
		return nil
	}
	return err
}

func (r VirtualRouter) flags() vrrp.VrrpVrFlags {
	return session.Flags(map[vrrp.VrrpVrFlags]bool{
		vrrp.VRRP_API_VR_PREEMPT: r.Preempt, vrrp.VRRP_API_VR_ACCEPT: r.Accept,
		vrrp.VRRP_API_VR_UNICAST: r.Unicast, vrrp.VRRP_API_VR_IPV6: r.IPv6,
	})
}

func (c *Calls) virtualRouter(ctx context.Context, r VirtualRouter, add bool) error {
	if err := vrrps.Check(c.vpp); err != nil {
		return err
	}
	req := &vrrp.VrrpVrAddDel{
		SwIfIndex: interface_types.InterfaceIndex(r.SwIfIndex), VrID: r.ID, Priority: r.Priority,
		Interval: r.Interval, Flags: r.flags(),
	}
	if add {
		req.IsAdd = 1
		for _, a := range r.Addrs {
			req.Addrs = append(req.Addrs, ipconv.Address(a))
		}
		req.NAddrs = uint8(len(req.Addrs))
	}
	return c.vpp.Call(ctx, req, &vrrp.VrrpVrAddDelReply{})
}

// StartVirtualRouter starts or stops a router. If there is nothing to do, that is
// a success.
func (c *Calls) StartVirtualRouter(ctx context.Context, r VirtualRouter, start bool) error {
	if err := vrrps.Check(c.vpp); err != nil {
		return err
	}
	req := &vrrp.VrrpVrStartStop{
		SwIfIndex: interface_types.InterfaceIndex(r.SwIfIndex), VrID: r.ID, IsIPv6: Flag(r.IPv6), IsStart: Flag(start),
	}
	what := "stop"
	if start {
		what = "start"
	}
	if err := c.vpp.Call(ctx, req, &vrrp.VrrpVrStartStopReply{}); err != nil {
		return fmt.Errorf("%s virtual router %d: %w", what, r.ID, err)
	}
	return nil
}

// setVirtualRouterPeers makes Peers, at least one, the peers
// of a unicast router that is stopped.
func (c *Calls) setVirtualRouterPeers(ctx context.Context, r VirtualRouter) error {
	if err := vrrpPeers.Check(c.vpp); err != nil {
		return err
	}
	req := &vrrp.VrrpVrSetPeers{
		SwIfIndex: interface_types.InterfaceIndex(r.SwIfIndex), VrID: r.ID, IsIPv6: Flag(r.IPv6), NAddrs: uint8(len(r.Peers)),
	}
	for _, a := range r.Peers {
		req.Addrs = append(req.Addrs, ipconv.Address(a))
	}
	if err := c.vpp.Call(ctx, req, &vrrp.VrrpVrSetPeersReply{}); err != nil {
		return fmt.Errorf("peers of virtual router %d: %w", r.ID, err)
	}
	return nil
}

// peersOf returns the peers of one router. The peers of all routers cannot be
// requested at once: VPP answers that with messages of another kind
// (vl_api_vrrp_vr_peer_dump_t_handler in src/plugins/vrrp/vrrp_api.c).
func (c *Calls) peersOf(ctx context.Context, r VirtualRouter) ([]netip.Addr, error) {
	if !r.Unicast || r.SwIfIndex == 0 { // 0 means all
		return nil, nil
	}
	found, err := session.DumpOf[*vrrp.VrrpVrPeerDetails](ctx, c.vpp, vrrpPeers, &vrrp.VrrpVrPeerDump{
		SwIfIndex: interface_types.InterfaceIndex(r.SwIfIndex), VrID: r.ID, IsIPv6: Flag(r.IPv6),
	})
	var out []netip.Addr
	for _, d := range found {
		for _, a := range d.PeerAddrs {
			out = append(out, ipconv.FromAddress(a))
		}
	}
	return out, err
}

// DumpVirtualRouters returns all routers.
func (c *Calls) DumpVirtualRouters(ctx context.Context) ([]VirtualRouter, error) {
	found, err := session.DumpOf[*vrrp.VrrpVrDetails](ctx, c.vpp, vrrps, &vrrp.VrrpVrDump{SwIfIndex: interface_types.InterfaceIndex(NoInterface)})
	if err != nil {
		return nil, err
	}
	out := make([]VirtualRouter, len(found))
	for i, d := range found {
		flags := d.Config.Flags
		out[i] = VirtualRouter{Running: d.Runtime.State != vrrp.VRRP_API_VR_STATE_INIT, RouterParams: RouterParams{
			SwIfIndex: uint32(d.Config.SwIfIndex), ID: d.Config.VrID, IPv6: flags&vrrp.VRRP_API_VR_IPV6 != 0,
			Priority: d.Config.Priority, Interval: d.Config.Interval,
			Preempt: flags&vrrp.VRRP_API_VR_PREEMPT != 0, Accept: flags&vrrp.VRRP_API_VR_ACCEPT != 0,
			Unicast: flags&vrrp.VRRP_API_VR_UNICAST != 0,
		}}
		for _, a := range d.Addrs {
			out[i].Addrs = append(out[i].Addrs, ipconv.FromAddress(a))
		}
		if out[i].Peers, err = c.peersOf(ctx, out[i]); err != nil {
			return nil, err
		}
	}
	return out, nil
}
