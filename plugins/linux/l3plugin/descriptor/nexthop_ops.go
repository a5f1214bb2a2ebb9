package descriptor

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	l3model "github.com/tenuto-dev/tenuto/plugins/linux/l3plugin/model"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
	nsmodel "github.com/tenuto-dev/tenuto/plugins/linux/nsplugin/model"
	l3 "github.com/tenuto-dev/tenuto/proto/ligato/linux/l3"
	namespace "github.com/tenuto-dev/tenuto/proto/ligato/linux/namespace"
)

// kernelNexthop converts a value.
func (d nexthop) kernelNexthop(ctx context.Context, h netlinkapi.Handle, v *l3.Nexthop) (netlinkapi.Nexthop, error) {
	n := netlinkapi.Nexthop{
		ID: v.GetId(), Blackhole: v.GetBlackhole(), IPv6: isNexthop6(v) && !isGroup(v), Protocol: netlinkapi.ProtocolAgent,
	}
	for _, m := range v.GetMembers() {
		id, err := d.nexthopID(ctx, m.GetNexthop(), h)
		if err != nil {
			return n, err
		}
		n.Members = append(n.Members, netlinkapi.NexthopMember{ID: id, Weight: max(m.GetWeight(), 1)})
	}
	if v.GetOutgoingInterface() == "" {
		return n, nil
	}
	p, err := d.find(ctx, v.GetOutgoingInterface())
	if err != nil {
		return n, err
	}
	defer closeHandle(p)
	if p.Namespace() != h.Namespace() {
		return n, fmt.Errorf("interface %q %w than the nexthop object", v.GetOutgoingInterface(), errApart)
	}
	way := nexthopHop(v)
	n.NextHop = netlinkapi.NextHop{Link: p.Link.Index, Gateway: way.gateway, OnLink: way.onLink, Labels: way.labels}
	return n, nil
}

func (d nexthop) create(ctx context.Context, _ string, v *l3.Nexthop) (NexthopMetadata, error) {
	return d.set(ctx, v, d.Namespaces.Ensure, func(h netlinkapi.Handle, n netlinkapi.Nexthop) error {
		err := h.AddNexthop(ctx, n)
		if errors.Is(err, netlinkapi.ErrExists) {
			return takeOverNexthop(ctx, h, n)
		}
		return err
	})
}

func (d nexthop) update(ctx context.Context, _ string, _, v *l3.Nexthop, _ NexthopMetadata) (NexthopMetadata, error) {
	return d.set(ctx, v, d.Namespaces.Open, func(h netlinkapi.Handle, n netlinkapi.Nexthop) error { return h.ReplaceNexthop(ctx, n) })
}

func (d nexthop) set(ctx context.Context, v *l3.Nexthop, open opener, change func(netlinkapi.Handle, netlinkapi.Nexthop) error) (NexthopMetadata, error) {
	h, err := open(ctx, v.GetNamespace())
	if err != nil {
		return NexthopMetadata{}, err
	}
	defer closeHandle(h)
	n, err := d.kernelNexthop(ctx, h, v)
	if err == nil {
		err = change(h, n)
	}
	return nexthopMetadata(v), explain(err)
}

// takeOverNexthop makes a static object of another program the agent's that is exactly the
// desired one. The error is then api.ErrFound.
func takeOverNexthop(ctx context.Context, h netlinkapi.Handle, n netlinkapi.Nexthop) error {
	have, err := findNexthop(ctx, h, n.ID)
	if err != nil {
		return err
	}
	if same := have.alike(n); !same || have.Protocol == netlinkapi.ProtocolAgent || !have.Protocol.Static() {
		return fmt.Errorf("there is another nexthop object %d in the namespace, of another item or program (protocol %d): %w",
			n.ID, have.Protocol, netlinkapi.ErrExists)
	}
	if err := h.ReplaceNexthop(ctx, n); err != nil {
		return err
	}
	return api.ErrFound
}

// foundNexthop is an object in the kernel.
type foundNexthop struct{ netlinkapi.Nexthop }

// alike reports whether another object differs in nothing but who made it.
func (f foundNexthop) alike(n netlinkapi.Nexthop) bool {
	f.Protocol = n.Protocol
	return f.Equal(n)
}

func findNexthop(ctx context.Context, h netlinkapi.Handle, id uint32) (foundNexthop, error) {
	all, err := h.Nexthops(ctx)
	if err != nil {
		return foundNexthop{}, err
	}
	at := slices.IndexFunc(all, func(n netlinkapi.Nexthop) bool { return n.ID == id })
	if at < 0 {
		return foundNexthop{}, netlinkapi.ErrNotFound
	}
	return foundNexthop{all[at]}, nil
}

// delete removes the object unless another program has replaced it.
func (d nexthop) delete(ctx context.Context, _ string, v *l3.Nexthop, _ NexthopMetadata) error {
	h, err := d.Namespaces.Open(ctx, v.GetNamespace())
	if err != nil {
		return ignoreGone(err)
	}
	defer closeHandle(h)
	have, err := findNexthop(ctx, h, v.GetId())
	if err != nil {
		return ignoreGone(err)
	}
	if have.Protocol != netlinkapi.ProtocolAgent {
		return nil
	}
	return ignoreGone(h.DeleteNexthop(ctx, v.GetId()))
}

// retrieve reads the nexthop objects of all namespaces that may have some.
func (d nexthop) retrieve(ctx context.Context, correlate []nexthopKV) ([]nexthopKV, error) {
	r := nexthopRetrieval{nexthop: d}
	var namespaces []*namespace.NetNamespace
	for _, kv := range correlate {
		r.wanted, namespaces = append(r.wanted, kv.Value), append(namespaces, kv.Value.GetNamespace())
	}
	err := d.visitAll(ctx, namespaces, func(ns *namespace.NetNamespace, h netlinkapi.Handle) error { return r.read(ctx, ns, h) })
	return r.found, err
}

// nexthopRetrieval is what was read so far.
type nexthopRetrieval struct {
	nexthop
	wanted []*l3.Nexthop
	found  []nexthopKV
}

func (r *nexthopRetrieval) read(ctx context.Context, ns *namespace.NetNamespace, h netlinkapi.Handle) error {
	all, err := h.Nexthops(ctx)
	if err != nil || len(all) == 0 {
		return err
	}
	wanted, names := r.wantedIn(ctx, h.Namespace()), map[uint32]string{}
	for id, v := range wanted {
		names[id] = v.GetName()
	}
	links := r.names(ctx, h.Namespace())
	for _, n := range all {
		v, want := nexthopValue(n, ns, links, names), wanted[n.ID]
		if want != nil {
			v.Namespace = want.GetNamespace()
		}
		switch {
		case want != nil && sameNexthop(v, want): // of the agent, or to be taken over
			v = want
		case n.Protocol != netlinkapi.ProtocolAgent:
			continue
		}
		r.found = append(r.found, nexthopKV{Key: l3model.NexthopModel.Key(v), Value: v, Metadata: nexthopMetadata(v), Origin: api.FromNB})
	}
	return nil
}

// wantedIn returns the values in a namespace by their numbers.
func (r *nexthopRetrieval) wantedIn(ctx context.Context, in netlinkapi.NamespaceID) map[uint32]*l3.Nexthop {
	here := map[uint32]*l3.Nexthop{}
	for _, v := range r.wanted {
		if here[v.GetId()] != nil {
			continue
		}
		if there, err := r.leads(ctx, v.GetNamespace(), in); err == nil && there {
			here[v.GetId()] = v
		}
	}
	return here
}

// nexthopValue is the inverse of kernelNexthop; links has the names of interfaces by link,
// names the names of objects by number.
func nexthopValue(n netlinkapi.Nexthop, ns *namespace.NetNamespace, links map[int]string, names map[uint32]string) *l3.Nexthop {
	v := &l3.Nexthop{
		Name: nexthopName(names, n.ID), Namespace: ns, Id: n.ID, Blackhole: n.Blackhole, Ipv6: n.IPv6, OnLink: n.OnLink,
		OutgoingInterface: links[n.Link], MplsLabels: n.Labels.Numbers(),
	}
	if names[n.ID] == "" {
		v.Name += " in " + nsmodel.Text(ns)
	}
	if n.Link != 0 && v.GetOutgoingInterface() == "" {
		v.OutgoingInterface = fmt.Sprintf("unknown interface with index %d", n.Link)
	}
	if n.Gateway.IsValid() {
		v.GwAddr = n.Gateway.String()
	}
	for _, m := range n.Members {
		v.Members = append(v.Members, &l3.Nexthop_Member{Nexthop: nexthopName(names, m.ID), Weight: m.Weight})
	}
	return v
}

func (d nexthop) retrieveValue(ctx context.Context, _ string, last *l3.Nexthop, meta NexthopMetadata) (*l3.Nexthop, NexthopMetadata, bool, error) {
	h, err := d.Namespaces.Open(ctx, last.GetNamespace())
	if err != nil {
		return nil, meta, false, ignoreGone(err)
	}
	defer closeHandle(h)
	have, err := findNexthop(ctx, h, last.GetId())
	if err != nil {
		return nil, meta, false, ignoreGone(err)
	}
	names := d.nexthopNames(ctx, h.Namespace())
	names[last.GetId()] = last.GetName()
	v := nexthopValue(have.Nexthop, last.GetNamespace(), d.names(ctx, h.Namespace()), names)
	if sameNexthop(v, last) {
		v = last
	} else if have.Protocol != netlinkapi.ProtocolAgent {
		return nil, meta, false, nil // of another program
	}
	return v, nexthopMetadata(v), true, nil
}
