package descriptor

import (
	"context"
	"net/netip"

	"google.golang.org/protobuf/types/known/emptypb"

	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/model"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/vppcalls"
	"github.com/tenuto-dev/tenuto/proto/ligato/netalloc"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

// A lease is what a DHCP client has obtained; it comes from VPP, by Retrieve and
// by notifications. The leased address, which VPP puts on the interface itself,
// is derived from it for those who wait for an address.

type leaseKV = kvs.KV[*interfaces.DHCPLease, *interfaces.DHCPLease]

type dhcpLeaseDescriptor struct {
	vpp *vppcalls.Calls
	ifs index
}

// NewDHCPLease describes the leases of DHCP clients. The metadata of a lease,
// by the name of the interface, is the lease itself.
func NewDHCPLease(vpp *vppcalls.Calls, ifs index) *kvs.KVDescriptor {
	d := &dhcpLeaseDescriptor{vpp, ifs}
	return kvs.Adapt(&kvs.Descriptor[*interfaces.DHCPLease, *interfaces.DHCPLease]{
		Name:                 DHCPLeaseName,
		Southbound:           Southbound,
		KeySelector:          model.DHCPLeaseKey.Matches,
		KeyLabel:             func(key string) string { return ifaceOf(model.DHCPLeaseKey.Parse(key)) },
		WithMetadata:         true,
		DerivedValues:        leasedAddress,
		RetrieveContext:      d.retrieve,
		RetrieveDependencies: []string{InterfaceName},
	})
}

func leasedAddress(_ string, l *interfaces.DHCPLease) []kvs.KeyValuePair {
	return []kvs.KeyValuePair{{
		Key:   model.AddressKeyFor(l.GetInterfaceName(), l.GetHostIpAddress(), netalloc.IPAddressSource_FROM_DHCP),
		Value: &emptypb.Empty{},
	}}
}

func (d *dhcpLeaseDescriptor) retrieve(ctx context.Context, _ []leaseKV) ([]leaseKV, error) {
	all, err := d.vpp.DumpDHCPClients(ctx)
	if err != nil {
		return nil, err
	}
	var out []leaseKV
	for idx, l := range all {
		if name, _, ok := d.ifs.LookupBySwIfIndex(idx); ok && l != nil {
			lease := LeaseOf(name, l)
			out = append(out, leaseKV{Key: model.DHCPLeaseKey.Key(name), Value: lease, Metadata: lease, Origin: kvs.FromSB})
		}
	}
	return out, nil
}

// LeaseOf describes a lease. The router is written with the length of the
// network of the address, as old clients expect it.
func LeaseOf(iface string, l *vppcalls.DHCPLease) *interfaces.DHCPLease {
	out := &interfaces.DHCPLease{
		InterfaceName: iface, HostName: l.HostName, HostPhysAddress: l.MAC.String(), HostIpAddress: l.Address.String(),
	}
	if l.Router.IsValid() {
		out.RouterIpAddress = netip.PrefixFrom(l.Router, l.Address.Bits()).String()
	}
	return out
}

// LeaseChange returns the notification of the lease of an interface, nil for
// none.
func LeaseChange(iface string, l *interfaces.DHCPLease) kvs.KVWithMetadata {
	kv := kvs.KVWithMetadata{Key: model.DHCPLeaseKey.Key(iface), Origin: kvs.FromSB}
	if l != nil {
		kv.Value, kv.Metadata = l, l
	}
	return kv
}
