package descriptor

import (
	"net/netip"

	"go.fd.io/govpp/binapi/ip_types"

	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/model"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ipconv"
	"github.com/tenuto-dev/tenuto/plugins/vpp/item"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

// What tunnels have in common: two ends, tables in which the other end is looked
// up, and interfaces for multicast groups.

// ends returns the addresses of the two ends of a tunnel, which are both required.
func ends(r *item.Resolver, srcField, src, dstField, dst string) (from, to ip_types.Address) {
	a, b := end(r, srcField, src), end(r, dstField, dst)
	switch {
	case !a.IsValid() || !b.IsValid():
		return from, to
	case a.Is4() != b.Is4():
		r.Fail(dstField, "%s, expected an address of the same version of IP as %s %s", b, srcField, a)
	case a == b:
		r.Fail(dstField, "%s is the same as %s, expected the other end", b, srcField)
	}
	return ipconv.Address(a), ipconv.Address(b)
}

// end returns the address of an end; the zero value if it is invalid.
func end(r *item.Resolver, field, text string) netip.Addr {
	if !r.NotEmpty(field, text, "an IP address") {
		return netip.Addr{}
	}
	a, err := ipconv.ParseAddr(text)
	if err != nil {
		r.Fail(field, "%w", err)
	}
	return a
}

// multicast returns the interface of the multicast group that dst is or is not.
func multicast(r *item.Resolver, label, field, name string, dst ip_types.Address, i *interfaces.Interface) ifIndex {
	switch group := ipconv.FromAddress(dst); {
	case name == "" && group.IsMulticast():
		r.Fail(field, "empty, expected an interface for the group %s", group)
	case name == i.GetName() && name != "":
		r.Fail(field, "is the interface itself")
	}
	if name == "" {
		return noInterface
	}
	r.DependsOn(label, model.InterfaceModel.KeyFor(name))
	return r.SwIfIndex(name)
}

// isIPv6 reports that the text is an IPv6 address.
func isIPv6(text string) bool {
	a, err := ipconv.ParseAddr(text)
	return err == nil && a.Is6()
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
