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

// A VETH is one end of a pair. The kernel makes and deletes both ends at once,
// but they are two values, each waiting for the other. So an end without a
// value, while the other end has one, is parked: it is in the namespace of the
// agent, down, under its temporary name. The first value to come makes the pair
// with both ends parked; the last one to be deleted deletes the pair because it
// finds the other end parked. Aliases identify the ends:
// "/vnf-agent/<label>/<name>/<name of the other end>".

// vethPeerDependency is the label of the dependency on the other end.
const vethPeerDependency = "veth-peer-exists"

type veth struct {
	Deps
	owner
}

func (veth) traits() traits { return traits{mtu: defaultMTU} }

func (veth) check(v *interfaces.Interface) error {
	if v.GetVeth() == nil {
		return invalid("veth", "missing; expected the properties of the VETH pair")
	}
	peer := v.GetVeth().GetPeerIfName()
	if err := ifmodel.CheckName(peer); err != nil {
		return invalid("veth.peer_if_name", "%w; expected the name of the other end", err)
	}
	if peer == v.GetName() {
		return invalid("veth.peer_if_name", "%q is the interface itself; expected the name of the other end", peer)
	}
	return nil
}

func (veth) dependencies(v *interfaces.Interface) []api.Dependency {
	return []api.Dependency{{Label: vethPeerDependency, Key: ifmodel.InterfaceModel.KeyFor(v.GetVeth().GetPeerIfName())}}
}

func (veth) sameLink(a, b *interfaces.Interface) bool {
	return a.GetVeth().GetPeerIfName() == b.GetVeth().GetPeerIfName()
}

func (k veth) recognise(v *interfaces.Interface, link netlinkapi.Link, parts []string) bool {
	if link.Kind != netlinkapi.KindVeth || len(parts) != 1 {
		return false
	}
	v.Type = interfaces.Interface_VETH
	v.Link = &interfaces.Interface_Veth{Veth: &interfaces.VethLink{PeerIfName: parts[0]}}
	return true
}

func (k veth) acquire(ctx context.Context, v *interfaces.Interface) (*place, error) {
	target, err := k.Namespaces.Ensure(ctx, v.GetNamespace())
	if err != nil {
		return nil, err
	}
	link, err := k.parked(ctx, v, target)
	if err != nil {
		closeHandle(target)
		return nil, err
	}
	return &place{target, link}, nil
}

// parked returns the parked end of the value, brought into the target.
func (k veth) parked(ctx context.Context, v *interfaces.Interface, target netlinkapi.Handle) (netlinkapi.Link, error) {
	none := netlinkapi.Link{}
	own, err := k.Namespaces.Open(ctx, nil)
	if err != nil {
		return none, err
	}
	defer closeHandle(own)
	link, err := k.end(ctx, own, v.GetName(), v.GetVeth().GetPeerIfName())
	if err != nil || own.Namespace() == target.Namespace() {
		return link, err
	}
	if err := own.Move(ctx, link.Index, target); err != nil {
		return none, errors.Join(err, k.abandon(context.WithoutCancel(ctx), own, v, link))
	}
	return target.LinkByName(ctx, link.Name)
}

// abandon deletes the parked end of a value that could not be configured,
// unless the other end is in use.
func (k veth) abandon(ctx context.Context, own netlinkapi.Handle, v *interfaces.Interface, link netlinkapi.Link) error {
	if _, inUse := k.Index.Get(v.GetVeth().GetPeerIfName()); inUse {
		return nil
	}
	return ignoreGone(own.DeleteLink(ctx, link.Index))
}

// end returns the parked end, making the pair if there is none.
func (k veth) end(ctx context.Context, own netlinkapi.Handle, name, peer string) (netlinkapi.Link, error) {
	link, err := own.LinkByName(ctx, k.temporary(name))
	if err == nil && k.usable(ctx, own, link, name, peer) {
		return link, nil
	}
	if err != nil && !errors.Is(err, netlinkapi.ErrNotFound) {
		return link, err
	}
	if err := k.checkPeer(ctx, peer, name); err != nil {
		return link, err
	}
	for _, leftover := range []string{name, peer} {
		if err := k.clear(ctx, own, k.temporary(leftover)); err != nil {
			return link, err
		}
	}
	if err := own.AddVeth(ctx, k.temporary(name), k.temporary(peer)); err != nil {
		return link, err
	}
	link, err = k.mark(ctx, own, name, peer)
	if err != nil {
		return link, errors.Join(err, k.clear(context.WithoutCancel(ctx), own, k.temporary(name)))
	}
	return link, nil
}

// usable reports whether a parked end is one of this pair, and the pair whole.
func (k veth) usable(ctx context.Context, own netlinkapi.Handle, link netlinkapi.Link, name, peer string) bool {
	if link.Kind != netlinkapi.KindVeth || !k.is(link.Alias, name, peer) {
		return false
	}
	if _, exists := k.Index.Get(peer); exists {
		return true
	}
	other, err := own.LinkByName(ctx, k.temporary(peer))
	return err == nil && k.is(other.Alias, peer, name)
}

// checkPeer refuses to make a pair whose other end is in use elsewhere.
func (k veth) checkPeer(ctx context.Context, peer, name string) error {
	meta, exists := k.Index.Get(peer)
	if !exists {
		return nil
	}
	p, err := k.locate(ctx, meta)
	if netlinkapi.IsGone(err) {
		return nil
	}
	if err != nil {
		return err
	}
	defer closePlace(p)
	if _, parts, ok := k.parse(p.link.Alias); ok && len(parts) == 1 && parts[0] != name {
		return fmt.Errorf("the other end, %q, is connected to %q", peer, parts[0])
	}
	return fmt.Errorf("the other end, %q, exists without this end; it must be re-created", peer)
}

// clear deletes a link that the agent left behind under a temporary name.
func (k veth) clear(ctx context.Context, own netlinkapi.Handle, temporary string) error {
	link, err := own.LinkByName(ctx, temporary)
	if err != nil {
		return ignoreGone(err)
	}
	if _, _, ours := k.parse(link.Alias); !ours && !k.orphan(link) {
		return fmt.Errorf("link %q is not the agent's: %w", temporary, netlinkapi.ErrExists)
	}
	return ignoreGone(own.DeleteLink(ctx, link.Index))
}

// mark sets the aliases of a new pair and returns the end called name.
func (k veth) mark(ctx context.Context, own netlinkapi.Handle, name, peer string) (netlinkapi.Link, error) {
	other, err := own.LinkByName(ctx, k.temporary(peer))
	if err != nil {
		return other, err
	}
	link, err := own.LinkByName(ctx, k.temporary(name))
	if err != nil {
		return link, err
	}
	if err := own.SetAlias(ctx, link.Index, k.alias(name, peer)); err != nil {
		return link, err
	}
	link.Alias = k.alias(name, peer)
	return link, own.SetAlias(ctx, other.Index, k.alias(peer, name))
}

func (k veth) release(ctx context.Context, v *interfaces.Interface, meta ifaceidx.LinuxIfMetadata) error {
	own, err := k.Namespaces.Open(ctx, nil)
	if err != nil {
		return err
	}
	defer closeHandle(own)
	name, peer := v.GetName(), v.GetVeth().GetPeerIfName()
	other, err := own.LinkByName(ctx, k.temporary(peer))
	if err == nil && k.is(other.Alias, peer, name) {
		return ignoreGone(own.DeleteLink(ctx, other.Index)) // takes this end along
	}
	if err != nil && !errors.Is(err, netlinkapi.ErrNotFound) {
		return err
	}
	p, err := k.locate(ctx, meta)
	if err != nil {
		return ignoreGone(err)
	}
	defer closePlace(p)
	_, inUse := k.Index.Get(peer)
	parked := nsmodel.IsOwn(meta.Namespace) && meta.HostIfName == k.temporary(name)
	if !inUse || parked {
		return ignoreGone(p.DeleteLink(ctx, p.link.Index))
	}
	if err := k.giveBack(ctx, p, name); err != nil {
		return err
	}
	return k.park(ctx, p, own, k.temporary(name))
}

// park brings an end back to where it waits for its value.
func (k veth) park(ctx context.Context, p *place, own netlinkapi.Handle, temporary string) error {
	if err := p.SetUp(ctx, p.link.Index, false); err != nil {
		return ignoreGone(err)
	}
	if err := p.SetMaster(ctx, p.link.Index, 0); err != nil {
		return ignoreGone(err)
	}
	if err := p.Rename(ctx, p.link.Index, temporary); err != nil {
		return ignoreGone(err)
	}
	if p.Namespace() != own.Namespace() {
		return ignoreGone(p.Move(ctx, p.link.Index, own))
	}
	return flush(ctx, p)
}

// flush removes what a move would remove: the addresses.
func flush(ctx context.Context, p *place) error {
	addrs, err := p.Addresses(ctx)
	if err != nil {
		return err
	}
	for _, a := range addrs {
		if a.Link != p.link.Index {
			continue
		}
		if err := p.DeleteAddress(ctx, a); ignoreGone(err) != nil {
			return err
		}
	}
	return nil
}

// ignoreGone makes "already gone" a success.
func ignoreGone(err error) error {
	if netlinkapi.IsGone(err) {
		return nil
	}
	return err
}
