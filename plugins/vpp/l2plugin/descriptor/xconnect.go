package descriptor

import (
	"context"

	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/item"
	"github.com/tenuto-dev/tenuto/plugins/vpp/l2plugin/model"
	"github.com/tenuto-dev/tenuto/plugins/vpp/l2plugin/vppcalls"
	l2 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l2"
)

// A cross-connect sends everything that one interface receives out of another
// one. It is one direction; two values make it both. The receiving interface
// has our tag, so a cross-connect on it is ours too. VPP would take an interface
// out of its bridge domain for it without a word, so that is refused here.

type xconnectDescriptor struct {
	vpp *vppcalls.Calls
	ifs item.Interfaces
}

type xconnectKV = kvs.KV[*l2.XConnectPair, kvs.Metadata]

// NewXConnect describes cross-connects.
func NewXConnect(vpp *vppcalls.Calls, ifs item.Interfaces) *kvs.KVDescriptor {
	d := &xconnectDescriptor{vpp, ifs}
	return kvs.Adapt(kvs.Describe(model.XConnectModel, kvs.Descriptor[*l2.XConnectPair, kvs.Metadata]{
		Name:          XConnectName,
		Southbound:    item.Southbound,
		Validate:      validateXConnect,
		Dependencies:  xconnectDependencies,
		CreateContext: d.create,
		// An update leaves no moment without a cross-connect.
		UpdateContext: func(ctx context.Context, key string, _, x *l2.XConnectPair, _ kvs.Metadata) (kvs.Metadata, error) {
			return d.create(ctx, key, x)
		},
		DeleteContext:        d.remove,
		RetrieveContext:      d.retrieve,
		RetrieveDependencies: []string{item.InterfaceName},
	}))
}

func validateXConnect(_ string, x *l2.XConnectPair) error {
	var r item.Resolver
	r.NotEmpty("receive_interface", x.GetReceiveInterface(), "the name of an interface")
	if tx := x.GetTransmitInterface(); r.NotEmpty("transmit_interface", tx, "the name of an interface") && tx == x.GetReceiveInterface() {
		r.Fail("transmit_interface", "%q is the receiving interface too", tx)
	}
	return r.Err()
}

func xconnectDependencies(_ string, x *l2.XConnectPair) []kvs.Dependency {
	return []kvs.Dependency{
		item.DependsOnInterface("rx-interface", x.GetReceiveInterface()),
		item.DependsOnInterface("tx-interface", x.GetTransmitInterface()),
	}
}

func (d *xconnectDescriptor) create(ctx context.Context, _ string, x *l2.XConnectPair) (kvs.Metadata, error) {
	rx, tx, err := d.resolve(x)
	if err != nil {
		return nil, err
	}
	if err := d.vpp.Connect(ctx, rx, tx); err != nil {
		return nil, attachmentError(ctx, d.ifs, "receive_interface", x.GetReceiveInterface(), err)
	}
	return nil, nil
}

func (d *xconnectDescriptor) remove(ctx context.Context, _ string, x *l2.XConnectPair, _ kvs.Metadata) error {
	rx, tx, err := d.resolve(x)
	if err != nil {
		return err
	}
	return d.vpp.Disconnect(ctx, rx, tx, isTagged(d.ifs, x.GetReceiveInterface()))
}

func (d *xconnectDescriptor) resolve(x *l2.XConnectPair) (rx, tx uint32, err error) {
	if rx, err = item.SwIfIndex(d.ifs, x.GetReceiveInterface()); err != nil {
		return 0, 0, err
	}
	tx, err = item.SwIfIndex(d.ifs, x.GetTransmitInterface())
	return rx, tx, err
}

func (d *xconnectDescriptor) retrieve(ctx context.Context, _ []xconnectKV) ([]xconnectKV, error) {
	all, err := d.vpp.DumpConnections(ctx)
	if err != nil {
		return nil, err
	}
	snapshot := d.ifs.Snapshot(ctx)
	var out []xconnectKV
	for _, c := range all {
		rx, rxOK := snapshot.Name(c.Rx)
		tx, txOK := snapshot.Name(c.Tx)
		if rxOK && txOK {
			x := &l2.XConnectPair{ReceiveInterface: rx, TransmitInterface: tx}
			out = append(out, xconnectKV{Key: model.XConnectModel.Key(x), Value: x, Origin: kvs.FromNB})
		}
	}
	return out, snapshot.Err()
}
