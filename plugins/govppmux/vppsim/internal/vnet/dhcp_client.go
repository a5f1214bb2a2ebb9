package vnet

import (
	"fmt"
	"net/netip"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim/internal/wire"
	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/dhcp"
	"go.fd.io/govpp/binapi/ip_types"
)

// dhcpClients are the DHCP clients by interface.
type dhcpClients struct {
	byIndex map[uint32]*dhcpClient
}

type dhcpClient struct {
	config  dhcp.DHCPClient
	owner   uint32 // the API client that hears of leases
	address netip.Prefix
	router  netip.Addr
}

func (n *VNet) handleDHCPClients() {
	wire.Handle(n.server, func(c *wire.Call, req *dhcp.DHCPClientConfig) *dhcp.DHCPClientConfigReply {
		i := n.byIndex(req.Client.SwIfIndex)
		if i == nil {
			return &dhcp.DHCPClientConfigReply{Retval: int32(api.INVALID_SW_IF_INDEX)}
		}
		_, has := n.dhcpClients.byIndex[i.index]
		switch {
		case has == req.IsAdd:
			return &dhcp.DHCPClientConfigReply{Retval: int32(api.INVALID_VALUE)}
		case req.IsAdd:
			n.dhcpClients.byIndex[i.index] = &dhcpClient{config: req.Client, owner: c.Client}
		default:
			n.dropLease(i)
			delete(n.dhcpClients.byIndex, i.index)
		}
		return &dhcp.DHCPClientConfigReply{}
	})
	wire.HandleDump(n.server, func(c *wire.Call, _ *dhcp.DHCPClientDump) {
		for index := range n.ifs.all() {
			if d := n.dhcpClients.byIndex[index]; d != nil {
				c.Send(&dhcp.DHCPClientDetails{Client: d.config, Lease: n.leaseOf(d)})
			}
		}
	})
}

// leaseOf describes a lease as VPP does, which leaves out what family addresses
// are of.
func (n *VNet) leaseOf(d *dhcpClient) dhcp.DHCPLease {
	lease := dhcp.DHCPLease{SwIfIndex: d.config.SwIfIndex, Hostname: d.config.Hostname}
	if !d.address.IsValid() {
		return lease
	}
	if i := n.byIndex(d.config.SwIfIndex); i != nil {
		lease.HostMac = i.hw.mac
	}
	lease.State, lease.MaskWidth = dhcp.DHCP_CLIENT_STATE_API_BOUND, uint8(d.address.Bits())
	lease.HostAddress.Un = ip_types.AddressUnionIP4(d.address.Addr().As4())
	if d.router.IsValid() {
		lease.RouterAddress.Un = ip_types.AddressUnionIP4(d.router.As4())
	}
	return lease
}

// Lease makes the DHCP client of an interface obtain an address, as a server
// would; the invalid Prefix makes it lose the one it has, which VPP does not
// report.
func (n *VNet) Lease(index uint32, address netip.Prefix, router netip.Addr) error {
	i, d := n.ifs.at(index), n.dhcpClients.byIndex[index]
	if i == nil || d == nil {
		return fmt.Errorf("interface %d has no DHCP client", index)
	}
	n.dropLease(i)
	if !address.IsValid() {
		return nil
	}
	if rv := n.addAddress(i, address); rv != ok {
		return fmt.Errorf("address %s: %w", address, rv)
	}
	d.address, d.router = address, router
	if d.config.WantDHCPEvent {
		n.server.SendEvent(d.owner, &dhcp.DHCPComplEvent{PID: d.config.PID, Lease: n.leaseOf(d)})
	}
	return nil
}

// dropLease takes the leased address of an interface away.
func (n *VNet) dropLease(i *swInterface) {
	d := n.dhcpClients.byIndex[i.index]
	if d == nil || !d.address.IsValid() {
		return
	}
	n.removeAddress(i, d.address)
	d.address, d.router = netip.Prefix{}, netip.Addr{}
}
