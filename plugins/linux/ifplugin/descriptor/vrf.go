package descriptor

import (
	"context"
	"fmt"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/linux/ifplugin/ifaceidx"
	ifmodel "github.com/tenuto-dev/tenuto/plugins/linux/ifplugin/model"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
	nsmodel "github.com/tenuto-dev/tenuto/plugins/linux/nsplugin/model"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/linux/interfaces"
)

// The membership of an interface in a VRF: the VRF is the master of the link.
// Links of type EXISTING are put into their VRF by another process; the value
// exists once they are.

// VrfName is the name of the descriptor of memberships in VRFs.
const VrfName = "linux-interface-vrf"

// Labels of the dependencies of a membership.
const (
	vrfDeviceDependency   = "vrf-device-is-created"
	insertedIntoVrfByHost = "inserted-into-vrf-externally"
)

type vrf struct{ Deps }

// NewVrf returns the descriptor linux-interface-vrf.
func NewVrf(deps Deps) *api.KVDescriptor {
	d := vrf{deps}
	return api.Adapt(&api.Descriptor[*interfaces.Interface, any]{
		Name:       VrfName,
		Southbound: nsmodel.Southbound,
		KeySelector: func(key string) bool {
			_, _, ok := ifmodel.ParseVrfKey(key)
			return ok
		},
		ValueComparator:      func(_ string, a, b *interfaces.Interface) bool { return samePart(a, b) },
		Dependencies:         d.dependencies,
		CreateContext:        d.create,
		DeleteContext:        d.delete,
		RetrieveValueContext: d.retrieveValue,
	})
}

func (d vrf) dependencies(key string, v *interfaces.Interface) []api.Dependency {
	_, master, _ := ifmodel.ParseVrfKey(key)
	deps := []api.Dependency{{Label: vrfDeviceDependency, Key: ifmodel.InterfaceModel.KeyFor(master)}}
	if v.GetType() == interfaces.Interface_EXISTING {
		deps = append(deps, api.Dependency{Label: insertedIntoVrfByHost, AnyOf: api.AnyOfDependency{
			KeyPrefixes: []string{ifmodel.HostVrfKey.Prefix(v.GetHostIfName())},
		}})
	}
	return deps
}

// find returns the link and its wanted master.
func (d vrf) find(ctx context.Context, key string) (link, master *ifaceidx.Place, err error) {
	name, masterName, _ := ifmodel.ParseVrfKey(key)
	if master, err = ifaceidx.Find(ctx, d.Index, d.Namespaces, masterName); err != nil {
		return nil, nil, err
	}
	if link, err = ifaceidx.Find(ctx, d.Index, d.Namespaces, name); err != nil {
		closeHandle(master)
		return nil, nil, err
	}
	return link, master, nil
}

func (d vrf) create(ctx context.Context, key string, v *interfaces.Interface) (any, error) {
	link, master, err := d.find(ctx, key)
	if err != nil {
		return nil, err
	}
	defer closeHandle(master)
	defer closeHandle(link)
	switch {
	case link.Namespace() != master.Namespace():
		return nil, fmt.Errorf("interface %q and its VRF %q are in different network namespaces", v.GetName(), v.GetVrfMasterInterface())
	case link.Link.Master == master.Link.Index:
		return nil, nil
	case v.GetType() == interfaces.Interface_EXISTING:
		return nil, fmt.Errorf("link %q was not put into VRF %q, but into another one", link.Link.Name, master.Link.Name)
	case master.Link.Kind != netlinkapi.KindVRF:
		return nil, fmt.Errorf("link %q is no VRF", master.Link.Name)
	}
	return nil, link.SetMaster(ctx, link.Link.Index, master.Link.Index)
}

func (d vrf) delete(ctx context.Context, key string, v *interfaces.Interface, _ any) error {
	if v.GetType() == interfaces.Interface_EXISTING {
		return nil
	}
	link, master, err := d.find(ctx, key)
	if err != nil {
		return ignoreGone(err)
	}
	defer closeHandle(master)
	defer closeHandle(link)
	if link.Namespace() != master.Namespace() || link.Link.Master != master.Link.Index {
		return nil
	}
	return ignoreGone(link.SetMaster(ctx, link.Link.Index, 0))
}

func (d vrf) retrieveValue(ctx context.Context, key string, last *interfaces.Interface, _ any) (*interfaces.Interface, any, bool, error) {
	link, master, err := d.find(ctx, key)
	if err != nil {
		return nil, nil, false, ignoreGone(err)
	}
	defer closeHandle(master)
	defer closeHandle(link)
	if link.Namespace() != master.Namespace() || link.Link.Master != master.Link.Index {
		return nil, nil, false, nil
	}
	return last, nil, true, nil
}
