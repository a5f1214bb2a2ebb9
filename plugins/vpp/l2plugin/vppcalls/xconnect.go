package vppcalls

import (
	"context"

	"go.fd.io/govpp/binapi/l2"

	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
)

var connect = session.Require("L2 cross-connect", "",
	(*l2.SwInterfaceSetL2Xconnect)(nil), (*l2.SwInterfaceSetL2XconnectReply)(nil))

// Connection sends everything that one interface receives out of another one.
type Connection struct {
	Rx, Tx ifIndex
	// Name of Rx in the configuration; empty if it was read from VPP.
	Name string
}

// Connect makes a connection, and ends another one of Rx. It is an error if Rx is in a bridge
// domain: VPP would take it out of there. tagged: the VLAN tags of Rx may be rewritten.
func (c *Calls) Connect(ctx context.Context, x Connection, tagged bool) error {
	return c.attach(ctx, connect, x.Rx, tagged, place{connected: true, to: uint32(x.Tx)}, &l2.SwInterfaceSetL2Xconnect{
		RxSwIfIndex: x.Rx, TxSwIfIndex: x.Tx, Enable: true,
	}, &l2.SwInterfaceSetL2XconnectReply{})
}

// Connections returns the connections that were seen in the session, without names, in the order of
// the receiving interfaces.
func (c *Calls) Connections() (all []Connection) {
	c.seen(func(which ifIndex, at place) {
		if at.connected {
			all = append(all, Connection{Rx: which, Tx: ifIndex(at.to)})
		}
	})
	return all
}

// Disconnect ends a connection, unless Rx is in a bridge domain by now. tagged: what happens to
// the VLAN tags of Rx must outlive it.
func (c *Calls) Disconnect(ctx context.Context, x Connection, tagged bool) error {
	return c.detach(ctx, x.Rx, tagged, place{connected: true, to: uint32(x.Tx)}, &l2.SwInterfaceSetL2Xconnect{
		RxSwIfIndex: x.Rx, TxSwIfIndex: x.Tx,
	}, &l2.SwInterfaceSetL2XconnectReply{})
}

// DumpConnections returns all connections.
func (c *Calls) DumpConnections(ctx context.Context) ([]Connection, error) {
	found, err := session.Dump[*l2.L2XconnectDetails](ctx, c.vpp, &l2.L2XconnectDump{})
	if err != nil {
		return nil, err
	}
	out, places := make([]Connection, len(found)), make(map[ifIndex]place, len(found))
	for i, d := range found {
		out[i] = Connection{Rx: d.RxSwIfIndex, Tx: d.TxSwIfIndex}
		places[d.RxSwIfIndex] = place{connected: true, to: uint32(d.TxSwIfIndex)}
	}
	c.learn(true, places)
	return out, nil
}
