package descriptor

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

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

// vrrpCalls is what virtual routers need of VPP.
type vrrpCalls interface {
	AddVirtualRouter(ctx context.Context, r vppcalls.VirtualRouter) error
	DeleteVirtualRouter(ctx context.Context, r vppcalls.VirtualRouter) error
	StartVirtualRouter(ctx context.Context, r vppcalls.VirtualRouter, start bool) error
	SetVirtualRouterPeers(ctx context.Context, r vppcalls.VirtualRouter) error
	DumpVirtualRouters(ctx context.Context) ([]vppcalls.VirtualRouter, error)
}

const (
	// vrrpUnit is the unit of intervals in VPP, in milliseconds.
	vrrpUnit = 10
	// minInterval and maxInterval are in milliseconds.
	minInterval, maxInterval = vrrpUnit, 65535
	// priorityOwner is the priority of the router that has the addresses itself.
	priorityOwner = 255
)

type vrrpDescriptor struct {
	vpp vrrpCalls
	ifs item.Interfaces
}

type vrrpKV = kvs.KV[*l3.VRRPEntry, kvs.Metadata]

// NewVRRP describes virtual routers.
func NewVRRP(vpp vrrpCalls, ifs item.Interfaces) *kvs.KVDescriptor {
	d := &vrrpDescriptor{vpp, ifs}
	return kvs.Adapt(kvs.Describe(model.VRRPModel, kvs.Descriptor[*l3.VRRPEntry, kvs.Metadata]{
		Name:            VRRPName,
		Southbound:      item.Southbound,
		Validate:        validateVRRP,
		Dependencies:    vrrpDependencies,
		ValueComparator: sameVRRP,
		UpdateWithRecreate: func(_ string, a, b *l3.VRRPEntry, _ kvs.Metadata) bool {
			return !sameButEnabled(a, b)
		},
		CreateContext:        d.create,
		UpdateContext:        d.update,
		DeleteContext:        d.remove,
		RetrieveContext:      d.retrieve,
		RetrieveDependencies: []string{item.InterfaceName},
	}))
}

func validateVRRP(_ string, e *l3.VRRPEntry) error {
	var errs []error
	if e.GetInterface() == "" {
		errs = append(errs, item.Invalid("interface", "empty, expected the name of an interface"))
	}
	if id := e.GetVrId(); id == 0 || id > maxByte {
		errs = append(errs, item.Invalid("vr_id", "%d, expected 1 to %d", id, maxByte))
	}
	if p := e.GetPriority(); p == 0 || p > priorityOwner {
		errs = append(errs, item.Invalid("priority", "%d, expected 1 to %d", p, priorityOwner))
	}
	if i := e.GetInterval(); i < minInterval || i > maxInterval {
		errs = append(errs, item.Invalid("interval", "%d ms, expected %d to %d", i, minInterval, maxInterval))
	}
	if n := len(e.GetIpAddresses()); n == 0 || n > maxByte {
		errs = append(errs, item.Invalid("ip_addresses", "%d addresses, expected 1 to %d", n, maxByte))
	}
	first, err := validateVRRPAddrs("ip_addresses", e.GetIpAddresses(), netip.Addr{})
	return errors.Join(append(errs, err, validatePeers(e, first))...)
}

// validatePeers looks at the peers of a router with the given address.
func validatePeers(e *l3.VRRPEntry, addr netip.Addr) error {
	const field = "unicast_peers"
	n := len(e.GetUnicastPeers())
	var errs []error
	switch {
	case n > 0 && !e.GetUnicast():
		errs = append(errs, item.Invalid(field, "%d addresses, expected none without unicast", n))
	case n == 0 && e.GetUnicast() && e.GetEnabled():
		errs = append(errs, item.Invalid(field, "empty, expected the address of another router: VPP starts no unicast router without"))
	case n > maxByte:
		errs = append(errs, item.Invalid(field, "%d addresses, expected at most %d", n, maxByte))
	}
	_, err := validateVRRPAddrs(field, e.GetUnicastPeers(), addr)
	return errors.Join(append(errs, err)...)
}

// validateVRRPAddrs wants addresses of the version of IP of first, or of each other
// if that is not valid; it returns the one that decided.
func validateVRRPAddrs(list string, addrs []string, first netip.Addr) (netip.Addr, error) {
	var errs []error
	seen := map[netip.Addr]bool{}
	for n, text := range addrs {
		field := fmt.Sprintf("%s[%d]", list, n)
		addr, err := ipconv.ParseAddr(text)
		switch {
		case err != nil:
			errs = append(errs, item.Invalid(field, "%w", err))
			continue
		case addr.IsUnspecified() || addr.IsMulticast():
			errs = append(errs, item.Invalid(field, "%s, expected the address of a router", addr))
		case first.IsValid() && addr.Is4() != first.Is4():
			errs = append(errs, item.Invalid(field, "%s, expected the version of IP of %s", addr, first))
		case seen[addr]:
			errs = append(errs, item.Invalid(field, "%s is listed twice", addr))
		}
		seen[addr] = true
		if !first.IsValid() {
			first = addr
		}
	}
	return first, errors.Join(errs...)
}

func vrrpDependencies(_ string, e *l3.VRRPEntry) []kvs.Dependency {
	deps := []kvs.Dependency{item.DependsOnInterface("interface-exists", e.GetInterface())}
	addrs := vrrpAddrs(e.GetIpAddresses())
	if len(addrs) == 0 {
		return deps
	}
	if e.GetEnabled() {
		deps = append(deps, addressDependency("interface-has-address", e.GetInterface(), addrs[0].Is6(), nil))
	}
	if e.GetPriority() == priorityOwner {
		for _, addr := range addrs {
			deps = append(deps, addressDependency("interface-has-address-"+addr.String(), e.GetInterface(), addr.Is6(), &addr))
		}
	}
	return deps
}

// addressDependency is met by an address of the version of IP, or by the given one
// alone; allocated and borrowed addresses may be it, for their keys do not tell.
func addressDependency(label, iface string, ipv6 bool, addr *netip.Addr) kvs.Dependency {
	borrowed, ip6 := ifmodel.UnnumberedKey.Key(iface), ifmodel.IP6NDKey.Key(iface)
	return kvs.Dependency{Label: label, AnyOf: kvs.AnyOfDependency{
		KeyPrefixes: []string{ifmodel.AddressKey.Prefix(iface), borrowed, ip6},
		KeySelector: func(key string) bool {
			_, text, _, ok := ifmodel.ParseAddressKey(key)
			if !ok {
				return key == borrowed || key == ip6 && ipv6 && addr == nil
			}
			p, err := ipconv.ParsePrefix(text)
			return err != nil || p.Addr().Is6() == ipv6 && (addr == nil || p.Addr() == *addr)
		},
	}}
}

// vrrpAddrs parses the addresses; what is invalid is never applied.
func vrrpAddrs(texts []string) []netip.Addr {
	var out []netip.Addr
	for _, text := range texts {
		if addr, err := ipconv.ParseAddr(text); err == nil {
			out = append(out, addr)
		}
	}
	return out
}

func sameVRRP(_ string, a, b *l3.VRRPEntry) bool {
	return a.GetEnabled() == b.GetEnabled() && sameButEnabled(a, b)
}

// sameButEnabled compares addresses whatever their order, and intervals in the
// unit of VPP.
func sameButEnabled(a, b *l3.VRRPEntry) bool {
	return a.GetInterface() == b.GetInterface() && a.GetVrId() == b.GetVrId() && a.GetPriority() == b.GetPriority() &&
		a.GetInterval()/vrrpUnit == b.GetInterval()/vrrpUnit && a.GetPreempt() == b.GetPreempt() &&
		a.GetAccept() == b.GetAccept() && a.GetUnicast() == b.GetUnicast() &&
		sameAddrs(a.GetIpAddresses(), b.GetIpAddresses()) && sameAddrs(a.GetUnicastPeers(), b.GetUnicastPeers())
}

func sameAddrs(a, b []string) bool {
	x, y := vrrpAddrs(a), vrrpAddrs(b)
	return len(missing(x, y)) == 0 && len(missing(y, x)) == 0
}

func (d *vrrpDescriptor) resolve(e *l3.VRRPEntry) (vppcalls.VirtualRouter, error) {
	index, err := item.SwIfIndex(d.ifs, e.GetInterface())
	addrs := vrrpAddrs(e.GetIpAddresses())
	return vppcalls.VirtualRouter{
		SwIfIndex: index, ID: uint8(e.GetVrId()), IPv6: len(addrs) > 0 && addrs[0].Is6(),
		Priority: uint8(e.GetPriority()), Interval: uint16(e.GetInterval() / vrrpUnit),
		Preempt: e.GetPreempt(), Accept: e.GetAccept(), Unicast: e.GetUnicast(), Addrs: addrs,
		Peers: vrrpAddrs(e.GetUnicastPeers()),
	}, err
}

func (d *vrrpDescriptor) create(ctx context.Context, _ string, e *l3.VRRPEntry) (kvs.Metadata, error) {
	r, err := d.resolve(e)
	if err != nil {
		return nil, err
	}
	if err := d.vpp.AddVirtualRouter(ctx, r); err != nil {
		return nil, err
	}
	if err := d.complete(ctx, r, e.GetEnabled()); err != nil {
		return nil, errors.Join(err, d.vpp.DeleteVirtualRouter(ctx, r)) // leave nothing half-made
	}
	return nil, nil
}

// complete does what cannot be said in the creation.
func (d *vrrpDescriptor) complete(ctx context.Context, r vppcalls.VirtualRouter, start bool) error {
	if len(r.Peers) > 0 {
		if err := d.vpp.SetVirtualRouterPeers(ctx, r); err != nil {
			return err
		}
	}
	if !start {
		return nil
	}
	return d.vpp.StartVirtualRouter(ctx, r, true)
}

func (d *vrrpDescriptor) update(ctx context.Context, _ string, _, e *l3.VRRPEntry, _ kvs.Metadata) (kvs.Metadata, error) {
	r, err := d.resolve(e)
	if err != nil {
		return nil, err
	}
	return nil, d.vpp.StartVirtualRouter(ctx, r, e.GetEnabled())
}

func (d *vrrpDescriptor) remove(ctx context.Context, _ string, e *l3.VRRPEntry, _ kvs.Metadata) error {
	r, err := d.resolve(e)
	if err != nil {
		return err
	}
	return d.vpp.DeleteVirtualRouter(ctx, r)
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
	at, snapshot := map[string]int{}, d.ifs.Snapshot(ctx)
	var out []vrrpKV
	for _, found := range all {
		name, ok := snapshot.Name(found.SwIfIndex)
		if !ok {
			continue
		}
		e := describeVRRP(name, found)
		kv := vrrpKV{Key: model.VRRPModel.Key(e), Value: e, Origin: kvs.FromNB}
		w := wanted[kv.Key]
		if w != nil && sameVRRP(kv.Key, w, e) {
			kv.Value = w // in its spelling
		}
		if n, twice := at[kv.Key]; !twice {
			at[kv.Key] = len(out)
			out = append(out, kv)
		} else if addrs := vrrpAddrs(w.GetIpAddresses()); len(addrs) > 0 && addrs[0].Is6() == found.IPv6 {
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
