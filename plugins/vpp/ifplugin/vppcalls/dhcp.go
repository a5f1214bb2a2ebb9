package vppcalls

import (
	"bytes"
	"context"
	"errors"
	"net/netip"
	"os"

	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/dhcp"
	"go.fd.io/govpp/binapi/interface_types"
	"go.fd.io/govpp/binapi/ip_types"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/binapi"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
)

var dhcpClients = session.Require("interface: DHCP client", "dhcp",
	(*dhcp.DHCPClientConfig)(nil), (*dhcp.DHCPClientConfigReply)(nil), (*dhcp.DHCPClientDump)(nil), (*dhcp.DHCPClientDetails)(nil))

// DHCPLease is what a DHCP client of VPP, which speaks IPv4 only, has obtained.
type DHCPLease struct {
	HostName string
	MAC      MAC
	// Address is the one of the interface, with the length of its network.
	Address netip.Prefix
	// Router is the default gateway; the zero Addr if the server told none.
	Router netip.Addr
}

// DHCPClient is a DHCP client of VPP.
type DHCPClient struct {
	Lease    *DHCPLease // nil: it has none yet
	Settings DHCPSettings
	HostName string // sent to the server
}

// DHCPSettings are the settings of a client that its model lacks.
type DHCPSettings struct {
	ID               string
	SetBroadcastFlag bool
	Dscp             ip_types.IPDscp
}

// StartDHCPClient makes VPP ask for an address by DHCP. If it does already, that
// is a success.
func (c *Calls) StartDHCPClient(ctx context.Context, swIfIndex uint32, hostName string) error {
	err := c.dhcpClient(ctx, true, swIfIndex, hostName)
	if !errors.Is(err, api.INVALID_VALUE) {
		return err
	}
	all, dumpErr := c.DumpDHCPClients(ctx)
	if _, ok := all[swIfIndex]; ok {
		return nil
	}
	return errors.Join(err, dumpErr)
}

// StopDHCPClient ends that; the leased address goes. If there is no client, that
// is a success.
func (c *Calls) StopDHCPClient(ctx context.Context, swIfIndex uint32) error {
	err := c.dhcpClient(ctx, false, swIfIndex, "")
	if session.Gone(err, api.INVALID_VALUE) {
		return nil
	}
	return err
}

func (c *Calls) dhcpClient(ctx context.Context, add bool, swIfIndex uint32, hostName string) error {
	return c.call(ctx, dhcpClients, &dhcp.DHCPClientConfig{IsAdd: add, Client: dhcp.DHCPClient{
		SwIfIndex: interface_types.InterfaceIndex(swIfIndex), Hostname: hostName, WantDHCPEvent: true, PID: uint32(os.Getpid()),
	}}, &dhcp.DHCPClientConfigReply{})
}

// DumpDHCPClients returns the leases of all DHCP clients, as DumpDHCP does.
func (c *Calls) DumpDHCPClients(ctx context.Context) (map[uint32]*DHCPLease, error) {
	all, err := c.DumpDHCP(ctx)
	leases := make(map[uint32]*DHCPLease, len(all))
	for index, client := range all {
		leases[index] = client.Lease
	}
	return leases, err
}

// DumpDHCP returns all DHCP clients by the index of the interface; none if the connected VPP has
// no DHCP.
func (c *Calls) DumpDHCP(ctx context.Context) (map[uint32]DHCPClient, error) {
	found, err := session.DumpOf[*dhcp.DHCPClientDetails](ctx, c.vpp, dhcpClients, &dhcp.DHCPClientDump{})
	if err != nil {
		return nil, err
	}
	out := make(map[uint32]DHCPClient, len(found))
	for _, d := range found {
		id, _, _ := bytes.Cut(d.Client.ID, []byte{0})
		out[uint32(d.Client.SwIfIndex)] = DHCPClient{leaseOf(&d.Lease), DHCPSettings{string(id), d.Client.SetBroadcastFlag, d.Client.Dscp}, d.Client.Hostname}
	}
	return out, nil
}

// leaseOf reads the addresses as IPv4, whatever the field for that says: VPP
// does not always fill it in.
func leaseOf(l *dhcp.DHCPLease) *DHCPLease {
	address, router := netip.AddrFrom4(l.HostAddress.Un.GetIP4()), netip.AddrFrom4(l.RouterAddress.Un.GetIP4())
	if address.IsUnspecified() {
		return nil
	}
	out := &DHCPLease{HostName: l.Hostname, MAC: l.HostMac, Address: netip.PrefixFrom(address, int(l.MaskWidth))}
	if !router.IsUnspecified() {
		out.Router = router
	}
	return out
}

// WatchLeases calls changed whenever a lease of a client that was started in
// this session may be another one, until ctx ends or the session does. Without
// error it has ended with ctx.
func (c *Calls) WatchLeases(ctx context.Context, changed func()) error {
	s, err := c.vpp.Session()
	if err != nil {
		return err
	}
	if !s.Client.Has((*dhcp.DHCPComplEvent)(nil)) {
		<-ctx.Done()
		return nil
	}
	return watch(ctx, c, "DHCP", func(binapi.Client) error { return nil }, func(*dhcp.DHCPComplEvent) { changed() })
}
