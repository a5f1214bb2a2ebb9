package descriptor

import (
	"context"
	"fmt"
	"net/netip"
	"slices"

	"go.fd.io/govpp/binapi/interface_types"

	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	ifmodel "github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/model"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ipconv"
	"github.com/tenuto-dev/tenuto/plugins/vpp/item"
	"github.com/tenuto-dev/tenuto/plugins/vpp/l3plugin/model"
	"github.com/tenuto-dev/tenuto/plugins/vpp/l3plugin/vppcalls"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
	l3 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l3"
)

const (
	// vrrpUnit is the unit of intervals in VPP, in milliseconds.
	vrrpUnit = 10
	// priorityOwner is the priority of the router that has the addresses itself.
	priorityOwner = 255
)

// routerID distinguishes virtual routers.
type routerID struct {
	swIfIndex uint32
	id        uint8
	ipv6      bool
}

// NewVRRP describes virtual routers. A VRRP virtual router shares addresses with the virtual
// routers of the same number on other machines. Its addresses have one version of IP. It can be
// started and stopped; everything else is decided when it is created, the peers of a unicast
// router included, which VPP cannot change while it runs. With priority 255 it owns its addresses,
// which VPP wants to find on the interface. A router that is started while its interface has no
// address to send from stays down even when there is one later, so it waits for one. The interface
// has our tag, so routers on it are ours too; they must go before the interface does.
func NewVRRP(vpp *session.VPP, ifs item.Interfaces) *kvs.KVDescriptor {
	type router = vppcalls.VirtualRouter
	calls := vppcalls.New(vpp)
	return item.NewEntry(vpp, ifs, item.Entry[*l3.VRRPEntry, router, routerID]{
		Name: VRRPName, Model: model.VRRPModel, Resolve: resolveVRRP, Value: describeVRRP,
		ID:         func(r router) routerID { return routerID{r.SwIfIndex, r.ID, r.IPv6} },
		Equal:      func(a, b router) bool { return sameRouter(a, b) && a.Running == b.Running },
		Changeable: sameRouter,
		Set: func(ctx context.Context, old, r *router) error {
			switch {
			case r == nil:
				return calls.DeleteVirtualRouter(ctx, *old)
			case old == nil:
				return calls.AddVirtualRouter(ctx, *r)
			}
			return calls.StartVirtualRouter(ctx, *r, r.Running)
		},
		All: calls.DumpVirtualRouters,
	})
}

// resolveVRRP takes intervals in the unit of VPP.
func resolveVRRP(r *item.Resolver, e *l3.VRRPEntry) vppcalls.VirtualRouter {
	var out vppcalls.VirtualRouter
	out.SwIfIndex = uint32(r.Interface("interface", e.GetInterface(), ifmodel.MAC("a virtual router")))
	out.ID = uint8(e.GetVrId())
	out.Priority = uint8(e.GetPriority())
	out.Interval = uint16(e.GetInterval() / vrrpUnit)
	out.Preempt, out.Accept, out.Unicast, out.Running = e.GetPreempt(), e.GetAccept(), e.GetUnicast(), e.GetEnabled()
	if n := len(e.GetIpAddresses()); n == 0 || n > maxByte {
		r.Fail("ip_addresses", "%d addresses, expected 1 to %d", n, maxByte)
	}
	var first netip.Addr
	if out.Addrs = routerAddrs(r, "ip_addresses", e.GetIpAddresses(), first); len(out.Addrs) > 0 {
		first = out.Addrs[0]
	}
	out.IPv6 = first.Is6()
	out.Peers = resolvePeers(r, e, first)
	if r.Waits() && first.IsValid() {
		dependOnAddrs(r, e, out.Addrs)
	}
	return out
}

// resolvePeers returns the peers of a router with the given address.
func resolvePeers(r *item.Resolver, e *l3.VRRPEntry, addr netip.Addr) []netip.Addr {
	const field = "unicast_peers"
	switch n := len(e.GetUnicastPeers()); {
	case n > 0 && !e.GetUnicast():
		r.Fail(field, "%d addresses, expected none without unicast", n)
	case n == 0 && e.GetUnicast() && e.GetEnabled():
		r.Fail(field, "empty, expected the address of another router: VPP starts no unicast router without")
	case n > maxByte:
		r.Fail(field, "%d addresses, expected at most %d", n, maxByte)
	}
	return routerAddrs(r, field, e.GetUnicastPeers(), addr)
}

// routerAddrs returns addresses of the version of IP of first, or of each other if that is
// not valid.
func routerAddrs(r *item.Resolver, list string, texts []string, first netip.Addr) []netip.Addr {
	var out []netip.Addr
	for n, text := range texts {
		field := fmt.Sprintf("%s[%d]", list, n)
		addr, err := ipconv.ParseAddr(text)
		switch {
		case err != nil:
			r.Fail(field, "%w", err)
			continue
		case addr.IsUnspecified() || addr.IsMulticast():
			r.Fail(field, "%s, expected the address of a router", addr)
		case first.IsValid() && addr.Is4() != first.Is4():
			r.Fail(field, "%s, expected the version of IP of %s", addr, first)
		case slices.Contains(out, addr):
			r.Fail(field, "%s is listed twice", addr)
		}
		if out = append(out, addr); !first.IsValid() {
			first = addr
		}
	}
	return out
}

// dependOnAddrs makes a router that is started wait for an address, and an owner for its own.
func dependOnAddrs(r *item.Resolver, e *l3.VRRPEntry, addrs []netip.Addr) {
	if e.GetEnabled() {
		r.DependsOnAny("interface-has-address", addressDependency(e.GetInterface(), addrs[0].Is6(), nil))
	}
	if e.GetPriority() == priorityOwner {
		for _, addr := range addrs {
			r.DependsOnAny("interface-has-address-"+addr.String(), addressDependency(e.GetInterface(), addr.Is6(), &addr))
		}
	}
}

// addressDependency is met by an address of the version of IP, or by the given one
// alone; allocated and borrowed addresses may be it, for their keys do not say so.
func addressDependency(iface string, ipv6 bool, addr *netip.Addr) kvs.AnyOfDependency {
	borrowed, ip6 := ifmodel.UnnumberedKey.Key(iface), ifmodel.IP6NDKey.Key(iface)
	return kvs.AnyOfDependency{
		KeyPrefixes: []string{ifmodel.AddressKey.Prefix(iface), borrowed, ip6},
		KeySelector: func(key string) bool {
			_, text, _, ok := ifmodel.ParseAddressKey(key)
			if !ok {
				return key == borrowed || key == ip6 && ipv6 && addr == nil
			}
			p, err := ipconv.ParsePrefix(text)
			return err != nil || p.Addr().Is6() == ipv6 && (addr == nil || p.Addr() == *addr)
		},
	}
}

// sameRouter compares all but whether they run.
func sameRouter(a, b vppcalls.VirtualRouter) bool {
	return a.RouterParams == b.RouterParams && item.SameParts(a.Addrs, b.Addrs) && item.SameParts(a.Peers, b.Peers)
}

func describeVRRP(n *item.Names, r vppcalls.VirtualRouter) *l3.VRRPEntry {
	e := &l3.VRRPEntry{
		Interface: n.Interface(interface_types.InterfaceIndex(r.SwIfIndex)), VrId: uint32(r.ID), Priority: uint32(r.Priority), Interval: uint32(r.Interval) * vrrpUnit,
		Preempt: r.Preempt, Accept: r.Accept, Unicast: r.Unicast, Enabled: r.Running,
	}
	for _, a := range r.Addrs {
		e.IpAddresses = append(e.IpAddresses, a.String())
	}
	for _, a := range r.Peers {
		e.UnicastPeers = append(e.UnicastPeers, a.String())
	}
	return e
}
