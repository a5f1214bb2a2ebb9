package vppcalls

import (
	"context"

	"go.fd.io/govpp/binapi/interface_types"
	"go.fd.io/govpp/binapi/l2"

	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
)

var connect = session.Require(&Operations, "L2 cross-connect", "",
	(*l2.SwInterfaceSetL2Xconnect)(nil), (*l2.SwInterfaceSetL2XconnectReply)(nil))

// Connect sends everything that rx receives out of tx, and not out of another
// interface any more. It is an error if rx is in a bridge domain: VPP would take
// it out of there.
func (c *Calls) Connect(ctx context.Context, rx, tx uint32) error {
	if err := connect.Check(c.vpp); err != nil {
		return err
	}
	known, err := attachments.On(c.vpp)
	if err != nil {
		return err
	}
	if err := c.checkFree(ctx, known, noBridgeDomain, rx); err != nil {
		return err
	}
	err = c.vpp.Call(ctx, &l2.SwInterfaceSetL2Xconnect{
		RxSwIfIndex: interface_types.InterfaceIndex(rx), TxSwIfIndex: interface_types.InterfaceIndex(tx), Enable: true,
	}, &l2.SwInterfaceSetL2XconnectReply{})
	if err != nil {
		return err
	}
	known.change(func() {
		known.connected[rx] = tx
		delete(known.bd, rx)
	})
	return nil
}

// Disconnect ends Connect, unless rx is in a bridge domain by now. tagged: what
// happens to the VLAN tags of rx must outlive it.
func (c *Calls) Disconnect(ctx context.Context, rx, tx uint32, tagged bool) error {
	known, err := attachments.On(c.vpp)
	if err != nil {
		return err
	}
	if known.elsewhere(rx, noBridgeDomain) {
		return nil
	}
	err = c.leave(ctx, rx, tagged, &l2.SwInterfaceSetL2Xconnect{
		RxSwIfIndex: interface_types.InterfaceIndex(rx), TxSwIfIndex: interface_types.InterfaceIndex(tx),
	}, &l2.SwInterfaceSetL2XconnectReply{})
	if err != nil && !session.Gone(err) {
		return err
	}
	known.change(func() { delete(known.connected, rx) })
	return nil
}

// Connection is a pair of receiving and sending interface.
type Connection struct{ Rx, Tx uint32 }

// DumpConnections returns all pairs.
func (c *Calls) DumpConnections(ctx context.Context) ([]Connection, error) {
	found, err := session.Dump[*l2.L2XconnectDetails](ctx, c.vpp, &l2.L2XconnectDump{})
	if err != nil {
		return nil, err
	}
	out := make([]Connection, len(found))
	for i, d := range found {
		out[i] = Connection{uint32(d.RxSwIfIndex), uint32(d.TxSwIfIndex)}
	}
	if known, err := attachments.On(c.vpp); err == nil {
		known.learnConnections(out)
	}
	return out, nil
}
