package descriptor

import (
	"context"

	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/model"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/vppcalls"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

// What an interface makes of router advertisements is derived from it. The
// addresses that it gets by them go into its VRF table, so it listens after the
// membership in the table. VPP cannot be asked whether it listens: it is sent
// once in every session, which makes no difference if it does already.

type ip6ndDescriptor struct {
	vpp *vppcalls.Calls
	ifs index
}

// NewIP6ND describes what interfaces make of router advertisements.
func NewIP6ND(vpp *vppcalls.Calls, ifs index) *kvs.KVDescriptor {
	d := &ip6ndDescriptor{vpp, ifs}
	return kvs.Adapt(&kvs.Descriptor[*interfaces.Interface_IP6ND, kvs.Metadata]{
		Name:        IP6NDName,
		Southbound:  Southbound,
		KeySelector: model.IP6NDKey.Matches,
		Dependencies: func(key string, _ *interfaces.Interface_IP6ND) []kvs.Dependency {
			return inSomeTable(ifaceOf(model.IP6NDKey.Parse(key)))
		},
		CreateContext: func(ctx context.Context, key string, nd *interfaces.Interface_IP6ND) (kvs.Metadata, error) {
			return nil, d.set(ctx, key, nd)
		},
		UpdateContext: func(ctx context.Context, key string, _, nd *interfaces.Interface_IP6ND, _ kvs.Metadata) (kvs.Metadata, error) {
			return nil, d.set(ctx, key, nd)
		},
		DeleteContext: func(ctx context.Context, key string, _ *interfaces.Interface_IP6ND, _ kvs.Metadata) error {
			if err := d.set(ctx, key, nil); !session.Gone(err) {
				return err
			}
			return nil
		},
	})
}

func (d *ip6ndDescriptor) set(ctx context.Context, key string, nd *interfaces.Interface_IP6ND) error {
	idx, err := swIfIndex(d.ifs, ifaceOf(model.IP6NDKey.Parse(key)))
	if err != nil {
		return err
	}
	return d.vpp.SetIP6ND(ctx, idx, vppcalls.IP6ND{Autoconfig: nd.GetAddressAutoconfig(), DefaultRoutes: nd.GetInstallDefaultRoutes()})
}
