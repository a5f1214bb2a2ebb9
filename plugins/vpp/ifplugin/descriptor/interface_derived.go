package descriptor

import (
	"slices"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"

	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	netallocmodel "github.com/tenuto-dev/tenuto/plugins/netalloc/model"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/model"
	"github.com/tenuto-dev/tenuto/proto/ligato/netalloc"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

// derivedValues are what can come and go while the interface stays.
func derivedValues(_ string, i *interfaces.Interface) []kvs.KeyValuePair {
	out := append(addressing(i), neighborsOf(i))
	if i.GetSetDhcpClient() {
		out = append(out, kvs.KeyValuePair{Key: model.DHCPClientKey.Key(i.GetName()), Value: &emptypb.Empty{}})
	}
	if nd := i.GetIp6Nd(); nd.GetAddressAutoconfig() {
		out = append(out, kvs.KeyValuePair{Key: model.IP6NDKey.Key(i.GetName()), Value: nd})
	}
	if len(i.GetRxModes()) > 0 {
		out = append(out, kvs.KeyValuePair{Key: model.RxModesKey.Key(i.GetName()), Value: &interfaces.Interface{
			Name: i.GetName(), Type: i.GetType(), RxModes: i.GetRxModes(),
		}})
	}
	for _, m := range i.GetBond().GetBondedInterfaces() {
		out = append(out, kvs.KeyValuePair{Key: model.BondedInterfaceKey.Key(i.GetName(), m.GetName()), Value: m})
	}
	for _, p := range i.GetRxPlacements() {
		out = append(out, kvs.KeyValuePair{Key: model.RxPlacementKeyFor(i.GetName(), p.GetQueue()), Value: p})
	}
	return out
}

// withoutDerived is an interface without addresses, own or borrowed, that wait for
// something: VPP does not have them.
func withoutDerived(_ string, i *interfaces.Interface, derived []string) *interfaces.Interface {
	waits := map[string]bool{}
	for _, key := range derived {
		waits[key] = true
	}
	left := proto.Clone(i).(*interfaces.Interface)
	if waits[model.UnnumberedKey.Key(i.GetName())] {
		left.Unnumbered = nil
	}
	left.IpAddresses = slices.DeleteFunc(left.GetIpAddresses(), func(addr string) bool {
		return waits[addressKey(i.GetName(), addr)]
	})
	return left
}

// addressKey returns the key of an address, or of a reference to one.
func addressKey(iface, addr string) string {
	source := netalloc.IPAddressSource_STATIC
	if netallocmodel.IsRef(addr) {
		source = netalloc.IPAddressSource_ALLOC_REF
	}
	return model.AddressKeyFor(iface, addr, source)
}

// addressing are the addresses, own or borrowed, and the VRF tables. Every interface has a
// membership, so that what VPP does with its table can be removed before it changes.
func addressing(i *interfaces.Interface) []kvs.KeyValuePair {
	name := i.GetName()
	if u := i.GetUnnumbered(); u != nil {
		return []kvs.KeyValuePair{
			{Key: model.UnnumberedKey.Key(name), Value: u},
			{Key: model.InheritedVrfKey.Key(name, u.GetInterfaceWithIp()), Value: &emptypb.Empty{}},
		}
	}
	var out []kvs.KeyValuePair
	seen := map[string]bool{}
	ipv4, ipv6 := underlay(i)
	ipv4, ipv6 = ipv4 || i.GetSetDhcpClient(), ipv6 || i.GetIp6Nd().GetAddressAutoconfig()
	for _, addr := range i.GetIpAddresses() {
		p, err := netallocmodel.ParseAddress(addr)
		switch {
		case netallocmodel.IsRef(addr):
			ipv4 = true // in a table; see allocated
		case err != nil:
			continue // invalid: never applied
		default:
			ipv4 = ipv4 || p.Addr().Is4()
			ipv6 = ipv6 || !p.Addr().Is4()
		}
		key := addressKey(name, addr)
		if !seen[key] {
			seen[key] = true
			out = append(out, kvs.KeyValuePair{Key: key, Value: &emptypb.Empty{}})
		}
	}
	if len(out) > 0 {
		out = append(out, kvs.KeyValuePair{Key: model.HasAddressKey.Key(name), Value: &emptypb.Empty{}})
	}
	return append(out, kvs.KeyValuePair{Key: model.VrfKeyFor(name, i.GetVrf(), ipv4, ipv6), Value: &emptypb.Empty{}})
}
