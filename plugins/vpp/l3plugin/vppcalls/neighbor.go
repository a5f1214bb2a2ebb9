package vppcalls

import (
	"context"
	"net/netip"

	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/interface_types"
	"go.fd.io/govpp/binapi/ip_neighbor"

	"github.com/tenuto-dev/tenuto/plugins/vpp/ipconv"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
)

// Neighbor is the MAC address of an IP address on a link.
type Neighbor struct {
	SwIfIndex uint32
	Addr      netip.Addr
	MAC       MAC
	// Static entries do not age and are not replaced by learned ones.
	Static bool
}

// AddNeighbor adds or replaces an entry.
func (c *Calls) AddNeighbor(ctx context.Context, n Neighbor) error { return c.neighbor(ctx, n, true) }

// DeleteNeighbor deletes an entry. If it does not exist, that is a success.
func (c *Calls) DeleteNeighbor(ctx context.Context, n Neighbor) error {
	err := c.neighbor(ctx, n, false)
	if session.Gone(err, api.NO_SUCH_ENTRY) {
		return nil
	}
	return err
}

func (c *Calls) neighbor(ctx context.Context, n Neighbor, add bool) error {
	m := ip_neighbor.IPNeighbor{
		SwIfIndex: interface_types.InterfaceIndex(n.SwIfIndex), MacAddress: n.MAC, IPAddress: ipconv.Address(n.Addr),
	}
	if n.Static {
		m.Flags = ip_neighbor.IP_API_NEIGHBOR_FLAG_STATIC
	}
	return c.vpp.Call(ctx, &ip_neighbor.IPNeighborAddDel{IsAdd: add, Neighbor: m}, &ip_neighbor.IPNeighborAddDelReply{})
}

// DumpNeighbors returns the entries of both versions of IP, learned ones
// included.
func (c *Calls) DumpNeighbors(ctx context.Context) ([]Neighbor, error) {
	var out []Neighbor
	for _, ipv6 := range []bool{false, true} {
		found, err := session.Dump[*ip_neighbor.IPNeighborDetails](ctx, c.vpp, &ip_neighbor.IPNeighborDump{
			SwIfIndex: interface_types.InterfaceIndex(NoInterface), Af: ipconv.Family(ipv6),
		})
		if err != nil {
			return nil, err
		}
		for _, d := range found {
			out = append(out, Neighbor{
				SwIfIndex: uint32(d.Neighbor.SwIfIndex), Addr: ipconv.FromAddress(d.Neighbor.IPAddress),
				MAC: d.Neighbor.MacAddress, Static: d.Neighbor.Flags&ip_neighbor.IP_API_NEIGHBOR_FLAG_STATIC != 0,
			})
		}
	}
	return out, nil
}
