package descriptor

import (
	"cmp"
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

// A LOOPBACK is the "lo" that every namespace has. It is never made or deleted;
// the alias reports that it is configured. In the end it is up or down, and has the MTU, as
// before.

// ErrLoopbackAlreadyConfigured: there is one loopback in a namespace, so there
// can be one item for it. Repeating does not help.
var ErrLoopbackAlreadyConfigured = errors.New("the loopback of the namespace is configured already")

const (
	loopbackName = "lo"
	loopbackMTU  = 65536
)

type loopback struct {
	Deps
	owner
}

func (loopback) traits() traits {
	return traits{adopted: true, mtu: loopbackMTU, host: loopbackName, noPort: true}
}

func (loopback) check(v *interfaces.Interface) error {
	switch {
	case v.GetLink() != nil:
		return invalid("link", "not allowed for type LOOPBACK")
	case v.GetPhysAddress() != "":
		return invalid("phys_address", "not allowed for type LOOPBACK")
	}
	return nil
}

func (loopback) dependencies(*interfaces.Interface) []api.Dependency { return nil }
func (loopback) sameLink(_, _ *interfaces.Interface) bool            { return true }

func (loopback) recognise(v *interfaces.Interface, link netlinkapi.Link, parts []string) bool {
	if !link.Loopback || len(parts) != 0 {
		return false
	}
	v.Type = interfaces.Interface_LOOPBACK
	return true
}

func (k loopback) acquire(ctx context.Context, v *interfaces.Interface) (*place, error) {
	h, err := k.Namespaces.Ensure(ctx, v.GetNamespace())
	if err != nil {
		return nil, err
	}
	link, err := h.LinkByName(loopbackName)
	if name, _, ours := k.parse(link.Alias); err == nil && ours && name != v.GetName() {
		err = api.Permanent(fmt.Errorf("%w: %s, as interface %q",
			ErrLoopbackAlreadyConfigured, nsmodel.Text(v.GetNamespace()), name))
	}
	if err == nil {
		k.rememberLoopback(h, v, link)
		link.Alias = k.alias(v.GetName())
		err = h.SetAlias(link.Index, link.Alias)
	}
	if err != nil {
		closeHandle(h)
		return nil, err
	}
	return &place{h, link}, nil
}

// Properties of the loopback that an item changes, as Former has them.
const (
	loopbackUp        = "up"
	loopbackMTUBefore = "mtu"
)

// rememberLoopback records what the properties are that the item changes.
func (k loopback) rememberLoopback(h netlinkapi.Handle, v *interfaces.Interface, link netlinkapi.Link) {
	lo := linkID{h.Namespace(), link.Index}
	remember := func(property string, now, want int) {
		k.Former.remember(ifmodel.SysctlKey.Key(property, v.GetName()), lo, property, now, want)
	}
	remember(loopbackUp, asNumber(link.Up), asNumber(v.GetEnabled()))
	remember(loopbackMTUBefore, link.MTU, cmp.Or(int(v.GetMtu()), link.MTU))
}

func asNumber(on bool) int {
	if on {
		return 1
	}
	return 0
}

func (k loopback) release(ctx context.Context, v *interfaces.Interface, meta ifaceidx.LinuxIfMetadata) error {
	p, err := k.locate(ctx, meta)
	if ignoreGone(err) != nil {
		return err
	}
	if err == nil {
		defer closePlace(p)
		if name, _, ours := k.parse(p.link.Alias); ours && name == v.GetName() {
			err = errors.Join(k.restore(p, v), p.SetAlias(p.link.Index, ""))
		}
	}
	if ignoreGone(err) != nil {
		return err
	}
	k.Former.forget(ifmodel.SysctlKey.Key(loopbackUp, v.GetName()))
	k.Former.forget(ifmodel.SysctlKey.Key(loopbackMTUBefore, v.GetName()))
	return nil
}

// restore makes the link what it was before.
func (k loopback) restore(p *place, v *interfaces.Interface) error {
	lo := linkID{p.Namespace(), p.link.Index}
	if mtu, known := k.Former.of(ifmodel.SysctlKey.Key(loopbackMTUBefore, v.GetName()), lo); known && mtu != p.link.MTU {
		if err := p.SetMTU(p.link.Index, mtu); err != nil {
			return err
		}
	}
	up, known := k.Former.of(ifmodel.SysctlKey.Key(loopbackUp, v.GetName()), lo)
	if known && (up != 0) != p.link.Up {
		return p.SetUp(p.link.Index, up != 0)
	}
	return nil
}
