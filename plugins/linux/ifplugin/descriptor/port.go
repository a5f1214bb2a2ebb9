package descriptor

import (
	"context"
	"errors"
	"fmt"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/linux/ifplugin/ifaceidx"
	ifmodel "github.com/tenuto-dev/tenuto/plugins/linux/ifplugin/model"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
	nsmodel "github.com/tenuto-dev/tenuto/plugins/linux/nsplugin/model"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/linux/interfaces"
)

// A port is an interface that belongs to a bridge or a bond, its master. The agent takes no
// link out of a bridge or bond of another program. A bond sets its ports up, and the kernel
// sets them down when they leave; either way the port is then as its value says.

// PortName is the name of the descriptor of ports.
const PortName = "linux-interface-port"

// masterDependency is the label of the dependency of a port on its bridge or bond.
const masterDependency = "master-interface-exists"

type port struct {
	Deps
	owner
}

// NewPort returns the descriptor linux-interface-port.
func NewPort(deps Deps) *api.KVDescriptor {
	d := port{deps, owner{label: deps.Label}}
	return api.Adapt(&api.Descriptor[*interfaces.Interface, any]{
		Name:       PortName,
		Southbound: nsmodel.Southbound,
		KeySelector: func(key string) bool {
			_, ok := ifmodel.PortKey.Parse(key)
			return ok
		},
		ValueComparator: func(_ string, a, b *interfaces.Interface) bool {
			return a.GetMasterInterface() == b.GetMasterInterface()
		},
		Dependencies:  d.dependencies,
		CreateContext: d.create,
		// An update would leave the port in the former master if the new one refuses it.
		UpdateWithRecreate:   func(string, *interfaces.Interface, *interfaces.Interface, any) bool { return true },
		DeleteContext:        d.delete,
		RetrieveValueContext: d.retrieveValue,
	})
}

func (d port) dependencies(_ string, v *interfaces.Interface) []api.Dependency {
	return []api.Dependency{{Label: masterDependency, Key: ifmodel.InterfaceModel.KeyFor(v.GetMasterInterface())}}
}

// find returns the link and its wanted master.
func (d port) find(ctx context.Context, v *interfaces.Interface) (link, master *ifaceidx.Place, err error) {
	if master, err = ifaceidx.Find(ctx, d.Index, d.Namespaces, v.GetMasterInterface()); err != nil {
		return nil, nil, err
	}
	if link, err = ifaceidx.Find(ctx, d.Index, d.Namespaces, v.GetName()); err != nil {
		closeHandle(master)
		return nil, nil, err
	}
	return link, master, nil
}

// create makes the link a port of its master.
func (d port) create(ctx context.Context, _ string, v *interfaces.Interface) (any, error) {
	link, master, err := d.find(ctx, v)
	if err != nil {
		return nil, err
	}
	defer closeHandle(master)
	defer closeHandle(link)
	switch {
	case link.Namespace() != master.Namespace():
		return nil, fmt.Errorf("interface %q and its master %q are in different network namespaces", v.GetName(), v.GetMasterInterface())
	case !netlinkapi.TakesPorts(master.Link.Kind):
		return nil, fmt.Errorf("interface %q (link %q) is no bridge or bond", v.GetMasterInterface(), master.Link.Name)
	case link.Link.Master == master.Link.Index:
		return nil, nil
	}
	if err := d.checkOwner(ctx, link); err != nil {
		return nil, err
	}
	return nil, explain(d.move(ctx, link, v.GetName(), master.Link))
}

// checkOwner refuses to take a link from a master that is not the agent's.
func (d port) checkOwner(ctx context.Context, link *ifaceidx.Place) error {
	if link.Link.Master == 0 {
		return nil
	}
	before, err := link.LinkByIndex(ctx, link.Link.Master)
	if err != nil {
		return ignoreGone(err)
	}
	if _, _, ours := d.parse(before.Alias); ours {
		return nil
	}
	return fmt.Errorf("link %q belongs to %q, which is not the agent's: take it out of there first", link.Link.Name, before.Name)
}

// move changes the master of an interface, and adapts links whose MTU follows: a bond changes the MTU of its
// ports, and ports change the MTU of their bridge.
func (d port) move(ctx context.Context, p *ifaceidx.Place, name string, master netlinkapi.Link) error {
	if err := setMaster(ctx, p, master); err != nil {
		return err
	}
	for _, bridge := range []int{p.Link.Master, master.Index} {
		if err := d.followBridge(ctx, p.Handle, name, bridge); err != nil {
			return err
		}
	}
	now, err := p.LinkByIndex(ctx, p.Link.Index)
	if err != nil || now.MTU == p.Link.MTU {
		return err
	}
	return d.followMTU(ctx, &place{p.Handle, now}, name, now.MTU)
}

// setMaster changes the master of a link, which stays up or down.
func setMaster(ctx context.Context, p *ifaceidx.Place, master netlinkapi.Link) (err error) {
	if master.Kind == netlinkapi.KindBond && p.Link.Up { // refuses ports that are up
		if err := p.SetUp(ctx, p.Link.Index, false); err != nil {
			return err
		}
	}
	undo := context.WithoutCancel(ctx)
	defer func() {
		now, readErr := p.LinkByIndex(undo, p.Link.Index)
		if readErr != nil {
			err = errors.Join(err, readErr)
		} else if now.Up != p.Link.Up {
			err = errors.Join(err, p.SetUp(undo, p.Link.Index, p.Link.Up))
		}
	}()
	return p.SetMaster(ctx, p.Link.Index, master.Index)
}

func (d port) delete(ctx context.Context, _ string, v *interfaces.Interface, _ any) error {
	link, master, err := d.find(ctx, v)
	if err != nil {
		return ignoreGone(err)
	}
	defer closeHandle(master)
	defer closeHandle(link)
	if link.Namespace() != master.Namespace() || link.Link.Master != master.Link.Index {
		return nil
	}
	return ignoreGone(d.move(ctx, link, v.GetName(), netlinkapi.Link{}))
}

func (d port) retrieveValue(ctx context.Context, _ string, last *interfaces.Interface, _ any) (*interfaces.Interface, any, bool, error) {
	link, master, err := d.find(ctx, last)
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
