package descriptor

import (
	"context"
	"errors"
	"fmt"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/linux/ifplugin/ifaceidx"
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
	link, err := h.LinkByName(ctx, loopbackName)
	if name, _, ours := k.parse(link.Alias); err == nil && ours && name != v.GetName() {
		err = api.Permanent(fmt.Errorf("%w: %s, as interface %q",
			ErrLoopbackAlreadyConfigured, nsmodel.Text(v.GetNamespace()), name))
	}
	if err == nil {
		link.Alias = k.alias(v.GetName())
		err = h.SetAlias(ctx, link.Index, link.Alias)
	}
	if err != nil {
		closeHandle(h)
		return nil, err
	}
	return &place{h, link}, nil
}

func (k loopback) release(ctx context.Context, v *interfaces.Interface, meta ifaceidx.LinuxIfMetadata) error {
	p, err := k.locate(ctx, meta)
	if err != nil {
		return ignoreGone(err)
	}
	defer closePlace(p)
	if name, _, ours := k.parse(p.link.Alias); !ours || name != v.GetName() {
		return nil
	}
	if err := k.giveBack(ctx, p, v.GetName()); err != nil {
		return err
	}
	return ignoreGone(p.SetAlias(ctx, p.link.Index, ""))
}
