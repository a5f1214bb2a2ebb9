package descriptor

import (
	"context"

	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/item"
	"github.com/tenuto-dev/tenuto/plugins/vpp/l3plugin/model"
	l3 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l3"
)

// An interface that answers ARP requests for the ranges of proxy ARP is derived
// from it. It stops before the interface is deleted: VPP would have the next
// interface with the same index answer.

// proxyARPInterfaceCalls is what such interfaces need of VPP.
type proxyARPInterfaceCalls interface {
	SetProxyARP(ctx context.Context, swIfIndex uint32, on bool) error
}

type proxyARPInterfaceDescriptor struct {
	vpp proxyARPInterfaceCalls
	ifs item.Interfaces
}

// NewProxyARPInterface describes the interfaces that answer.
func NewProxyARPInterface(vpp proxyARPInterfaceCalls, ifs item.Interfaces) *kvs.KVDescriptor {
	d := &proxyARPInterfaceDescriptor{vpp, ifs}
	return kvs.Adapt(&kvs.Descriptor[*l3.ProxyARP_Interface, kvs.Metadata]{
		Name:        ProxyARPInterfaceName,
		Southbound:  item.Southbound,
		KeySelector: model.ProxyARPInterfaceKey.Matches,
		Dependencies: func(_ string, i *l3.ProxyARP_Interface) []kvs.Dependency {
			return []kvs.Dependency{item.DependsOnInterface("interface-exists", i.GetName())}
		},
		CreateContext: func(ctx context.Context, _ string, i *l3.ProxyARP_Interface) (kvs.Metadata, error) {
			return nil, d.set(ctx, i, true)
		},
		DeleteContext: func(ctx context.Context, _ string, i *l3.ProxyARP_Interface, _ kvs.Metadata) error {
			return d.set(ctx, i, false)
		},
	})
}

func (d *proxyARPInterfaceDescriptor) set(ctx context.Context, i *l3.ProxyARP_Interface, on bool) error {
	index, err := item.SwIfIndex(d.ifs, i.GetName())
	if err != nil {
		return err
	}
	return d.vpp.SetProxyARP(ctx, index, on)
}
