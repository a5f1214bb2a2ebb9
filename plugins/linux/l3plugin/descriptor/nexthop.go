package descriptor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/tenuto-dev/tenuto/infra/idxmap"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/linux/ifplugin/ifaceidx"
	l3model "github.com/tenuto-dev/tenuto/plugins/linux/l3plugin/model"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
	nsmodel "github.com/tenuto-dev/tenuto/plugins/linux/nsplugin/model"
	l3 "github.com/tenuto-dev/tenuto/proto/ligato/linux/l3"
	namespace "github.com/tenuto-dev/tenuto/proto/ligato/linux/namespace"
)

// A nexthop object is known to the kernel by its number alone. It also says who made it: those
// of the agent carry its protocol number, and the others are left alone. It can be changed in
// place, and the routes through it follow; a group stays a group. With an object the kernel
// deletes the routes through it, so that these depend on it.

// NexthopName is the name of the descriptor of nexthop objects.
const NexthopName = "linux-nexthop"

// nexthopMember is the label of a dependency, before the name of the member.
const nexthopMember = "member-exists-"

type nexthop struct{ Deps }

type nexthopKV = api.KV[*l3.Nexthop, NexthopMetadata]

// NexthopMetadata says where a nexthop object is.
type NexthopMetadata struct {
	Namespace *namespace.NetNamespace // nil: the agent's own
	ID        uint32
	Interface string // logical name; empty: the object has none
}

// NexthopsByID finds nexthop objects by their place; see NexthopPlaceIn.
var NexthopsByID = idxmap.Index[NexthopMetadata, NexthopPlace]{
	Name: "id",
	Keys: func(m NexthopMetadata) []NexthopPlace { return []NexthopPlace{NexthopPlaceIn(m.Namespace, m.ID)} },
}

// NexthopsByInterface finds nexthop objects by the logical name of their interface.
var NexthopsByInterface = idxmap.Index[NexthopMetadata, string]{
	Name: "interface",
	Keys: func(m NexthopMetadata) []string {
		if m.Interface == "" {
			return nil
		}
		return []string{m.Interface}
	},
}

// NexthopPlace is a number in a namespace.
type NexthopPlace struct {
	namespace string
	id        uint32
}

// NexthopPlaceIn returns the key in NexthopsByID of a number in a namespace; nil is the agent's
// own.
func NexthopPlaceIn(ns *namespace.NetNamespace, id uint32) NexthopPlace {
	return NexthopPlace{nsmodel.Text(ns), id}
}

// Nexthops returns the index of nexthop objects by name; an error if the descriptor is not
// registered.
type Nexthops func() (idxmap.Map[NexthopMetadata], error)

func nexthopMetadata(v *l3.Nexthop) NexthopMetadata {
	return NexthopMetadata{Namespace: v.GetNamespace(), ID: v.GetId(), Interface: v.GetOutgoingInterface()}
}

// NewNexthop returns the descriptor linux-nexthop.
func NewNexthop(deps Deps) *api.KVDescriptor {
	d := nexthop{deps}
	return api.Adapt(api.Describe(l3model.NexthopModel, api.Descriptor[*l3.Nexthop, NexthopMetadata]{
		Name:            NexthopName,
		Southbound:      nsmodel.Southbound,
		WithMetadata:    true,
		ValueComparator: func(_ string, a, b *l3.Nexthop) bool { return sameNexthop(a, b) },
		Validate:        validateNexthop,
		Dependencies:    nexthopDependencies,
		Identities: func(_ string, v *l3.Nexthop) []string {
			return []string{fmt.Sprintf("nexthop/%s/%d", nsmodel.Text(v.GetNamespace()), v.GetId())}
		},
		UpdateWithRecreate: func(_ string, a, b *l3.Nexthop, _ NexthopMetadata) bool {
			return !nsmodel.Equal(a.GetNamespace(), b.GetNamespace()) || a.GetId() != b.GetId() || isGroup(a) != isGroup(b)
		},
		CreateContext:        d.create,
		UpdateContext:        d.update,
		DeleteContext:        d.delete,
		RetrieveContext:      d.retrieve,
		RetrieveValueContext: d.retrieveValue,
		RetrieveDependencies: []string{nsmodel.MicroserviceDescriptor, ifaceidx.Descriptor},
		ConcurrentRetrieve:   true,
	}))
}

func isGroup(v *l3.Nexthop) bool { return len(v.GetMembers()) > 0 }

// isNexthop6 reports whether the object is for routes of IPv6.
func isNexthop6(v *l3.Nexthop) bool { return v.GetIpv6() || address(v.GetGwAddr()).Is6() }

func sameNexthop(a, b *l3.Nexthop) bool {
	samePlace := a.GetName() == b.GetName() && a.GetId() == b.GetId() && nsmodel.Equal(a.GetNamespace(), b.GetNamespace())
	sameWay := a.GetBlackhole() == b.GetBlackhole() && isNexthop6(a) == isNexthop6(b) && nexthopHop(a) == nexthopHop(b)
	return samePlace && sameWay && slices.Equal(sortedMembers(a), sortedMembers(b))
}

// nexthopHop is the next hop of an object; empty for groups and blackholes.
func nexthopHop(v *l3.Nexthop) hop {
	return hop{v.GetOutgoingInterface(), address(v.GetGwAddr()), v.GetOnLink(), 0, netlinkapi.LabelsOf(v.GetMplsLabels())}
}

// member is a member of a group.
type member struct {
	name   string
	weight uint32
}

func sortedMembers(v *l3.Nexthop) []member {
	var all []member
	for _, m := range v.GetMembers() {
		all = append(all, member{m.GetNexthop(), max(m.GetWeight(), 1)})
	}
	slices.SortFunc(all, func(a, b member) int { return cmp.Compare(a.name, b.name) })
	return all
}

func validateNexthop(_ string, v *l3.Nexthop) error {
	var errs []error
	if err := nsmodel.Validate(v.GetNamespace()); err != nil {
		errs = append(errs, invalid("namespace", "%w", err))
	}
	switch {
	case isGroup(v):
		errs = append(errs, onlyOf(v, "members"), checkMembers(v))
	case v.GetBlackhole():
		errs = append(errs, onlyOf(v, "blackhole"))
	case v.GetOutgoingInterface() == "":
		errs = append(errs, invalid("outgoing_interface", "empty; expected the name of an interface, or blackhole, or members"))
	default:
		errs = append(errs, checkNexthopGateway(v), checkLabels("mpls_labels", v.GetMplsLabels()))
	}
	return errors.Join(errs...)
}

// onlyOf reports the fields that a group or a blackhole does not have; other says which it is.
func onlyOf(v *l3.Nexthop, other string) error {
	set := map[string]bool{
		"outgoing_interface": v.GetOutgoingInterface() != "", "gw_addr": v.GetGwAddr() != "", "on_link": v.GetOnLink(),
		"mpls_labels": len(v.GetMplsLabels()) > 0,
	}
	if isGroup(v) {
		set["blackhole"], set["ipv6"] = v.GetBlackhole(), v.GetIpv6()
	}
	var errs []error
	for _, field := range []string{"outgoing_interface", "gw_addr", "on_link", "mpls_labels", "blackhole", "ipv6"} {
		if set[field] {
			errs = append(errs, invalid(field, "not allowed together with %s", other))
		}
	}
	return errors.Join(errs...)
}

func checkMembers(v *l3.Nexthop) error {
	seen := map[string]bool{}
	for i, m := range v.GetMembers() {
		field := fmt.Sprintf("members[%d]", i)
		switch {
		case m.GetNexthop() == v.GetName():
			return invalid(field+".nexthop", "%q is the group itself", m.GetNexthop())
		case seen[m.GetNexthop()]:
			return invalid(field+".nexthop", "%q again; expected each once, with a weight", m.GetNexthop())
		}
		seen[m.GetNexthop()] = true
	}
	return nil
}

func checkNexthopGateway(v *l3.Nexthop) error {
	text := v.GetGwAddr()
	gw := address(text)
	switch {
	case text == "" && v.GetOnLink():
		return invalid("on_link", "not allowed without gw_addr")
	case text == "":
		return nil
	case !gw.IsValid() || gw.Zone() != "":
		return invalid("gw_addr", "%q; expected an IP address", text)
	case gw.Is4() && v.GetIpv6():
		return invalid("ipv6", "not allowed with an IPv4 gateway")
	}
	return nil
}

func nexthopDependencies(_ string, v *l3.Nexthop) []api.Dependency {
	deps := nsmodel.Dependencies(v.GetNamespace())
	for _, m := range v.GetMembers() {
		deps = append(deps, api.Dependency{Label: nexthopMember + m.GetNexthop(), Key: l3model.NexthopModel.KeyFor(m.GetNexthop())})
	}
	if v.GetOutgoingInterface() != "" {
		deps = append(deps, hopDependencies(nexthopHop(v), "")...)
	}
	return deps
}

// nexthopID returns the number of an object that a value in a namespace refers to.
func (d Deps) nexthopID(ctx context.Context, name string, in netlinkapi.Handle) (uint32, error) {
	all, err := d.Nexthops()
	if err != nil {
		return 0, err
	}
	meta, ok := all.Get(name)
	if !ok {
		return 0, fmt.Errorf("nexthop object %q is not configured: %w", name, netlinkapi.ErrNotFound)
	}
	if there, err := d.leads(ctx, meta.Namespace, in.Namespace()); err != nil {
		return 0, err
	} else if !there {
		return 0, fmt.Errorf("nexthop object %q %w", name, errApart)
	}
	return meta.ID, nil
}

// leads reports whether a reference is to the namespace.
func (d Deps) leads(ctx context.Context, ns *namespace.NetNamespace, to netlinkapi.NamespaceID) (bool, error) {
	h, err := d.Namespaces.Open(ctx, ns)
	if err != nil {
		return false, err
	}
	defer closeHandle(h)
	return h.Namespace() == to, nil
}

// nexthopNames returns the names of the objects in a namespace by their numbers.
func (d Deps) nexthopNames(ctx context.Context, in netlinkapi.NamespaceID) map[uint32]string {
	names := map[uint32]string{}
	all, err := d.Nexthops()
	if err != nil {
		return names
	}
	here := map[string]bool{} // references that lead there
	for name, meta := range all.All() {
		text := nsmodel.Text(meta.Namespace)
		there, known := here[text]
		if !known {
			there, _ = d.leads(ctx, meta.Namespace, in) // one that is gone does not
			here[text] = there
		}
		if there {
			names[meta.ID] = name
		}
	}
	return names
}

// nexthopName returns the name of an object, or one that no value has.
func nexthopName(names map[uint32]string, id uint32) string {
	if name := names[id]; name != "" {
		return name
	}
	return fmt.Sprintf("unknown nexthop object %d", id)
}
