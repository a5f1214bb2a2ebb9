//lint:file-ignore SA1019 the deprecated fields are part of the wire schema, and have to be understood

package natplugin

import (
	"context"
	"errors"
	"fmt"

	"go.fd.io/govpp/binapi/interface_types"
	"google.golang.org/protobuf/types/known/emptypb"

	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ipconv"
	"github.com/tenuto-dev/tenuto/plugins/vpp/item"
	"github.com/tenuto-dev/tenuto/plugins/vpp/natplugin/model"
	nat "github.com/tenuto-dev/tenuto/proto/ligato/vpp/nat"
)

// validateListed looks at the interfaces and addresses that a global item lists.
func validateListed(g *nat.Nat44Global) error {
	var errs []error
	fail := func(field, format string, args ...any) { errs = append(errs, item.Invalid(field, format, args...)) }
	type end struct {
		name   string
		inside bool
	}
	ends, outputs := map[end]bool{}, map[string]bool{}
	for n, i := range g.GetNatInterfaces() {
		field, e := fmt.Sprintf("nat_interfaces[%d]", n), end{i.GetName(), i.GetIsInside()}
		other, listed := outputs[i.GetName()]
		switch {
		case ends[e]:
			fail(field+".name", "%q is listed twice for this side", i.GetName())
		case listed && (other || i.GetOutputFeature()):
			fail(field+".output_feature", "%q is listed twice, expected once: with output_feature it is of both sides", i.GetName())
		}
		ends[e], outputs[i.GetName()] = true, i.GetOutputFeature()
	}
	seen := map[string]bool{}
	for n, a := range g.GetAddressPool() {
		field := fmt.Sprintf("address_pool[%d].address", n)
		addr, err := ipconv.ParseAddr(a.GetAddress())
		id := fmt.Sprint(addr, a.GetTwiceNat())
		switch {
		case err != nil || !addr.Is4() || addr.IsUnspecified():
			fail(field, "%q, expected an IPv4 address", a.GetAddress())
		case seen[id]:
			fail(field, "%s is listed twice", addr)
		}
		seen[id] = true
	}
	return errors.Join(errs...)
}

func derivedOfGlobal(_ string, g *nat.Nat44Global) (out []kvs.KeyValuePair) {
	if !g.GetEndpointIndependent() {
		out = append(out, kvs.KeyValuePair{Key: model.EndpointDependentKey, Value: &emptypb.Empty{}})
	}
	for _, i := range g.GetNatInterfaces() {
		direction := "out"
		if i.GetIsInside() {
			direction = "in"
		}
		out = append(out, kvs.KeyValuePair{Key: model.GlobalInterfaceKey.Key(i.GetName(), direction), Value: i})
	}
	for _, a := range g.GetAddressPool() {
		twice := "off"
		if a.GetTwiceNat() {
			twice = "on"
		}
		out = append(out, kvs.KeyValuePair{Key: model.GlobalAddressKey.Key(model.CanonicalAddress(a.GetAddress()), twice), Value: a})
	}
	return out
}

// findListed puts into a global item the interfaces and addresses of VPP that the values which
// are expected list, and notes that they are of the global item.
func (d *globalDescriptor) findListed(ctx context.Context, v *nat.Nat44Global, correlate []globalKV) error {
	if v.NatInterfaces, v.AddressPool = nil, nil; len(correlate) == 0 {
		return nil
	}
	l := listed{interfaces: map[natInterface]bool{}, addresses: map[addressID]bool{}}
	wanted := &nat.Nat44Global{}
	for _, c := range correlate {
		wanted.NatInterfaces = append(wanted.NatInterfaces, c.Value.GetNatInterfaces()...)
		wanted.AddressPool = append(wanted.AddressPool, c.Value.GetAddressPool()...)
	}
	if err := d.findInterfaces(ctx, v, wanted, l.interfaces); err != nil {
		return err
	}
	if err := d.findAddresses(ctx, v, wanted, l.addresses); err != nil {
		return err
	}
	return setListed(d.vpp, l)
}

func (d *globalDescriptor) findInterfaces(ctx context.Context, v, wanted *nat.Nat44Global, l map[natInterface]bool) error {
	all := wanted.GetNatInterfaces()
	if len(all) == 0 {
		return nil
	}
	has, err := list(ctx, partsOf(d.vpp, interfaceOperations))
	if err != nil {
		return err
	}
	for _, i := range all {
		m, ok := d.ifs.LookupByName(i.GetName())
		if !ok {
			continue
		}
		part := natInterface{interface_types.InterfaceIndex(m.SwIfIndex), globalSide(i)}
		if has[part] && !l[part] {
			v.NatInterfaces = append(v.NatInterfaces, i)
		}
		l[part] = true
	}
	return nil
}

func (d *globalDescriptor) findAddresses(ctx context.Context, v, wanted *nat.Nat44Global, l map[addressID]bool) error {
	all := wanted.GetAddressPool()
	if len(all) == 0 {
		return nil
	}
	has, err := list(ctx, partsOf(d.vpp, addressOperations))
	if err != nil {
		return err
	}
	for _, a := range all {
		addr, err := ipconv.ParseAddr(a.GetAddress())
		if err != nil || !addr.Is4() {
			continue
		}
		part := address{addressID: addressID{addr.As4(), a.GetTwiceNat()}, vrf: a.GetVrfId()}
		if has[part] && !l[part.addressID] {
			v.AddressPool = append(v.AddressPool, a)
		}
		l[part.addressID] = true
	}
	return nil
}

// list returns the parts that VPP has.
func list[P comparable](ctx context.Context, parts func() (*item.PartCalls[P], error)) (map[P]bool, error) {
	do, err := parts()
	if do == nil {
		return nil, err
	}
	all, err := do.List(ctx)
	has := make(map[P]bool, len(all))
	for _, p := range all {
		has[p] = true
	}
	return has, err
}
