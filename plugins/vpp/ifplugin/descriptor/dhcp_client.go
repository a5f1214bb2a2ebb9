package descriptor

import (
	"context"

	"google.golang.org/protobuf/types/known/emptypb"

	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/model"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/vppcalls"
)

// A DHCP client of an interface is derived from it. The address that it obtains
// goes into the VRF table of the interface, which VPP refuses to change from
// then on: so the client starts after the membership in the table, and stops
// before it ends.

type dhcpClientDescriptor struct {
	vpp     *vppcalls.Calls
	ifs     index
	changed func()
}

// NewDHCPClient describes DHCP clients. changed is called when leases may be
// other ones than before, and must not wait for the scheduler.
func NewDHCPClient(vpp *vppcalls.Calls, ifs index, changed func()) *kvs.KVDescriptor {
	d := &dhcpClientDescriptor{vpp, ifs, changed}
	return kvs.Adapt(&kvs.Descriptor[*emptypb.Empty, kvs.Metadata]{
		Name:        DHCPClientName,
		Southbound:  Southbound,
		KeySelector: model.DHCPClientKey.Matches,
		Dependencies: func(key string, _ *emptypb.Empty) []kvs.Dependency {
			return inSomeTable(ifaceOf(model.DHCPClientKey.Parse(key)))
		},
		CreateContext: func(ctx context.Context, key string, _ *emptypb.Empty) (kvs.Metadata, error) {
			return nil, d.create(ctx, key)
		},
		DeleteContext: func(ctx context.Context, key string, _ *emptypb.Empty, _ kvs.Metadata) error {
			return d.remove(ctx, key)
		},
	})
}

// ifaceOf is the name of the interface in a key with nothing else.
func ifaceOf(args []string, ok bool) string {
	if !ok {
		return ""
	}
	return args[0]
}

// inSomeTable is met while the interface is where it belongs among the VRF
// tables.
func inSomeTable(iface string) []kvs.Dependency {
	return []kvs.Dependency{{
		Label: "interface-assigned-to-vrf-table",
		AnyOf: kvs.AnyOfDependency{KeyPrefixes: []string{model.VrfKey.Prefix(iface)}},
	}}
}

func (d *dhcpClientDescriptor) create(ctx context.Context, key string) error {
	iface := ifaceOf(model.DHCPClientKey.Parse(key))
	idx, err := swIfIndex(d.ifs, iface)
	if err != nil {
		return err
	}
	return d.vpp.StartDHCPClient(ctx, idx, iface)
}

func (d *dhcpClientDescriptor) remove(ctx context.Context, key string) error {
	idx, err := swIfIndex(d.ifs, ifaceOf(model.DHCPClientKey.Parse(key)))
	if err != nil {
		return err
	}
	defer d.changed()
	return d.vpp.StopDHCPClient(ctx, idx)
}
