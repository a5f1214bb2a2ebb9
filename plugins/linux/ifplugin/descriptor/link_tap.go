package descriptor

import (
	"context"
	"errors"
	"fmt"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/linux/ifplugin/ifaceidx"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
	vppifmodel "github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/model"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/linux/interfaces"
)

// A TAP_TO_VPP is the Linux side of a TAP. VPP makes it in the namespace of the
// agent and deletes it; the agent renames and moves it, and in the end brings
// it back under the name that VPP gave it. The alias remembers that name:
// "/vnf-agent/<label>/<name>/<TAP in VPP>/<name given by VPP>".

// vppTapDependency is the label of the dependency on the TAP in VPP.
const vppTapDependency = "vpp-tap-interface-exists"

type tap struct {
	Deps
	owner
}

func (tap) traits() traits { return traits{mtu: defaultMTU} }

func (k tap) check(v *interfaces.Interface) error {
	switch {
	case v.GetTap() == nil:
		return invalid("tap", "missing; expected the properties of type TAP_TO_VPP")
	case k.TAPs == nil:
		return invalid("type", "TAP_TO_VPP needs the plugin for VPP interfaces, which this agent does not have")
	}
	return nil
}

func (tap) dependencies(v *interfaces.Interface) []api.Dependency {
	return []api.Dependency{{Label: vppTapDependency, Key: vppifmodel.InterfaceModel.KeyFor(v.GetTap().GetVppTapIfName())}}
}

func (tap) sameLink(a, b *interfaces.Interface) bool {
	return a.GetTap().GetVppTapIfName() == b.GetTap().GetVppTapIfName()
}

func (tap) recognise(v *interfaces.Interface, link netlinkapi.Link, parts []string) bool {
	if link.Kind == netlinkapi.KindVeth || len(parts) != 2 {
		return false
	}
	v.Type = interfaces.Interface_TAP_TO_VPP
	v.Link = &interfaces.Interface_Tap{Tap: &interfaces.TapLink{VppTapIfName: parts[0]}}
	return true
}

func (k tap) acquire(ctx context.Context, v *interfaces.Interface) (*place, error) {
	name := v.GetTap().GetVppTapIfName()
	host, ok := k.TAPs.TapHostName(name)
	if !ok {
		return nil, fmt.Errorf("TAP %q is not known: %w", name, netlinkapi.ErrNotFound)
	}
	target, err := k.Namespaces.Ensure(ctx, v.GetNamespace())
	if err != nil {
		return nil, err
	}
	link, err := k.take(ctx, v, host, target)
	if err != nil {
		closeHandle(target)
		return nil, err
	}
	return &place{target, link}, nil
}

// take marks the link that VPP made and brings it into the target, under a
// temporary name because its own could be taken there.
func (k tap) take(ctx context.Context, v *interfaces.Interface, host string, target netlinkapi.Handle) (netlinkapi.Link, error) {
	own, err := k.Namespaces.Open(ctx, nil)
	if err != nil {
		return netlinkapi.Link{}, err
	}
	defer closeHandle(own)
	link, err := own.LinkByName(ctx, host)
	if err != nil {
		return link, err
	}
	link.Alias = k.alias(v.GetName(), v.GetTap().GetVppTapIfName(), host)
	if err := own.SetAlias(ctx, link.Index, link.Alias); err != nil || own.Namespace() == target.Namespace() {
		return link, err
	}
	if err := own.SetUp(ctx, link.Index, false); err != nil {
		return link, err
	}
	temporary := k.temporary(v.GetName())
	if err := own.Rename(ctx, link.Index, temporary); err != nil {
		return link, err
	}
	if err := own.Move(ctx, link.Index, target); err != nil {
		undo := context.WithoutCancel(ctx)
		return link, errors.Join(err, own.Rename(undo, link.Index, host), own.SetAlias(undo, link.Index, ""))
	}
	return target.LinkByName(ctx, temporary)
}

func (k tap) release(ctx context.Context, v *interfaces.Interface, meta ifaceidx.LinuxIfMetadata) error {
	own, err := k.Namespaces.Open(ctx, nil)
	if err != nil {
		return err
	}
	defer closeHandle(own)
	p, err := k.locate(ctx, meta)
	if err != nil {
		return ignoreGone(err)
	}
	defer closePlace(p)
	_, parts, ok := k.parse(p.link.Alias)
	if !ok || len(parts) != 2 {
		return nil // another process took it over
	}
	if err := k.giveBack(ctx, p, v.GetName()); err != nil {
		return err
	}
	if err := p.SetUp(ctx, p.link.Index, false); err != nil {
		return ignoreGone(err)
	}
	if err := p.Rename(ctx, p.link.Index, parts[1]); err != nil {
		return ignoreGone(err)
	}
	if err := p.SetAlias(ctx, p.link.Index, ""); err != nil {
		return ignoreGone(err)
	}
	if p.Namespace() == own.Namespace() {
		return flush(ctx, p)
	}
	return ignoreGone(p.Move(ctx, p.link.Index, own))
}
