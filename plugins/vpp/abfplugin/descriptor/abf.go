// Package descriptor teaches the scheduler to handle policies of ACL-based forwarding and
// their use on interfaces.
package descriptor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"go.fd.io/govpp/api"

	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/abfplugin/model"
	"github.com/tenuto-dev/tenuto/plugins/vpp/abfplugin/vppcalls"
	acldescriptor "github.com/tenuto-dev/tenuto/plugins/vpp/aclplugin/descriptor"
	aclmodel "github.com/tenuto-dev/tenuto/plugins/vpp/aclplugin/model"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/ifaceidx"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ipconv"
	"github.com/tenuto-dev/tenuto/plugins/vpp/item"
	abf "github.com/tenuto-dev/tenuto/proto/ligato/vpp/abf"
)

// A policy sends the packets that an access control list permits along paths. It has a number
// that the user chooses, and no tag. VPP adds and removes paths while the policy is in use;
// for another list it has to be created again. VPP does not look whether the list exists, so
// the policy waits for it, and for the interfaces of its paths. Its interfaces are derived
// values; they must go before the policy does.

// Names of the descriptors.
const (
	ABFName          = "vpp-abf"
	ABFInterfaceName = "vpp-abf-to-interface"
)

// maxPaths is the largest number of paths that VPP accepts.
const maxPaths = 255

// concurrency is how many policies may be in flight at a time.
const concurrency = 64

// policyCalls is what policies need of VPP.
type policyCalls interface {
	AddPaths(ctx context.Context, p vppcalls.Policy) error
	RemovePaths(ctx context.Context, p vppcalls.Policy) error
	DeletePolicy(ctx context.Context, id uint32) error
	DumpPolicies(ctx context.Context) ([]vppcalls.Policy, error)
	DumpAttachments(ctx context.Context) ([]vppcalls.Attachment, error)
}

type abfDescriptor struct {
	vpp   policyCalls
	ifs   item.Interfaces
	lists acldescriptor.Lists
}

type abfKV = kvs.KV[*abf.ABF, kvs.Metadata]

// NewABF describes policies.
func NewABF(vpp policyCalls, ifs item.Interfaces, lists acldescriptor.Lists) *kvs.KVDescriptor {
	d := &abfDescriptor{vpp, ifs, lists}
	return kvs.Adapt(kvs.Describe(model.ABFModel, kvs.Descriptor[*abf.ABF, kvs.Metadata]{
		Name:               ABFName,
		Southbound:         item.Southbound,
		Validate:           validateABF,
		Dependencies:       abfDependencies,
		DerivedValues:      attachmentValues,
		ValueComparator:    sameABF,
		UpdateWithRecreate: func(_ string, old, v *abf.ABF, _ kvs.Metadata) bool { return !changeable(old, v) },
		CreateContext:      d.create,
		UpdateContext:      d.update,
		DeleteContext: func(ctx context.Context, _ string, v *abf.ABF, _ kvs.Metadata) error {
			return d.vpp.DeletePolicy(ctx, v.GetIndex())
		},
		RetrieveContext:      d.retrieve,
		RetrieveDependencies: []string{item.InterfaceName, acldescriptor.ACLName},
		ConcurrentRetrieve:   true,
		Concurrency:          concurrency,
	}))
}

func validateABF(_ string, v *abf.ABF) error {
	var errs []error
	if v.GetAclName() == "" {
		errs = append(errs, item.Invalid("acl_name", "empty, expected the name of an access control list"))
	}
	if n := len(v.GetForwardingPaths()); n == 0 || n > maxPaths {
		errs = append(errs, item.Invalid("forwarding_paths", "%d paths, expected 1 to %d", n, maxPaths))
	}
	seen := map[pathID]bool{}
	for n, p := range v.GetForwardingPaths() {
		field := fmt.Sprintf("forwarding_paths[%d]", n)
		errs = append(errs, validatePath(field, p))
		if id := pathOf(p, ipv6Only(v)).pathID; seen[id] {
			errs = append(errs, item.Invalid(field, "is listed twice"))
		} else {
			seen[id] = true
		}
	}
	return errors.Join(append(errs, validateAttached(v))...)
}

func validatePath(field string, p *abf.ABF_ForwardingPath) error {
	var errs []error
	hop, err := hopOf(p)
	if err != nil {
		errs = append(errs, item.Invalid(field+".next_hop_ip", "%w", err))
	}
	switch iface := p.GetInterfaceName(); {
	case p.GetDvr() && iface == "":
		errs = append(errs, item.Invalid(field+".interface_name", "empty, expected the name of an interface for dvr"))
	case p.GetDvr() && hop.IsValid() && !hop.IsUnspecified():
		errs = append(errs, item.Invalid(field+".next_hop_ip", "%s, expected none for dvr", hop))
	case iface == "" && err == nil && (!hop.IsValid() || hop.IsUnspecified()):
		errs = append(errs, item.Invalid(field+".interface_name", "empty, and so is next_hop_ip, expected at least one"))
	}
	return errors.Join(errs...)
}

func validateAttached(v *abf.ABF) error {
	var errs []error
	type use struct {
		name string
		ipv6 bool
	}
	seen := map[use]bool{}
	for n, a := range v.GetAttachedInterfaces() {
		field := fmt.Sprintf("attached_interfaces[%d].input_interface", n)
		u := use{a.GetInputInterface(), a.GetIsIpv6()}
		switch {
		case u.name == "":
			errs = append(errs, item.Invalid(field, "empty, expected the name of an interface"))
		case seen[u]:
			errs = append(errs, item.Invalid(field, "%q is listed twice for the same version of IP", u.name))
		}
		seen[u] = true
	}
	return errors.Join(errs...)
}

func abfDependencies(_ string, v *abf.ABF) []kvs.Dependency {
	deps := []kvs.Dependency{{Label: "acl-exists", Key: aclmodel.ACLModel.KeyFor(v.GetAclName())}}
	seen := map[string]bool{"": true}
	for _, p := range v.GetForwardingPaths() {
		if name := p.GetInterfaceName(); !seen[name] {
			seen[name] = true
			deps = append(deps, item.DependsOnInterface("interface-exists-"+name, name))
		}
	}
	return deps
}

// attachmentValues are the uses on interfaces.
func attachmentValues(_ string, v *abf.ABF) []kvs.KeyValuePair {
	index, ipv4 := strconv.FormatUint(uint64(v.GetIndex()), 10), map[string]bool{}
	for _, a := range v.GetAttachedInterfaces() {
		if !a.GetIsIpv6() {
			ipv4[a.GetInputInterface()] = true
		}
	}
	out := make([]kvs.KeyValuePair, 0, len(v.GetAttachedInterfaces()))
	for _, a := range v.GetAttachedInterfaces() {
		key := model.InterfaceKey
		if a.GetIsIpv6() && ipv4[a.GetInputInterface()] {
			key = model.InterfaceIPv6Key
		}
		out = append(out, kvs.KeyValuePair{Key: key.Key(index, a.GetInputInterface()), Value: a})
	}
	return out
}

// pathID is what distinguishes paths of a policy in VPP; the zero address stands for none.
type pathID struct {
	iface     string
	hop       netip.Addr
	ipv6, dvr bool
}

// path is a path in a form that can be compared.
type path struct {
	pathID
	weight, preference uint32
}

// hopOf returns the next hop; the zero address if the field is empty.
func hopOf(p *abf.ABF_ForwardingPath) (netip.Addr, error) {
	if p.GetNextHopIp() == "" {
		return netip.Addr{}, nil
	}
	return ipconv.ParseAddr(p.GetNextHopIp())
}

// ipv6Only reports whether the policy is for IPv6 packets only, as far as its interfaces say.
func ipv6Only(v *abf.ABF) bool {
	return len(v.GetAttachedInterfaces()) > 0 &&
		!slices.ContainsFunc(v.GetAttachedInterfaces(), func(a *abf.ABF_AttachedInterface) bool { return !a.GetIsIpv6() })
}

// pathOf translates a path; ipv6 is the version of IP if it has no address.
func pathOf(p *abf.ABF_ForwardingPath, ipv6 bool) path {
	out := path{pathID{iface: p.GetInterfaceName(), dvr: p.GetDvr(), ipv6: ipv6}, max(p.GetWeight(), 1), p.GetPreference()}
	if hop, err := hopOf(p); err == nil && hop.IsValid() {
		out.ipv6 = hop.Is6()
		if !hop.IsUnspecified() {
			out.hop = hop
		}
	}
	return out
}

func pathsOf(v *abf.ABF) []path {
	ipv6 := ipv6Only(v)
	out := make([]path, 0, len(v.GetForwardingPaths()))
	for _, p := range v.GetForwardingPaths() {
		out = append(out, pathOf(p, ipv6))
	}
	return out
}

// missing returns the paths that others do not have.
func missing(paths, others []path) []path {
	return slices.DeleteFunc(slices.Clone(paths), func(p path) bool { return slices.Contains(others, p) })
}

// sameABF compares paths whatever their order.
func sameABF(_ string, a, b *abf.ABF) bool {
	x, y := pathsOf(a), pathsOf(b)
	return a.GetIndex() == b.GetIndex() && a.GetAclName() == b.GetAclName() && len(missing(x, y)) == 0 && len(missing(y, x)) == 0
}

// steps are the changes of the paths of a policy that is in use, in their order: first those
// that lead elsewhere, last those that have another weight or preference.
type steps struct{ add, remove, again []path }

func stepsFor(old, v *abf.ABF) steps {
	had := map[pathID]bool{}
	for _, p := range pathsOf(old) {
		had[p.pathID] = true
	}
	s := steps{remove: missing(pathsOf(old), pathsOf(v))}
	for _, p := range missing(pathsOf(v), pathsOf(old)) {
		if had[p.pathID] {
			s.again = append(s.again, p)
		} else {
			s.add = append(s.add, p)
		}
	}
	return s
}

// changeable reports whether the paths can be changed without that the policy has none
// meanwhile: VPP would delete it.
func changeable(old, v *abf.ABF) bool {
	s := stepsFor(old, v)
	return old.GetAclName() == v.GetAclName() && (len(s.add) > 0 || len(s.remove) < len(old.GetForwardingPaths()))
}

// policy is a value with the numbers of VPP.
func (d *abfDescriptor) policy(v *abf.ABF, paths []path) (vppcalls.Policy, error) {
	p := vppcalls.Policy{ID: v.GetIndex()}
	list, ok := d.lists.LookupByName(v.GetAclName())
	switch {
	case !ok:
		return p, fmt.Errorf("access control list %q is not known to exist in VPP", v.GetAclName())
	case list.L2:
		return p, fmt.Errorf("acl_name: %q has MAC/IP rules, expected a list of IP rules", v.GetAclName())
	}
	p.ACL = list.Index
	for _, from := range paths {
		to := vppcalls.Path{
			NextHop: from.hop, SwIfIndex: item.NoInterface, IPv6: from.ipv6, DVR: from.dvr,
			Weight: uint8(from.weight), Preference: uint8(from.preference),
		}
		if from.iface != "" {
			index, err := item.SwIfIndex(d.ifs, from.iface)
			if err != nil {
				return p, err
			}
			to.SwIfIndex = index
		}
		p.Paths = append(p.Paths, to)
	}
	return p, nil
}

func (d *abfDescriptor) create(ctx context.Context, _ string, v *abf.ABF) (kvs.Metadata, error) {
	p, err := d.policy(v, pathsOf(v))
	if err == nil {
		err = d.vpp.AddPaths(ctx, p)
	}
	if errors.Is(err, api.INVALID_VALUE) {
		err = fmt.Errorf("index: VPP has policy %d, with another access control list: %w", v.GetIndex(), err)
	}
	return nil, err
}

func (d *abfDescriptor) update(ctx context.Context, _ string, old, v *abf.ABF, _ kvs.Metadata) (kvs.Metadata, error) {
	s := stepsFor(old, v)
	for _, step := range []struct {
		do    func(ctx context.Context, p vppcalls.Policy) error
		paths []path
	}{{d.vpp.AddPaths, s.add}, {d.vpp.RemovePaths, s.remove}, {d.vpp.AddPaths, s.again}} {
		p, err := d.policy(v, step.paths)
		if err == nil {
			err = step.do(ctx, p)
		}
		if err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// retrieve returns all policies. One that is not expected may be anyone's: it has no tag.
func (d *abfDescriptor) retrieve(ctx context.Context, correlate []abfKV) ([]abfKV, error) {
	all, err := d.vpp.DumpPolicies(ctx)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	attached, err := d.vpp.DumpAttachments(ctx)
	if err != nil {
		return nil, err
	}
	expected := make(map[string]*abf.ABF, len(correlate))
	for _, kv := range correlate {
		if expected[kv.Key] == nil {
			expected[kv.Key] = kv.Value
		}
	}
	snapshot := d.ifs.Snapshot(ctx)
	uses := map[uint32][]*abf.ABF_AttachedInterface{}
	var others item.Foreign[*abf.ABF, kvs.Metadata]
	for _, a := range attached {
		name, ok := snapshot.Name(a.SwIfIndex)
		if text, untagged := snapshot.Untagged(a.SwIfIndex); !ok && untagged {
			v := &abf.ABF{Index: a.Policy}
			others.Add(model.ABFModel.Key(v), v, text)
		}
		if ok {
			uses[a.Policy] = append(uses[a.Policy], &abf.ABF_AttachedInterface{InputInterface: name, Priority: a.Priority, IsIpv6: a.IPv6})
		}
	}
	out := make([]abfKV, 0, len(all))
	for _, p := range all {
		v := &abf.ABF{Index: p.ID, AttachedInterfaces: uses[p.ID]}
		var named bool
		if v.AclName, named = d.lists.LookupByID(acldescriptor.ListID{Index: p.ACL}); !named {
			kvs.AddUnmodeled(v, fmt.Sprintf("access control list %d, which has no tag", p.ACL))
		}
		kv := abfKV{Key: model.ABFModel.Key(v), Value: v, Origin: kvs.UnknownOrigin}
		want := expected[kv.Key]
		sortLike(v.AttachedInterfaces, want.GetAttachedInterfaces())
		describePaths(v, p.Paths, want, snapshot)
		if want != nil {
			kv.Origin = kvs.FromNB
		}
		out = append(out, kv)
	}
	return append(out, others.All...), snapshot.Err()
}

// sortLike puts attachments in the order of those that are expected, the others behind them.
func sortLike(all, expected []*abf.ABF_AttachedInterface) {
	place := func(a *abf.ABF_AttachedInterface) int {
		at := slices.IndexFunc(expected, func(e *abf.ABF_AttachedInterface) bool {
			return e.GetInputInterface() == a.GetInputInterface() && e.GetIsIpv6() == a.GetIsIpv6()
		})
		if at < 0 {
			return len(expected)
		}
		return at
	}
	slices.SortFunc(all, func(a, b *abf.ABF_AttachedInterface) int {
		return cmp.Or(cmp.Compare(place(a), place(b)), strings.Compare(a.GetInputInterface(), b.GetInputInterface()))
	})
}

// describePaths translates the paths that VPP has, in the spelling of the expected value if
// they are equal.
func describePaths(v *abf.ABF, paths []vppcalls.Path, want *abf.ABF, snapshot *ifaceidx.Snapshot) {
	for _, p := range paths {
		to := &abf.ABF_ForwardingPath{Weight: uint32(p.Weight), Preference: uint32(p.Preference), Dvr: p.DVR}
		switch {
		case p.NextHop.IsValid():
			to.NextHopIp = p.NextHop.String()
		case p.IPv6:
			to.NextHopIp = netip.IPv6Unspecified().String()
		default:
			to.NextHopIp = netip.IPv4Unspecified().String()
		}
		if p.SwIfIndex != item.NoInterface {
			name, ok := snapshot.Name(p.SwIfIndex)
			if !ok {
				kvs.AddUnmodeled(v, fmt.Sprintf("path over interface %d, which has no tag", p.SwIfIndex))
			}
			to.InterfaceName = name
		}
		v.ForwardingPaths = append(v.ForwardingPaths, to)
		if p.Other != "" {
			kvs.AddUnmodeled(v, "path "+p.Other)
		}
	}
	if want == nil {
		return
	}
	if x, y := pathsOf(v), pathsOf(want); len(missing(x, y)) == 0 && len(missing(y, x)) == 0 {
		v.ForwardingPaths = want.GetForwardingPaths()
	}
}
