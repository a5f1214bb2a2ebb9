package abfplugin

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
	"go.fd.io/govpp/binapi/fib_types"

	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/abfplugin/model"
	acldescriptor "github.com/tenuto-dev/tenuto/plugins/vpp/aclplugin/descriptor"
	aclmodel "github.com/tenuto-dev/tenuto/plugins/vpp/aclplugin/model"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/ifaceidx"
	ifmodel "github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/model"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ipconv"
	"github.com/tenuto-dev/tenuto/plugins/vpp/item"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
	abf "github.com/tenuto-dev/tenuto/proto/ligato/vpp/abf"
)

// A policy sends the packets that an access control list permits along paths. It has a number
// that the user chooses, and no tag. VPP adds and removes paths while the policy is in use;
// for another list it has to be created again. VPP does not look whether the list exists, so
// the policy waits for it, and for the interfaces of its paths. Its interfaces are derived
// values; they must go before the policy does.
//
// It is no item.Entry: its interfaces are read with it, a policy whose list or paths have no name
// is reported, and to delete it the agent names the paths that VPP has.

// Names of the descriptors.
const (
	ABFName          = "vpp-abf"
	ABFInterfaceName = "vpp-abf-to-interface"
)

// maxPaths is the largest number of paths that VPP accepts.
const maxPaths = 255

// concurrency is how many policies may be in flight at a time.
const concurrency = 64

// policy is a list of paths for the packets that an access control list selects.
type policy struct {
	id, acl uint32
	paths   []path
}

// path is one way that packets of a policy may go.
type path struct {
	pathID
	weight, preference uint8 // the weight is at least 1
	// other are the settings of a path of VPP that the model lacks; see ipconv.PlainPathSettings.
	other string
}

// pathID is what distinguishes paths of a policy in VPP.
type pathID struct {
	hop       netip.Addr // invalid for what is directly attached
	swIfIndex uint32     // item.NoInterface to look up the next hop in table 0
	ipv6      bool
	dvr       bool // forward on layer 2, without rewriting the packet
}

func (p path) message() fib_types.FibPath {
	out := fib_types.FibPath{SwIfIndex: p.swIfIndex, Weight: p.weight, Preference: p.preference}
	if p.dvr {
		out.Type = fib_types.FIB_API_PATH_TYPE_DVR
	}
	if p.ipv6 {
		out.Proto = fib_types.FIB_API_PATH_NH_PROTO_IP6
	}
	if p.hop.IsValid() {
		out.Nh.Address = ipconv.Address(p.hop).Un
	}
	return out
}

func pathOf(m fib_types.FibPath) path {
	p := path{weight: m.Weight, preference: m.Preference, other: ipconv.PlainPathSettings(m), pathID: pathID{
		swIfIndex: m.SwIfIndex, dvr: m.Type == fib_types.FIB_API_PATH_TYPE_DVR, ipv6: m.Proto == fib_types.FIB_API_PATH_NH_PROTO_IP6,
	}}
	hop := netip.AddrFrom4(m.Nh.Address.GetIP4())
	if p.ipv6 {
		hop = netip.AddrFrom16(m.Nh.Address.GetIP6())
	}
	if !hop.IsUnspecified() {
		p.hop = hop
	}
	return p
}

type abfDescriptor struct {
	*item.Resolution[*abf.ABF, policy]
	calls
	ifs   item.Interfaces
	lists acldescriptor.Lists
}

type abfKV = kvs.KV[*abf.ABF, kvs.Metadata]

// NewABF describes policies.
func NewABF(vpp *session.VPP, ifs item.Interfaces, lists acldescriptor.Lists) *kvs.KVDescriptor {
	d := &abfDescriptor{&item.Resolution[*abf.ABF, policy]{Interfaces: ifs}, calls{vpp}, ifs, lists}
	d.Resolve = d.resolve
	return kvs.Adapt(kvs.Describe(model.ABFModel, kvs.Descriptor[*abf.ABF, kvs.Metadata]{
		Name:          ABFName,
		Southbound:    item.Southbound,
		Validate:      d.Validate,
		Dependencies:  d.Dependencies,
		DerivedValues: attachmentValues,
		ValueComparator: func(_ string, a, b *abf.ABF) bool {
			x, y, _ := d.Both(a, b) // the list and the paths of a policy of VPP may have no names
			return x.id == y.id && x.acl == y.acl && item.SameParts(x.paths, y.paths)
		},
		UpdateWithRecreate: func(_ string, old, v *abf.ABF, _ kvs.Metadata) bool {
			x, y, _ := d.Both(old, v)
			return !changeable(x, y)
		},
		CreateContext: d.create,
		UpdateContext: d.update,
		DeleteContext: func(ctx context.Context, _ string, v *abf.ABF, _ kvs.Metadata) error {
			return d.deletePolicy(ctx, v.GetIndex())
		},
		RetrieveContext:      d.retrieve,
		RetrieveDependencies: []string{item.InterfaceName, acldescriptor.ACLName},
		ConcurrentRetrieve:   true,
		Concurrency:          concurrency,
	}))
}

func (d *abfDescriptor) resolve(r *item.Resolver, v *abf.ABF) policy {
	name := v.GetAclName()
	r.DependsOn("acl-exists", aclmodel.ACLModel.KeyFor(name))
	out := policy{id: v.GetIndex(), acl: r.Number("access control list", name, func(name string) (uint32, bool) {
		list, ok := d.lists.LookupByName(name)
		if !ok {
			return 0, false
		}
		return list.Index, true
	})}
	if n := len(v.GetForwardingPaths()); n == 0 || n > maxPaths {
		r.Fail("forwarding_paths", "%d paths, expected 1 to %d", n, maxPaths)
	}
	ipv6, seen, waits := ipv6Only(v), map[pathID]bool{}, map[string]bool{"": true}
	for n, from := range v.GetForwardingPaths() {
		field, name := fmt.Sprintf("forwarding_paths[%d]", n), from.GetInterfaceName()
		p := resolvePath(r, field, from, ipv6)
		if seen[p.pathID] {
			r.Fail(field, "is listed twice")
		}
		seen[p.pathID] = true
		out.paths = append(out.paths, p)
		if !waits[name] {
			waits[name] = true
			r.DependsOn("interface-exists-"+name, ifmodel.InterfaceModel.KeyFor(name))
		}
	}
	checkAttached(r, v)
	return out
}

// resolvePath translates a path; ipv6 is the version of IP if it has no address.
func resolvePath(r *item.Resolver, field string, from *abf.ABF_ForwardingPath, ipv6 bool) path {
	p := path{weight: uint8(max(from.GetWeight(), 1)), preference: uint8(from.GetPreference())}
	p.swIfIndex, p.ipv6, p.dvr = item.NoInterface, ipv6, from.GetDvr()
	iface := from.GetInterfaceName()
	if iface != "" {
		p.swIfIndex = uint32(r.SwIfIndex(iface))
	}
	if text := from.GetNextHopIp(); text != "" {
		hop, err := ipconv.ParseAddr(text)
		if err != nil {
			r.Fail(field+".next_hop_ip", "%w", err)
			return p
		}
		if p.ipv6 = hop.Is6(); !hop.IsUnspecified() {
			p.hop = hop
		}
	}
	switch {
	case p.dvr && iface == "":
		r.Fail(field+".interface_name", "empty, expected the name of an interface for dvr")
	case p.dvr && p.hop.IsValid():
		r.Fail(field+".next_hop_ip", "%s, expected none for dvr", p.hop)
	case iface == "" && !p.hop.IsValid():
		r.Fail(field+".interface_name", "empty, and so is next_hop_ip, expected at least one")
	}
	return p
}

// ipv6Only reports whether the policy is for IPv6 packets only, as far as its interfaces say.
func ipv6Only(v *abf.ABF) bool {
	return len(v.GetAttachedInterfaces()) > 0 &&
		!slices.ContainsFunc(v.GetAttachedInterfaces(), func(a *abf.ABF_AttachedInterface) bool { return !a.GetIsIpv6() })
}

// checkAttached looks at the interfaces, which are values of their own.
func checkAttached(r *item.Resolver, v *abf.ABF) {
	type use struct {
		name string
		ipv6 bool
	}
	seen := map[use]bool{}
	for n, a := range v.GetAttachedInterfaces() {
		field := fmt.Sprintf("attached_interfaces[%d].input_interface", n)
		u := use{a.GetInputInterface(), a.GetIsIpv6()}
		if seen[u] {
			r.Fail(field, "%q is listed twice for the same version of IP", u.name)
		}
		seen[u] = true
	}
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

// steps are the changes of the paths of a policy that is in use, in their order: first those
// that lead elsewhere, last those that have another weight or preference.
type steps struct{ add, remove, again []path }

func stepsFor(old, p policy) steps {
	had := map[pathID]bool{}
	for _, path := range old.paths {
		had[path.pathID] = true
	}
	s := steps{remove: item.Without(old.paths, p.paths)}
	for _, path := range item.Without(p.paths, old.paths) {
		if had[path.pathID] {
			s.again = append(s.again, path)
		} else {
			s.add = append(s.add, path)
		}
	}
	return s
}

// changeable reports whether the paths can be changed without that the policy has none
// meanwhile: VPP would delete it.
func changeable(old, p policy) bool {
	s := stepsFor(old, p)
	return old.acl == p.acl && (len(s.add) > 0 || len(s.remove) < len(old.paths))
}

// wanted is a value with the numbers of VPP.
func (d *abfDescriptor) wanted(v *abf.ABF) (policy, error) {
	p, err := d.Live(v)
	if list, ok := d.lists.LookupByName(v.GetAclName()); ok && list.L2 {
		err = fmt.Errorf("acl_name: %q has MAC/IP rules, expected a list of IP rules", v.GetAclName())
	}
	return p, err
}

func (d *abfDescriptor) create(ctx context.Context, _ string, v *abf.ABF) (kvs.Metadata, error) {
	p, err := d.wanted(v)
	if err == nil {
		err = d.changePaths(ctx, p, p.paths, true)
	}
	if errors.Is(err, api.INVALID_VALUE) {
		err = fmt.Errorf("index: VPP has policy %d, with another access control list: %w", v.GetIndex(), err)
	}
	return nil, err
}

func (d *abfDescriptor) update(ctx context.Context, _ string, old, v *abf.ABF, _ kvs.Metadata) (kvs.Metadata, error) {
	p, err := d.wanted(v)
	if err != nil {
		return nil, err
	}
	had, err := d.Was(old)
	if err != nil {
		return nil, err
	}
	s := stepsFor(had, p)
	for _, step := range []struct {
		paths []path
		add   bool
	}{{s.add, true}, {s.remove, false}, {s.again, true}} {
		if err := d.changePaths(ctx, p, step.paths, step.add); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// retrieve returns all policies. One that is not expected may be anyone's: it has no tag.
func (d *abfDescriptor) retrieve(ctx context.Context, correlate []abfKV) ([]abfKV, error) {
	all, err := d.dumpPolicies(ctx)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	attached, err := d.dumpAttachments(ctx)
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
		v := &abf.ABF{Index: a.PolicyID}
		if name, ok := others.Interface(snapshot, uint32(a.SwIfIndex), model.ABFModel.Key(v), v); ok {
			uses[a.PolicyID] = append(uses[a.PolicyID], &abf.ABF_AttachedInterface{InputInterface: name, Priority: a.Priority, IsIpv6: a.IsIPv6})
		}
	}
	out := make([]abfKV, 0, len(all))
	for _, p := range all {
		v := &abf.ABF{Index: p.id, AttachedInterfaces: uses[p.id]}
		var named bool
		if v.AclName, named = d.lists.LookupByID(acldescriptor.ListID{Index: p.acl}); !named {
			kvs.AddUnmodeled(v, fmt.Sprintf("access control list %d, which has no tag", p.acl))
		}
		kv := abfKV{Key: model.ABFModel.Key(v), Value: v, Origin: kvs.UnknownOrigin}
		want := expected[kv.Key]
		sortLike(v.AttachedInterfaces, want.GetAttachedInterfaces())
		describePaths(v, p.paths, snapshot)
		if want != nil {
			kv.Origin = kvs.FromNB
			if x, y, _ := d.Both(v, want); item.SameParts(x.paths, y.paths) {
				v.ForwardingPaths = want.GetForwardingPaths() // in its spelling
			}
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

// describePaths translates the paths that VPP has.
func describePaths(v *abf.ABF, paths []path, snapshot *ifaceidx.Snapshot) {
	for _, p := range paths {
		to := &abf.ABF_ForwardingPath{Weight: uint32(p.weight), Preference: uint32(p.preference), Dvr: p.dvr}
		switch {
		case p.hop.IsValid():
			to.NextHopIp = p.hop.String()
		case p.ipv6:
			to.NextHopIp = netip.IPv6Unspecified().String()
		default:
			to.NextHopIp = netip.IPv4Unspecified().String()
		}
		if p.swIfIndex != item.NoInterface {
			name, ok := snapshot.Name(p.swIfIndex)
			if !ok {
				kvs.AddUnmodeled(v, fmt.Sprintf("path over interface %d, which has no tag", p.swIfIndex))
			}
			to.InterfaceName = name
		}
		v.ForwardingPaths = append(v.ForwardingPaths, to)
		if p.other != "" {
			kvs.AddUnmodeled(v, "path "+p.other)
		}
	}
}
