package descriptor

import (
	"context"

	"go.fd.io/govpp/binapi/interface_types"

	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	ifmodel "github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/model"
	"github.com/tenuto-dev/tenuto/plugins/vpp/item"
	"github.com/tenuto-dev/tenuto/plugins/vpp/l2plugin/model"
	"github.com/tenuto-dev/tenuto/plugins/vpp/l2plugin/vppcalls"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
	l2 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l2"
)

// NewXConnect describes cross-connects. A cross-connect sends everything that one interface
// receives out of another one. It is one direction; two values make it both. The receiving
// interface has our tag, so a cross-connect on it is ours too. VPP would take an interface out of
// its bridge domain for it without a word, so that is refused here. An update leaves no moment
// without a cross-connect.
func NewXConnect(vpp *session.VPP, ifs item.Interfaces) *kvs.KVDescriptor {
	type connection = vppcalls.Connection
	calls := vppcalls.New(vpp)
	return item.NewEntry(vpp, ifs, item.Entry[*l2.XConnectPair, connection, interface_types.InterfaceIndex]{
		Name: XConnectName, Model: model.XConnectModel,
		Resolve: func(r *item.Resolver, v *l2.XConnectPair) connection {
			rx, tx := v.GetReceiveInterface(), v.GetTransmitInterface()
			r.NotEmpty("receive_interface", rx, "the name of an interface")
			if r.NotEmpty("transmit_interface", tx, "the name of an interface") && tx == rx {
				r.Fail("transmit_interface", "%q is the receiving interface too", tx)
			}
			r.DependsOn("rx-interface", ifmodel.InterfaceModel.KeyFor(rx))
			r.DependsOn("tx-interface", ifmodel.InterfaceModel.KeyFor(tx))
			return connection{Rx: r.SwIfIndex(rx), Tx: r.SwIfIndex(tx), Name: rx}
		},
		ID:    func(c connection) interface_types.InterfaceIndex { return c.Rx },
		Equal: func(a, b connection) bool { return a.Rx == b.Rx && a.Tx == b.Tx },
		Value: func(n *item.Names, c connection) *l2.XConnectPair {
			return &l2.XConnectPair{ReceiveInterface: n.Interface(c.Rx), TransmitInterface: n.Interface(c.Tx)}
		},
		Identities: func(v *l2.XConnectPair) []string { return attachment(v.GetReceiveInterface()) },
		Changeable: func(connection, connection) bool { return true },
		Set: func(ctx context.Context, old, c *connection) error {
			if c == nil {
				return calls.Disconnect(ctx, *old, isTagged(ifs, old.Name))
			}
			return attachmentError(ctx, ifs, "receive_interface", c.Name, calls.Connect(ctx, *c, isTagged(ifs, c.Name)))
		},
		All: calls.DumpConnections,
	})
}
