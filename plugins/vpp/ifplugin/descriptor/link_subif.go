package descriptor

import (
	"context"
	"errors"
	"fmt"

	"go.fd.io/govpp/api"
	"google.golang.org/protobuf/proto"

	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/ifaceidx"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/model"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/vppcalls"
	"github.com/tenuto-dev/tenuto/plugins/vpp/item"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

// A sub-interface gets the frames of its parent that have one VLAN tag with its
// number. It has the MAC address of the parent, comes after it and goes before
// it. VPP sets it up only while the parent is up (see subif_state.go). What happens
// to the VLAN tags can be changed at any time; VPP forgets the tags that an
// operation does not put on.

const maxVLAN = 4095

type subif struct {
	kindDefaults
	vpp *vppcalls.Calls
	ifs index
}

func (subif) traits() traits {
	return traits{
		packetMTU: true, initialMTU: noInitialMTU, link: func() proto.Message { return &interfaces.SubInterface{} },
	}
}

func (subif) check(i *interfaces.Interface) error {
	l := i.GetSub()
	var errs []error
	if l.GetParentName() == i.GetName() {
		errs = append(errs, invalid("sub.parent_name", "is the interface itself"))
	}
	op, known := tagsOf[l.GetTagRwOption()]
	switch {
	case !known:
		errs = append(errs, invalid("sub.tag_rw_option", "%s is unknown", l.GetTagRwOption()))
	case op.pops > 1:
		errs = append(errs, invalid("sub.tag_rw_option", "%s takes off %d tags, but frames of a sub-interface have one",
			l.GetTagRwOption(), op.pops))
	}
	for n, tag := range []uint32{l.GetTag1(), l.GetTag2()} {
		if n < op.pushes && tag > maxVLAN {
			errs = append(errs, invalid(fmt.Sprintf("sub.tag%d", n+1), "%d, expected at most %d", tag, maxVLAN))
		}
	}
	return errors.Join(errs...)
}

// tags are how many tags an operation takes off and puts on.
type tags struct{ pops, pushes int }

var tagsOf = map[interfaces.SubInterface_TagRewriteOptions]tags{
	interfaces.SubInterface_DISABLED: {0, 0}, interfaces.SubInterface_PUSH1: {0, 1}, interfaces.SubInterface_PUSH2: {0, 2},
	interfaces.SubInterface_POP1: {1, 0}, interfaces.SubInterface_POP2: {2, 0},
	interfaces.SubInterface_TRANSLATE11: {1, 1}, interfaces.SubInterface_TRANSLATE12: {1, 2},
	interfaces.SubInterface_TRANSLATE21: {2, 1}, interfaces.SubInterface_TRANSLATE22: {2, 2},
}

func (subif) dependencies(i *interfaces.Interface) []kvs.Dependency {
	dep := item.DependsOnInterface("parent-interface-exists", i.GetSub().GetParentName())
	return []kvs.Dependency{item.Needing(dep, "sub.parent_name", model.MAC("a sub-interface"), model.Main("a sub-interface"))}
}

func (subif) identities(i *interfaces.Interface) []string {
	return []string{identity("sub-interface", field{value: i.GetSub().GetParentName()}, field{value: i.GetSub().GetSubId()})}
}

func (k subif) sameLink(a, b *interfaces.Interface) bool {
	return k.inPlace(a, b) && rewriteOf(a) == rewriteOf(b)
}

func (subif) inPlace(a, b *interfaces.Interface) bool {
	x, y := a.GetSub(), b.GetSub()
	return x.GetParentName() == y.GetParentName() && x.GetSubId() == y.GetSubId()
}

// rewriteOf returns the operation on the tags, with the tags that it puts on. The
// operations have VPP's numbers.
func rewriteOf(i *interfaces.Interface) vppcalls.TagRewrite {
	l := i.GetSub()
	r := vppcalls.TagRewrite{Op: uint32(l.GetTagRwOption())}
	pushes := tagsOf[l.GetTagRwOption()].pushes
	if pushes > 0 {
		r.Dot1q, r.Tag1 = l.GetPushDot1Q(), l.GetTag1()
	}
	if pushes > 1 {
		r.Tag2 = l.GetTag2()
	}
	return r
}

func (k subif) create(ctx context.Context, i *interfaces.Interface, _ *vppcalls.MAC) (*ifaceidx.IfMeta, error) {
	m, l := &ifaceidx.IfMeta{SwIfIndex: vppcalls.NoInterface}, i.GetSub()
	parent, err := swIfIndex(k.ifs, l.GetParentName())
	if err != nil {
		return m, err
	}
	m.SwIfIndex, err = k.vpp.CreateSubif(ctx, parent, l.GetSubId())
	if errors.Is(err, api.VLAN_ALREADY_EXISTS) {
		taken := func(d vppcalls.Details) bool { return d.SubInterface && d.Parent == parent && d.SubID == l.GetSubId() }
		same := func(d vppcalls.Details) bool { return d.Encapsulation == vppcalls.VLAN(l.GetSubId()) }
		m.SwIfIndex, err = adoptWhere(ctx, k.vpp, taken, same, err)
		err = conflict(err, field{"sub.parent_name", l.GetParentName()}, field{"sub.sub_id", l.GetSubId()})
	}
	if err != nil {
		return m, err
	}
	// Without a rewrite too: VPP may have kept one of another interface with the index.
	if err := k.vpp.SetTagRewrite(ctx, m.SwIfIndex, rewriteOf(i)); err != nil {
		return m, errors.Join(fmt.Errorf("rewrite of tags: %w", err), k.vpp.DeleteSubif(ctx, m.SwIfIndex))
	}
	return m, nil
}

func (k subif) updateLink(ctx context.Context, _, i *interfaces.Interface, m *ifaceidx.IfMeta) error {
	if err := k.vpp.SetTagRewrite(ctx, m.SwIfIndex, rewriteOf(i)); err != nil {
		return fmt.Errorf("rewrite of tags: %w", err)
	}
	return nil
}

// created ignores the rewriting of tags, which is set after the creation.
func (k subif) created(_ vppcalls.Details, i, want *interfaces.Interface) bool {
	return k.inPlace(i, want)
}

// remove ends the rewrite of tags first: VPP would leave it to the next interface with the
// index.
func (k subif) remove(ctx context.Context, i *interfaces.Interface, m *ifaceidx.IfMeta) error {
	if rewriteOf(i) != (vppcalls.TagRewrite{}) {
		err := k.vpp.SetTagRewrite(ctx, m.SwIfIndex, vppcalls.TagRewrite{})
		if session.Gone(err) {
			return nil
		}
		if err != nil && !errors.Is(err, api.INVALID_INTERFACE) { // not Ethernet: it has none
			return fmt.Errorf("rewrite of tags: %w", err)
		}
	}
	return k.vpp.DeleteSubif(ctx, m.SwIfIndex)
}

func (subif) claims(d vppcalls.Details) bool { return d.SubInterface }

func (subif) read(_ context.Context, names func(uint32) string) (recogniser, error) {
	return func(d vppcalls.Details, _, i *interfaces.Interface, _ *ifaceidx.IfMeta) bool {
		l := &interfaces.SubInterface{
			ParentName: names(d.Parent), SubId: d.SubID,
			TagRwOption: interfaces.SubInterface_TagRewriteOptions(d.Rewrite.Op),
			PushDot1Q:   d.Rewrite.Dot1q, Tag1: d.Rewrite.Tag1, Tag2: d.Rewrite.Tag2,
		}
		i.Type, i.Link = interfaces.Interface_SUB_INTERFACE, &interfaces.Interface_Sub{Sub: l}
		kvs.AddUnmodeled(i, item.Unmodeled(d.Encapsulation, vppcalls.VLAN(d.SubID))...)
		if l.ParentName == "" {
			kvs.AddUnmodeled(i, fmt.Sprintf("parent %d, which has no tag", d.Parent))
		}
		return true
	}, nil
}
