package vnet

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim/internal/wire"
	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/dhcp"
	"go.fd.io/govpp/binapi/ip_types"
)

// dhcpClients are the DHCP clients by interface.
type dhcpClients struct {
	*VNet
	clients map[uint32]*dhcpClient
}

type dhcpClient struct {
	config  dhcp.DHCPClient
	owner   uint32 // the API client that hears of leases
	address netip.Prefix
	router  netip.Addr
}

func newDhcpClients(n *VNet) feature {
	n.dhcpClients = &dhcpClients{VNet: n}
	return n.dhcpClients
}

func (cs *dhcpClients) register(server *wire.Server) {
	wire.Handle(server, func(c *wire.Call, req *dhcp.DHCPClientConfig) *dhcp.DHCPClientConfigReply {
		i := cs.byIndex(req.Client.SwIfIndex)
		if i == nil {
			return &dhcp.DHCPClientConfigReply{Retval: int32(api.INVALID_SW_IF_INDEX)}
		}
		_, has := cs.clients[i.index]
		switch {
		case has == req.IsAdd:
			return &dhcp.DHCPClientConfigReply{Retval: int32(api.INVALID_VALUE)}
		case req.IsAdd && !i.hw.ethernet:
			return &dhcp.DHCPClientConfigReply{Retval: int32(cs.crash(i, "DHCP client on an interface without MAC address"))}
		case req.IsAdd:
			cs.clients[i.index] = &dhcpClient{config: req.Client, owner: c.Client}
		default:
			cs.dropLease(i)
			delete(cs.clients, i.index)
		}
		return &dhcp.DHCPClientConfigReply{}
	})
	wire.HandleDump(server, func(c *wire.Call, _ *dhcp.DHCPClientDump) {
		for index := range cs.ifs.all() {
			if d := cs.clients[index]; d != nil {
				c.Send(&dhcp.DHCPClientDetails{Client: d.config, Lease: cs.leaseOf(d)})
			}
		}
	})
}

func (cs *dhcpClients) reset() { cs.clients = make(map[uint32]*dhcpClient) }

// leaseOf describes a lease as VPP does, which leaves out what family addresses
// are of.
func (cs *dhcpClients) leaseOf(d *dhcpClient) dhcp.DHCPLease {
	lease := dhcp.DHCPLease{SwIfIndex: d.config.SwIfIndex, Hostname: d.config.Hostname}
	if !d.address.IsValid() {
		return lease
	}
	if i := cs.byIndex(d.config.SwIfIndex); i != nil {
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
	cs := n.dhcpClients
	i, d := cs.ifs.at(index), cs.clients[index]
	if i == nil || d == nil {
		return fmt.Errorf("interface %d has no DHCP client", index)
	}
	cs.dropLease(i)
	if !address.IsValid() {
		return nil
	}
	if rv := cs.addAddress(i, address); rv != ok {
		return fmt.Errorf("address %s: %w", address, rv)
	}
	d.address, d.router = address, router
	if d.config.WantDHCPEvent {
		cs.server.SendEvent(d.owner, &dhcp.DHCPComplEvent{PID: d.config.PID, Lease: cs.leaseOf(d)})
	}
	return nil
}

func (cs *dhcpClients) interfaceRemoved(i *swInterface) {
	cs.dropLease(i)
	delete(cs.clients, i.index)
}

func (cs *dhcpClients) dumpInterface(b *strings.Builder, i *swInterface) {
	if d := cs.clients[i.index]; d != nil {
		fmt.Fprintf(b, "  DHCP client %q\n", d.config.Hostname)
	}
}

// dropLease takes the leased address of an interface away.
func (cs *dhcpClients) dropLease(i *swInterface) {
	d := cs.clients[i.index]
	if d == nil || !d.address.IsValid() {
		return
	}
	cs.removeAddress(i, d.address)
	d.address, d.router = netip.Prefix{}, netip.Addr{}
}
