package vppcalls

import (
	"context"
	"errors"
	"net/netip"

	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/interface_types"
	"go.fd.io/govpp/binapi/ip_types"
	"go.fd.io/govpp/binapi/ipip"
	"go.fd.io/govpp/binapi/tunnel_types"

	"github.com/tenuto-dev/tenuto/plugins/vpp/ipconv"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
)

// IpipDevice is the device class of IPIP tunnels.
const IpipDevice = "IPIP tunnel device"

var createIpip = session.Require(&Operations, "interface IPIP_TUNNEL", "",
	(*ipip.IpipAddTunnel)(nil), (*ipip.IpipAddTunnelReply)(nil))

// Ipip is an IPIP tunnel, wanted or as VPP has it.
type Ipip struct {
	// Dst is the unspecified address of a tunnel to many ends.
	Src, Dst netip.Addr
	// Multipoint: a table has the other ends, see TEIB.
	Multipoint bool
	// Vrf is the table in which the other end is looked up.
	Vrf uint32
}

// CreateIpip creates a tunnel. The error is api.IF_ALREADY_EXISTS if there is one.
func (c *Calls) CreateIpip(ctx context.Context, t Ipip) (swIfIndex uint32, err error) {
	reply := &ipip.IpipAddTunnelReply{}
	err = c.call(ctx, createIpip, &ipip.IpipAddTunnel{Tunnel: ipip.IpipTunnel{
		Instance: anyInstance, Src: ipconv.Address(t.Src), Dst: ipconv.Address(t.Dst), TableID: t.Vrf, Mode: tunnelMode(t.Multipoint),
	}}, reply)
	return uint32(reply.SwIfIndex), err
}

// tunnelMode is the mode of a tunnel to one or to many other ends.
func tunnelMode(multipoint bool) tunnel_types.TunnelMode {
	if multipoint {
		return tunnel_types.TUNNEL_API_MODE_MP
	}
	return tunnel_types.TUNNEL_API_MODE_P2P
}

// DeleteIpip deletes a tunnel. If it does not exist, that is a success.
func (c *Calls) DeleteIpip(ctx context.Context, swIfIndex uint32) error {
	err := c.vpp.Call(ctx, &ipip.IpipDelTunnel{SwIfIndex: interface_types.InterfaceIndex(swIfIndex)}, &ipip.IpipDelTunnelReply{})
	if session.Gone(err) || errors.Is(err, api.NO_SUCH_ENTRY) {
		return nil
	}
	return err
}

// DumpIpips returns all tunnels by the index of the interface.
func (c *Calls) DumpIpips(ctx context.Context) (map[uint32]Ipip, error) {
	found, err := session.Dump[*ipip.IpipTunnelDetails](ctx, c.vpp, &ipip.IpipTunnelDump{
		SwIfIndex: interface_types.InterfaceIndex(NoInterface),
	})
	if err != nil {
		return nil, err
	}
	out := make(map[uint32]Ipip, len(found))
	for _, d := range found {
		if d.Tunnel.Dst.Un == (ip_types.AddressUnion{}) {
			// Only tunnels to many have no other end. VPP before 23.10 fills in neither
			// the mode nor, then, the family.
			d.Tunnel.Mode, d.Tunnel.Dst.Af = tunnel_types.TUNNEL_API_MODE_MP, d.Tunnel.Src.Af
		}
		out[uint32(d.Tunnel.SwIfIndex)] = Ipip{
			Src: ipconv.FromAddress(d.Tunnel.Src), Dst: ipconv.FromAddress(d.Tunnel.Dst), Vrf: d.Tunnel.TableID,
			Multipoint: d.Tunnel.Mode == tunnel_types.TUNNEL_API_MODE_MP,
		}
	}
	return out, nil
}
