package descriptor

import (
	"context"
	"fmt"

	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/model"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/vppcalls"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

// An unnumbered interface borrows the addresses of another one, which must have
// at least one and be in the same VRF tables. The borrowing is derived from the
// interface, which exists without it too; it ends before the lender loses its
// last address.

type unnumberedDescriptor struct {
	vpp *vppcalls.Calls
	ifs index
}

// NewUnnumbered describes interfaces that borrow addresses.
func NewUnnumbered(vpp *vppcalls.Calls, ifs index) *kvs.KVDescriptor {
	d := &unnumberedDescriptor{vpp, ifs}
	return kvs.Adapt(&kvs.Descriptor[*interfaces.Interface_Unnumbered, kvs.Metadata]{
		Name:          UnnumberedName,
		Southbound:    Southbound,
		KeySelector:   model.UnnumberedKey.Matches,
		Dependencies:  d.dependencies,
		CreateContext: d.create,
		DeleteContext: d.remove,
	})
}

func (d *unnumberedDescriptor) dependencies(key string, u *interfaces.Interface_Unnumbered) []kvs.Dependency {
	iface, _ := unnumberedInterface(key)
	return []kvs.Dependency{
		{
			Label: "unnumbered-interface-has-IP", // configured or leased
			AnyOf: kvs.AnyOfDependency{KeyPrefixes: []string{model.AddressKey.Prefix(u.GetInterfaceWithIp())}},
		},
		{
			Label: "interface-assigned-to-vrf-table",
			AnyOf: kvs.AnyOfDependency{KeyPrefixes: []string{model.VrfKey.Prefix(iface)}},
		},
	}
}

func unnumberedInterface(key string) (string, error) {
	args, ok := model.UnnumberedKey.Parse(key)
	if !ok {
		return "", fmt.Errorf("%q is not the key of an unnumbered interface", key)
	}
	return args[0], nil
}

func (d *unnumberedDescriptor) create(ctx context.Context, key string, u *interfaces.Interface_Unnumbered) (kvs.Metadata, error) {
	iface, err := unnumberedInterface(key)
	if err != nil {
		return nil, err
	}
	idx, err := swIfIndex(d.ifs, iface)
	if err != nil {
		return nil, err
	}
	lender, err := swIfIndex(d.ifs, u.GetInterfaceWithIp())
	if err != nil {
		return nil, err
	}
	return nil, d.vpp.SetUnnumbered(ctx, idx, lender)
}

func (d *unnumberedDescriptor) remove(ctx context.Context, key string, _ *interfaces.Interface_Unnumbered, _ kvs.Metadata) error {
	iface, err := unnumberedInterface(key)
	if err != nil {
		return err
	}
	idx, err := swIfIndex(d.ifs, iface)
	if err != nil {
		return err
	}
	return d.vpp.UnsetUnnumbered(ctx, idx)
}
