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
	if known.bridged(rx) {
		if err := c.checkNotBridged(ctx, rx); err != nil {
			return err
		}
	}
	err = c.vpp.Call(ctx, &l2.SwInterfaceSetL2Xconnect{
		RxSwIfIndex: interface_types.InterfaceIndex(rx), TxSwIfIndex: interface_types.InterfaceIndex(tx), Enable: true,
	}, &l2.SwInterfaceSetL2XconnectReply{})
	if err != nil {
		return err
	}
	known.connect(rx, tx)
	return nil
}

// checkNotBridged asks VPP.
func (c *Calls) checkNotBridged(ctx context.Context, rx uint32) error {
	all, err := c.DumpBridgeDomains(ctx)
	if err != nil {
		return err
	}
	for _, bd := range all {
		for _, m := range bd.Members {
			if m.SwIfIndex == rx {
				return &BridgedError{Name: bd.Tag, ID: bd.ID}
			}
		}
	}
	return nil
}

// Disconnect ends Connect, unless rx is in a bridge domain by now. tagged: what
// happens to the VLAN tags of rx must outlive it.
func (c *Calls) Disconnect(ctx context.Context, rx, tx uint32, tagged bool) error {
	known, err := attachments.On(c.vpp)
	if err != nil {
		return err
	}
	if known.bridged(rx) {
		return nil
	}
	leave := func() error {
		return c.vpp.Call(ctx, &l2.SwInterfaceSetL2Xconnect{
			RxSwIfIndex: interface_types.InterfaceIndex(rx), TxSwIfIndex: interface_types.InterfaceIndex(tx),
		}, &l2.SwInterfaceSetL2XconnectReply{})
	}
	if tagged {
		err = c.keepTags(ctx, rx, leave)
	} else {
		err = leave()
	}
	if err != nil && !session.Gone(err) {
		return err
	}
	known.disconnect(rx)
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
