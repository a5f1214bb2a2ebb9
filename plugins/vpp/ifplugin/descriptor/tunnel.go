package descriptor

import (
	"net/netip"

	"go.fd.io/govpp/binapi/ip_types"

	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/model"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ipconv"
	l3model "github.com/tenuto-dev/tenuto/plugins/vpp/l3plugin/model"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
	l3 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l3"
)

// What tunnels have in common: two ends, tables in which the other end is looked
// up, and interfaces for multicast groups.

// ends are the addresses of the two ends of a tunnel, in fields of a link.
type ends struct{ srcField, src, dstField, dst string }

// check reports what is wrong with the two ends, which are both required.
func (e ends) check() []error {
	src, srcErr := e.addr(e.srcField, e.src)
	dst, dstErr := e.addr(e.dstField, e.dst)
	switch {
	case srcErr != nil || dstErr != nil:
		return []error{srcErr, dstErr}
	case src.Is4() != dst.Is4():
		return []error{invalid(e.dstField, "%s, expected an address of the same version of IP as %s %s", dst, e.srcField, src)}
	case src == dst:
		return []error{invalid(e.dstField, "%s is the same as %s, expected the other end", dst, e.srcField)}
	}
	return nil
}

func (e ends) addr(field, text string) (netip.Addr, error) {
	if text == "" {
		return netip.Addr{}, invalid(field, "empty, expected an IP address")
	}
	a, err := ipconv.ParseAddr(text)
	if err != nil {
		return a, invalid(field, "%w", err)
	}
	return a, nil
}

// parse returns the addresses, which were checked before; without another end that is no
// address, of the same version of IP.
func (e ends) parse() (src, dst ip_types.Address, err error) {
	from, err := ipconv.ParseAddr(e.src)
	if err != nil {
		return src, dst, err
	}
	to := zeroOf(from)
	if e.dst != "" {
		to, err = ipconv.ParseAddr(e.dst)
	}
	return ipconv.Address(from), ipconv.Address(to), err
}

// fields are the two ends, for the error of a conflict.
func (e ends) fields(more ...field) []field {
	src, _ := ipconv.ParseAddr(e.src)
	dst, _ := ipconv.ParseAddr(e.dst)
	return append([]field{{e.srcField, src}, {e.dstField, dst}}, more...)
}

// plain is an address as the agent writes it: VPP may tell anything behind an IPv4 address.
func plain(a ip_types.Address) ip_types.Address { return ipconv.Address(ipconv.FromAddress(a)) }

// addressText is an address in the usual form.
func addressText(a ip_types.Address) string { return ipconv.FromAddress(a).String() }

// zeroOf is no address, of the same version of IP.
func zeroOf(a netip.Addr) netip.Addr {
	if a.Is4() {
		return netip.IPv4Unspecified()
	}
	return netip.IPv6Unspecified()
}

// isMulticast reports that the text is a multicast address.
func isMulticast(text string) bool {
	a, err := ipconv.ParseAddr(text)
	return err == nil && a.IsMulticast()
}

// isIPv6 reports that the text is an IPv6 address.
func isIPv6(text string) bool {
	a, err := ipconv.ParseAddr(text)
	return err == nil && a.Is6()
}

// vrfExists is the dependency on a VRF table; table 0 always exists.
func vrfExists(label string, vrf uint32, ipv6 bool) []kvs.Dependency {
	if vrf == 0 {
		return nil
	}
	protocol := l3.VrfTable_IPV4
	if ipv6 {
		protocol = l3.VrfTable_IPV6
	}
	return []kvs.Dependency{{Label: label, Key: l3model.VrfTableKey(vrf, protocol)}}
}

// groupInterface is the dependency on the interface of a multicast group.
func groupInterface(label, name string) []kvs.Dependency {
	if name == "" {
		return nil
	}
	return []kvs.Dependency{{Label: label, Key: model.InterfaceModel.KeyFor(name)}}
}

// checkGroup reports what is wrong with the interface of a multicast group, which dst is or
// is not.
func checkGroup(i *interfaces.Interface, field, dst, group string) error {
	switch {
	case isMulticast(dst) && group == "":
		return invalid(field, "empty, expected an interface for the group %s", dst)
	case group == i.GetName() && group != "":
		return invalid(field, "is the interface itself")
	}
	return nil
}

// underlay are the versions of IP of the tunnels that are in a VRF table even
// without addresses.
func underlay(i *interfaces.Interface) (ipv4, ipv6 bool) {
	var end string
	switch i.GetType() {
	case interfaces.Interface_VXLAN_TUNNEL:
		end = i.GetVxlan().GetSrcAddress()
	case interfaces.Interface_GTPU_TUNNEL:
		end = i.GetGtpu().GetSrcAddr()
	case interfaces.Interface_IPIP_TUNNEL:
		end = i.GetIpip().GetSrcAddr()
	}
	if end == "" {
		return false, false
	}
	return !isIPv6(end), isIPv6(end)
}
