package descriptor

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	ifmodel "github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/model"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ipconv"
	"github.com/tenuto-dev/tenuto/plugins/vpp/item"
	"github.com/tenuto-dev/tenuto/plugins/vpp/l3plugin/model"
	"github.com/tenuto-dev/tenuto/plugins/vpp/l3plugin/vppcalls"
	l3 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l3"
)

// A VRRP virtual router shares addresses with those of the same number on other
// machines. The version of IP is that of its addresses. It can be started and
// stopped; everything else is decided when it is created, the peers of a unicast
// router included, which VPP cannot change while it runs. With priority 255 it
// owns its addresses, which VPP wants to find on the interface. A router that is
// started while its interface has no address to send from stays down even when
// there is one later, so it waits for one. The interface has our tag, so routers on
// it are ours too; they must go before the interface does.

const (
	// vrrpUnit is the unit of intervals in VPP, in milliseconds.
	vrrpUnit = 10
	// minInterval and maxInterval are in milliseconds.
	minInterval, maxInterval = vrrpUnit, 65535
	// priorityOwner is the priority of the router that has the addresses itself.
	priorityOwner = 255
)

type vrrpDescriptor struct {
	*item.Resolution[*l3.VRRPEntry, vppcalls.VirtualRouter]
	vpp *vppcalls.Calls
}

type vrrpKV = kvs.KV[*l3.VRRPEntry, kvs.Metadata]

// NewVRRP describes virtual routers.
func NewVRRP(vpp *vppcalls.Calls, ifs item.Interfaces) *kvs.KVDescriptor {
	d := &vrrpDescriptor{&item.Resolution[*l3.VRRPEntry, vppcalls.VirtualRouter]{Interfaces: ifs, Resolve: resolveVRRP}, vpp}
	return kvs.Adapt(kvs.Describe(model.VRRPModel, kvs.Descriptor[*l3.VRRPEntry, kvs.Metadata]{
		Name:         VRRPName,
		Southbound:   item.Southbound,
		Validate:     d.Validate,
		Dependencies: d.Dependencies,
		ValueComparator: func(_ string, a, b *l3.VRRPEntry) bool {
			x, y, ok := d.Both(a, b)
			return ok && sameRouter(x, y) && x.Running == y.Running
		},
		UpdateWithRecreate: func(_ string, a, b *l3.VRRPEntry, _ kvs.Metadata) bool {
			x, y, ok := d.Both(a, b)
			return !ok || !sameRouter(x, y)
		},
		CreateContext:        d.create,
		UpdateContext:        d.update,
		DeleteContext:        d.remove,
		RetrieveContext:      d.retrieve,
		RetrieveDependencies: []string{item.InterfaceName},
	}))
}

// resolveVRRP takes intervals in the unit of VPP.
func resolveVRRP(r *item.Resolver, e *l3.VRRPEntry) vppcalls.VirtualRouter {
	var out vppcalls.VirtualRouter
	out.SwIfIndex = uint32(r.Interface("interface", e.GetInterface()))
	out.ID = uint8(r.Range("vr_id", e.GetVrId(), 1, maxByte))
	out.Priority = uint8(r.Range("priority", e.GetPriority(), 1, priorityOwner))
	if i := e.GetInterval(); i < minInterval || i > maxInterval {
		r.Fail("interval", "%d ms, expected %d to %d", i, minInterval, maxInterval)
	}
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
// alone; allocated and borrowed addresses may be it, for their keys do not tell.
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

func (d *vrrpDescriptor) create(ctx context.Context, _ string, e *l3.VRRPEntry) (kvs.Metadata, error) {
	r, err := d.Live(e)
	if err != nil {
		return nil, err
	}
	if err := d.vpp.AddVirtualRouter(ctx, r); err != nil {
		return nil, err
	}
	if err := d.complete(ctx, r); err != nil {
		return nil, errors.Join(err, d.vpp.DeleteVirtualRouter(ctx, r)) // leave nothing half-made
	}
	return nil, nil
}

// complete does what cannot be said in the creation.
func (d *vrrpDescriptor) complete(ctx context.Context, r vppcalls.VirtualRouter) error {
	if len(r.Peers) > 0 {
		if err := d.vpp.SetVirtualRouterPeers(ctx, r); err != nil {
			return err
		}
	}
	if !r.Running {
		return nil
	}
	return d.vpp.StartVirtualRouter(ctx, r, true)
}

func (d *vrrpDescriptor) update(ctx context.Context, _ string, _, e *l3.VRRPEntry, _ kvs.Metadata) (kvs.Metadata, error) {
	r, err := d.Live(e)
	if err != nil {
		return nil, err
	}
	return nil, d.vpp.StartVirtualRouter(ctx, r, r.Running)
}

func (d *vrrpDescriptor) remove(ctx context.Context, _ string, e *l3.VRRPEntry, _ kvs.Metadata) error {
	r, err := d.Live(e)
	if _, known := item.SwIfIndex(d.Interfaces, e.GetInterface()); known != nil {
		return err
	}
	return d.vpp.DeleteVirtualRouter(ctx, r) // VPP may have what no value may say
}

// retrieve returns one router per interface and number, which is all that keys can
// tell apart: of an IPv4 and an IPv6 one the one that is expected.
func (d *vrrpDescriptor) retrieve(ctx context.Context, correlate []vrrpKV) ([]vrrpKV, error) {
	all, err := d.vpp.DumpVirtualRouters(ctx)
	if err != nil {
		return nil, err
	}
	wanted := make(map[string]*l3.VRRPEntry, len(correlate))
	for _, kv := range correlate {
		wanted[kv.Key] = kv.Value
	}
	at, snapshot := map[string]int{}, d.Interfaces.Snapshot(ctx)
	var out []vrrpKV
	for _, found := range all {
		name, ok := snapshot.Name(found.SwIfIndex)
		if !ok {
			continue
		}
		e := describeVRRP(name, found)
		kv := vrrpKV{Key: model.VRRPModel.Key(e), Value: e, Origin: kvs.FromNB}
		w := wanted[kv.Key]
		x, y, ok := d.Both(w, e)
		if ok && sameRouter(x, y) && x.Running == y.Running {
			kv.Value = w // in its spelling
		}
		if n, twice := at[kv.Key]; !twice {
			at[kv.Key] = len(out)
			out = append(out, kv)
		} else if w != nil && x.IPv6 == found.IPv6 {
			out[n] = kv
		}
	}
	return out, snapshot.Err()
}

func describeVRRP(iface string, r vppcalls.VirtualRouter) *l3.VRRPEntry {
	e := &l3.VRRPEntry{
		Interface: iface, VrId: uint32(r.ID), Priority: uint32(r.Priority), Interval: uint32(r.Interval) * vrrpUnit,
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
