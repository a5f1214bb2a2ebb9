package descriptor

import (
	"context"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/linux/ifplugin/ifaceidx"
	ifmodel "github.com/tenuto-dev/tenuto/plugins/linux/ifplugin/model"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
	nsmodel "github.com/tenuto-dev/tenuto/plugins/linux/nsplugin/model"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/linux/interfaces"
)

// An EXISTING interface is made and deleted by another process, in the namespace
// of the agent. The value waits until the link is there and running. The agent
// sets no alias on it, never sets it down, and gives back its MTU and its MAC
// address in the end.

// hostInterfaceDependency is the label of the dependency on the link.
const hostInterfaceDependency = "host-interface-exists"

type existing struct{ Deps }

func (existing) traits() traits { return traits{adopted: true} }

func (existing) check(v *interfaces.Interface) error {
	switch {
	case v.GetLink() != nil:
		return invalid("link", "not allowed for type EXISTING")
	case !nsmodel.IsOwn(v.GetNamespace()):
		return invalid("namespace", "not allowed for type EXISTING; such interfaces can only be in the namespace of the agent")
	}
	return nil
}

func (existing) dependencies(v *interfaces.Interface) []api.Dependency {
	return []api.Dependency{{Label: hostInterfaceDependency, Key: ifmodel.HostInterfaceKey.Key(hostName(v))}}
}

func (existing) sameLink(_, _ *interfaces.Interface) bool { return true }

// recognise: links without alias are recognised by their name only; see
// retrieval.existing.
func (existing) recognise(*interfaces.Interface, netlinkapi.Link, []string) bool { return false }

func (k existing) acquire(ctx context.Context, v *interfaces.Interface) (*place, error) {
	own, err := k.Namespaces.Open(ctx, nil)
	if err != nil {
		return nil, err
	}
	link, err := own.LinkByName(ctx, hostName(v))
	if err != nil {
		closeHandle(own)
		return nil, err
	}
	return &place{own, link}, nil
}

func (k existing) release(ctx context.Context, v *interfaces.Interface, meta ifaceidx.LinuxIfMetadata) error {
	p, err := k.locate(ctx, meta)
	if err != nil {
		return ignoreGone(err)
	}
	defer closePlace(p)
	return k.giveBack(ctx, p, v.GetName())
}
