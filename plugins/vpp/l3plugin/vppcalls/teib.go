package vppcalls

import (
	"context"
	"errors"
	"net/netip"

	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/interface_types"
	"go.fd.io/govpp/binapi/teib"

	"github.com/tenuto-dev/tenuto/plugins/vpp/ipconv"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
)

// TunnelEndpoint says behind which next hop of the underlay a peer on a tunnel
// with many ends is.
type TunnelEndpoint struct {
	SwIfIndex uint32
	Peer      netip.Addr
	NextHop   netip.Addr
	// Table that the next hop is looked up in.
	Table uint32
}

func pickTEIB(s session.Session) session.Op[struct{}] {
	return session.Pick(s, "tunnel endpoint", session.Variant(struct{}{},
		(*teib.TeibEntryAddDel)(nil), (*teib.TeibEntryAddDelReply)(nil), (*teib.TeibDump)(nil), (*teib.TeibDetails)(nil)))
}

func needTEIB(o ops) session.Op[struct{}] { return o.teib }

// AddTunnelEndpoint adds an endpoint. Another one of the same peer gives way to
// it: VPP would refuse.
func (c *Calls) AddTunnelEndpoint(ctx context.Context, e TunnelEndpoint) error {
	err := c.tunnelEndpoint(ctx, e, true)
	if !errors.Is(err, api.ENTRY_ALREADY_EXISTS) {
		return err
	}
	if err := c.DeleteTunnelEndpoint(ctx, e); err != nil {
		return err
	}
	return c.tunnelEndpoint(ctx, e, true)
}

// DeleteTunnelEndpoint deletes the endpoint of the peer. If there is none, that
// is a success.
func (c *Calls) DeleteTunnelEndpoint(ctx context.Context, e TunnelEndpoint) error {
	err := c.tunnelEndpoint(ctx, e, false)
	if session.Gone(err, api.NO_SUCH_ENTRY) {
		return nil
	}
	return err
}

func (c *Calls) tunnelEndpoint(ctx context.Context, e TunnelEndpoint, add bool) error {
	if err := c.need(needTEIB); err != nil {
		return err
	}
	req := &teib.TeibEntryAddDel{Entry: teib.TeibEntry{
		SwIfIndex: interface_types.InterfaceIndex(e.SwIfIndex), Peer: ipconv.Address(e.Peer),
		Nh: ipconv.Address(e.NextHop), NhTableID: e.Table,
	}}
	if add {
		req.IsAdd = 1
	}
	return c.vpp.Call(ctx, req, &teib.TeibEntryAddDelReply{})
}

// DumpTunnelEndpoints returns all endpoints.
func (c *Calls) DumpTunnelEndpoints(ctx context.Context) ([]TunnelEndpoint, error) {
	found, err := dump[*teib.TeibDetails](ctx, c, needTEIB, &teib.TeibDump{})
	if err != nil {
		return nil, err
	}
	out := make([]TunnelEndpoint, len(found))
	for i, d := range found {
		out[i] = TunnelEndpoint{
			SwIfIndex: uint32(d.Entry.SwIfIndex), Peer: ipconv.FromAddress(d.Entry.Peer),
			NextHop: ipconv.FromAddress(d.Entry.Nh), Table: d.Entry.NhTableID,
		}
	}
	return out, nil
}
