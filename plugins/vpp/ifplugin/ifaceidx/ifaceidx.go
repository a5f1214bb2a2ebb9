// Package ifaceidx is the index of VPP interfaces: what VPP calls the
// interfaces that the configuration knows by name.
package ifaceidx

import (
	"net/netip"
	"slices"
	"strconv"

	"go.fd.io/govpp/binapi/ethernet_types"

	"github.com/tenuto-dev/tenuto/infra/idxmap"
	netallocmodel "github.com/tenuto-dev/tenuto/plugins/netalloc/model"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

// IfMeta is the metadata of an interface. It is never changed: an update makes
// another one.
type IfMeta struct {
	// SwIfIndex is the index that VPP gave to the interface.
	SwIfIndex uint32
	// Type is the type of the interface.
	Type interfaces.Interface_Type
	// Parent is the name of the interface that a sub-interface is a part of; else empty.
	Parent string
	// Vrf is the wanted VRF table, for IPv4 and IPv6.
	Vrf uint32
	// IPAddresses are the wanted addresses with prefix length.
	IPAddresses []string
	// DHCP: the interface asks for an IPv4 address by DHCP.
	DHCP bool
	// TAPHostIfName is the name of the Linux side of a TAP; else empty.
	TAPHostIfName string
	// InternalName is the name that VPP gave ("tap0"). Known only of interfaces
	// that were read from VPP.
	InternalName string
	// DevType is the device type in the words of VPP ("virtio"). Known only of
	// interfaces that were read from VPP.
	DevType string
	// ChosenMAC is the MAC address of the configuration; empty if it has none.
	ChosenMAC string
	// Initial is the state that a removed setting gets back; nil if it is not known.
	Initial *Initial
}

// Initial is what VPP chose when the interface was created.
type Initial struct {
	// MTU is the largest IP packet, 0 for the limit of the device, or UnknownMTU.
	MTU uint32
	// MAC is zero if it is not known.
	MAC ethernet_types.MacAddress
}

// UnknownMTU is no MTU.
const UnknownMTU = ^uint32(0)

// GetIndex returns the index in VPP; the highest number, which is no index, if there is no
// metadata.
func (m *IfMeta) GetIndex() uint32 {
	if m == nil {
		return AllInterfaces
	}
	return m.SwIfIndex
}

// IndexFields returns the index and the addresses; see api.IndexedMetadata.
func (m *IfMeta) IndexFields() map[string][]string {
	if m == nil {
		return nil
	}
	return map[string][]string{"index": {strconv.FormatUint(uint64(m.SwIfIndex), 10)}, "ip_addresses": append([]string{}, m.IPAddresses...)}
}

// BySwIfIndex finds interfaces by the index in VPP.
var BySwIfIndex = idxmap.Index[*IfMeta, uint32]{
	Name: "sw_if_index",
	Keys: func(m *IfMeta) []uint32 {
		if m == nil {
			return nil
		}
		return []uint32{m.SwIfIndex}
	},
}

// ByIPAddress finds interfaces by address, without prefix length.
var ByIPAddress = idxmap.Index[*IfMeta, string]{
	Name: "ip_addresses",
	Keys: func(m *IfMeta) []string {
		if m == nil {
			return nil
		}
		keys := make([]string, 0, len(m.IPAddresses))
		for _, text := range m.IPAddresses {
			if p, err := netallocmodel.ParseAddress(text); err == nil {
				keys = append(keys, p.Addr().String())
			}
		}
		return keys
	},
}

// Index is a read-only view of the interfaces. Its methods may be called
// concurrently.
type Index struct {
	m    idxmap.Map[*IfMeta]
	tags Tags
}

// New makes the view of the metadata map of the descriptor vpp-interface.
func New(r idxmap.Reader) (Index, error) {
	m, err := idxmap.Of[*IfMeta](r)
	return Index{m: m}, err
}

// Map returns the underlying map, for listing and for watching changes.
func (x Index) Map() idxmap.Map[*IfMeta] { return x.m }

// LookupByName returns the metadata of an interface.
func (x Index) LookupByName(name string) (*IfMeta, bool) {
	m, ok := x.m.Get(name)
	return m, ok && m != nil
}

// LookupBySwIfIndex returns the name and the metadata of the interface that
// VPP knows by the index.
func (x Index) LookupBySwIfIndex(index uint32) (name string, m *IfMeta, ok bool) {
	for _, name := range BySwIfIndex.Lookup(x.m, index) {
		if m, ok := x.LookupByName(name); ok {
			return name, m, true
		}
	}
	return "", nil, false
}

// SwIfIndexes returns the indexes of all interfaces, sorted.
func (x Index) SwIfIndexes() (all []uint32) {
	for _, m := range x.m.All() {
		if m != nil {
			all = append(all, m.SwIfIndex)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// NamesBySwIfIndex returns the sorted names of all interfaces that are believed to have
// the index. There is more than one after VPP has given the index of a deleted interface
// to a new one, until the loss of the deleted one is noticed.
func (x Index) NamesBySwIfIndex(index uint32) []string { return BySwIfIndex.Lookup(x.m, index) }

// LookupByIP returns the sorted names of the interfaces with the address,
// which is given without prefix length.
func (x Index) LookupByIP(addr netip.Addr) []string { return ByIPAddress.Lookup(x.m, addr.String()) }

// Overlapping returns the sorted names of the interfaces of a VRF table with a desired
// address that conflicts with addr of iface: the two overlap, and are not addresses of one
// subnet on one interface.
func (x Index) Overlapping(vrf uint32, iface string, addr netip.Prefix) (names []string) {
	for name, m := range x.m.All() {
		if m == nil || m.Vrf != vrf {
			continue
		}
		if slices.ContainsFunc(m.IPAddresses, func(text string) bool {
			p, err := netallocmodel.ParseAddress(text)
			return err == nil && Excludes(p, addr, name == iface)
		}) {
			names = append(names, name)
		}
	}
	return names
}

// Excludes reports that VPP does not have two addresses in one VRF table, of the same
// interface or not.
func Excludes(a, b netip.Prefix, same bool) bool {
	return a.Overlaps(b) && !(same && a.Bits() == b.Bits() && a.Addr() != b.Addr())
}
