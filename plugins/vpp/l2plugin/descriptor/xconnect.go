package descriptor

import (
	"context"
	"fmt"

	"go.fd.io/govpp/binapi/interface_types"

	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	ifmodel "github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/model"
	"github.com/tenuto-dev/tenuto/plugins/vpp/item"
	"github.com/tenuto-dev/tenuto/plugins/vpp/l2plugin/model"
	"github.com/tenuto-dev/tenuto/plugins/vpp/l2plugin/vppcalls"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
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
			if tx == rx {
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
			if err := checkCircle(calls, ifs, *c); err != nil {
				return err
			}
			return attachmentError(ctx, ifs, "receive_interface", c.Name, calls.Connect(ctx, *c, isTagged(ifs, c.Name)))
		},
		All: calls.DumpConnections,
	})
}

// checkCircle refuses a cross-connect that completes a circle of loopbacks; see model.Circles.
func checkCircle(calls *vppcalls.Calls, ifs item.Interfaces, c vppcalls.Connection) error {
	of := loopbackOf(ifs)
	if of(c.Name) == "" {
		return nil
	}
	name := func(index interface_types.InterfaceIndex) string {
		name, _, _ := ifs.LookupBySwIfIndex(uint32(index))
		return name
	}
	circles := model.NewCircles(of)
	for _, x := range calls.Connections() {
		if x.Rx != c.Rx {
			circles.Add(model.Cross{Receive: name(x.Rx), Transmit: name(x.Tx)})
		}
	}
	if circle := circles.Completed(model.Cross{Receive: c.Name, Transmit: name(c.Tx)}); circle != nil {
		return fmt.Errorf("transmit_interface: %s", model.CircleProblem(circle))
	}
	return nil
}

// loopbackOf finds the loopbacks of interfaces that exist.
func loopbackOf(ifs item.Interfaces) model.LoopbackOf {
	return func(name string) string {
		m, ok := ifs.LookupByName(name)
		if ok && m.Parent != "" {
			name = m.Parent
			m, ok = ifs.LookupByName(name)
		}
		if !ok || m.Type != interfaces.Interface_SOFTWARE_LOOPBACK {
			return ""
		}
		return name
	}
}
