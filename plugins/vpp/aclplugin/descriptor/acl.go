// Package descriptor teaches the scheduler to handle access control lists and their use on
// interfaces.
package descriptor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tenuto-dev/tenuto/infra/idxmap"
	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/aclplugin/model"
	"github.com/tenuto-dev/tenuto/plugins/vpp/aclplugin/vppcalls"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/ifaceidx"
	"github.com/tenuto-dev/tenuto/plugins/vpp/item"
	acl "github.com/tenuto-dev/tenuto/proto/ligato/vpp/acl"
)

// An access control list is known to VPP by an index, and carries the name of the
// configuration in its tag: one without a tag was made by another process. It has rules for
// IP or for MAC addresses; VPP has requests and indexes of their own for each kind. Its rules
// are replaced in place, whether it is in use or not. Its interfaces are derived values.
//
// It is no item.Object: the requests depend on the kind of the rules, and the metadata have the
// order of lists on interfaces.

// Names of the descriptors.
const (
	ACLName          = "vpp-acl"
	ACLInterfaceName = "vpp-acl-to-interface"
)

const (
	// maxTag is the longest name, in bytes.
	maxTag = 63
	// cliTag is the tag of lists that were made with the command line of VPP.
	cliTag = "cli"
	// concurrency is how many lists may be in flight at a time.
	concurrency = 256
)

// Meta is the metadata of a list. It is never changed.
type Meta struct {
	// Index of the list in VPP, and whether it is the index of a list of MAC/IP rules.
	Index uint32
	L2    bool
	// Order is the position among the lists of an interface, unless the list is Foreign: it is not
	// in the configuration, and stays where it is.
	Order   int32
	Foreign bool
	// Doubled are the rules that VPP has twice, one after the other: for IPv4 and IPv6.
	Doubled []int
}

// ListID is what distinguishes lists in VPP.
type ListID struct {
	Index uint32
	L2    bool
}

// byID finds lists by their index and kind.
var byID = idxmap.Index[*Meta, ListID]{
	Name: "index",
	Keys: func(m *Meta) []ListID {
		if m == nil {
			return nil
		}
		return []ListID{{m.Index, m.L2}}
	},
}

// Lists are the access control lists that exist in VPP, by their names.
type Lists struct{ m idxmap.Map[*Meta] }

// NewLists makes the view of the metadata map of the descriptor vpp-acl.
func NewLists(r idxmap.Reader) (Lists, error) {
	m, err := idxmap.Of[*Meta](r)
	if err != nil {
		return Lists{}, fmt.Errorf("index of access control lists: %w", err)
	}
	return Lists{m}, nil
}

// LookupByName returns the metadata of a list.
func (l Lists) LookupByName(name string) (*Meta, bool) {
	m, ok := l.m.Get(name)
	return m, ok && m != nil
}

// LookupByID returns the name of the list with an index.
func (l Lists) LookupByID(id ListID) (name string, ok bool) {
	for _, name := range byID.Lookup(l.m, id) {
		return name, true
	}
	return "", false
}

// listCalls is what access control lists need of VPP.
type listCalls interface {
	SetLists(ctx context.Context, lists []vppcalls.IndexedList) []vppcalls.Outcome
	DeleteList(ctx context.Context, l2 bool, index uint32) error
	DumpLists(ctx context.Context) ([]vppcalls.IndexedList, error)
	DumpApplied(ctx context.Context) ([]vppcalls.Applied, error)
	DumpAppliedMAC(ctx context.Context) ([]vppcalls.AppliedMAC, error)
}

// Rule returns the name of the list with an index, and which of its rules in the configuration has
// the position of a rule in VPP.
func (l Lists) Rule(index uint32, position int) (name string, rule int, ok bool) {
	name, ok = l.LookupByID(ListID{Index: index})
	m, known := l.LookupByName(name)
	if !ok || !known {
		return "", 0, false
	}
	return name, m.rule(position), true
}

// rule returns the rule of the configuration that VPP has at a position.
func (m *Meta) rule(position int) int {
	rule := position
	for before, doubled := range m.Doubled {
		if position > doubled+before {
			rule--
		}
	}
	return rule
}

type aclDescriptor struct {
	vpp listCalls
	ifs item.Interfaces
}

type (
	aclKV     = kvs.KV[*acl.ACL, *Meta]
	aclValue  = kvs.BatchValue[*acl.ACL, *Meta]
	aclResult = kvs.BatchResult[*Meta]
)

// NewACL describes access control lists.
func NewACL(vpp listCalls, ifs item.Interfaces) *kvs.KVDescriptor {
	d := &aclDescriptor{vpp, ifs}
	return kvs.Adapt(kvs.Describe(model.ACLModel, kvs.Descriptor[*acl.ACL, *Meta]{
		Name:            ACLName,
		Southbound:      item.Southbound,
		WithMetadata:    true,
		Validate:        validateACL,
		DerivedValues:   interfaceValues,
		Identities:      macListIdentities,
		ValueComparator: sameACL,
		UpdateWithRecreate: func(_ string, old, v *acl.ACL, m *Meta) bool {
			return m == nil || isL2(old) != isL2(v)
		},
		CreateBatch:          d.set,
		UpdateBatch:          d.set,
		DeleteContext:        d.remove,
		RetrieveContext:      d.retrieve,
		RetrieveDependencies: []string{item.InterfaceName},
		ConcurrentRetrieve:   true,
		Concurrency:          concurrency,
	}))
}

func validateACL(_ string, v *acl.ACL) error {
	var errs []error
	switch name := v.GetName(); {
	case len(name) > maxTag:
		errs = append(errs, item.Invalid("name", "%q has %d bytes, expected 1 to %d", name, len(name), maxTag))
	case name == cliTag:
		errs = append(errs, item.Invalid("name", "%q, expected another one: vppctl gives this name to its lists", name))
	case strings.Contains(name, "/interface/") || strings.HasSuffix(name, "/interface"):
		errs = append(errs, item.Invalid("name", "%q contains the reserved element \"interface\"", name))
	}
	_, err := listOf(v)
	errs = append(errs, err,
		validateNames("interfaces.ingress", v.GetInterfaces().GetIngress()),
		validateNames("interfaces.egress", v.GetInterfaces().GetEgress()))
	if isL2(v) && len(v.GetInterfaces().GetEgress()) > 0 {
		errs = append(errs, item.Invalid("interfaces.egress", "%q, expected none: VPP applies MAC/IP rules to received packets only", v.GetInterfaces().GetEgress()))
	}
	return errors.Join(errs...)
}

func validateNames(field string, names []string) error {
	var errs []error
	seen := map[string]bool{}
	for n, name := range names {
		at := fmt.Sprintf("%s[%d]", field, n)
		switch {
		case name == "":
			errs = append(errs, item.Invalid(at, "empty, expected the name of an interface"))
		case seen[name]:
			errs = append(errs, item.Invalid(at, "%q is listed twice", name))
		}
		seen[name] = true
	}
	return errors.Join(errs...)
}

// macListIdentities are the interfaces of a list of MAC/IP rules: each has one such list.
func macListIdentities(_ string, v *acl.ACL) []string {
	if !isL2(v) {
		return nil
	}
	all := make([]string, len(v.GetInterfaces().GetIngress()))
	for n, name := range v.GetInterfaces().GetIngress() {
		all[n] = "macip-acl/" + name
	}
	return all
}

// interfaceValues are the uses on interfaces: each has one name, and the order.
func interfaceValues(_ string, v *acl.ACL) []kvs.KeyValuePair {
	ifs := v.GetInterfaces()
	out := make([]kvs.KeyValuePair, 0, len(ifs.GetIngress())+len(ifs.GetEgress()))
	for _, name := range ifs.GetIngress() {
		out = append(out, kvs.KeyValuePair{
			Key:   model.InterfaceKey.Key(v.GetName(), ingress, name),
			Value: &acl.ACL_Interfaces{Ingress: []string{name}, Order: ifs.GetOrder()},
		})
	}
	for _, name := range ifs.GetEgress() {
		out = append(out, kvs.KeyValuePair{
			Key:   model.InterfaceKey.Key(v.GetName(), egress, name),
			Value: &acl.ACL_Interfaces{Egress: []string{name}, Order: ifs.GetOrder()},
		})
	}
	return out
}

// sameACL compares the rules, and the order, which is in the metadata.
func sameACL(_ string, a, b *acl.ACL) bool {
	if a.GetInterfaces().GetOrder() != b.GetInterfaces().GetOrder() {
		return false
	}
	x, err := listOf(a)
	y, err2 := listOf(b)
	return err == nil && err2 == nil && x.Equal(y)
}

// set creates lists and replaces the rules of those that exist.
func (d *aclDescriptor) set(ctx context.Context, values []aclValue) []aclResult {
	results := make([]aclResult, len(values))
	lists := make([]vppcalls.IndexedList, 0, len(values))
	var sent []int
	for i, v := range values {
		list, err := listOf(v.New)
		if results[i].Err = err; err != nil {
			continue
		}
		meta := &Meta{Index: vppcalls.NoList, L2: list.L2, Order: v.New.GetInterfaces().GetOrder(), Doubled: doubled(v.New)}
		results[i].Metadata = meta
		if v.Metadata != nil {
			meta.Index = v.Metadata.Index
			if old, err := listOf(v.Old); err == nil && old.Equal(list) {
				continue // only the order is another one
			}
		}
		lists, sent = append(lists, vppcalls.IndexedList{List: list, Index: meta.Index}), append(sent, i)
	}
	for n, outcome := range d.vpp.SetLists(ctx, lists) {
		result := &results[sent[n]]
		if result.Err = outcome.Err; result.Err == nil {
			result.Metadata.Index = outcome.Index
		} else {
			result.Metadata = values[sent[n]].Metadata
		}
	}
	return results
}

// remove does nothing for a value without metadata: its creation was not confirmed, and it was
// not found.
func (d *aclDescriptor) remove(ctx context.Context, _ string, _ *acl.ACL, m *Meta) error {
	if m == nil {
		return nil
	}
	return d.vpp.DeleteList(ctx, m.L2, m.Index)
}

// found is a list of VPP on its way to a value.
type found struct {
	vppcalls.IndexedList
	key             string
	want            *acl.ACL // nil: not expected
	rank            int32    // the order of a list that is not expected; see rank
	contrary        bool     // it has no order that is right for all interfaces
	ingress, egress []string
}

func (f *found) order() int32 {
	if f.want == nil {
		return f.rank
	}
	return f.want.GetInterfaces().GetOrder()
}

// origin is whose the list is. VPP's command line gives its lists a tag as well.
func (f *found) origin() kvs.ValueOrigin {
	if f.want == nil && f.List.Name == cliTag {
		return kvs.UnknownOrigin
	}
	return kvs.FromNB
}

// retrieve returns the lists with a tag. A name that VPP has more than once is returned once,
// the rest with a suffix.
func (d *aclDescriptor) retrieve(ctx context.Context, correlate []aclKV) ([]aclKV, error) {
	lists, err := d.vpp.DumpLists(ctx)
	if err != nil || len(lists) == 0 {
		return nil, err
	}
	expected := make(map[string]aclKV, len(correlate))
	for _, kv := range correlate {
		if expected[kv.Key].Value == nil {
			expected[kv.Key] = kv
		}
	}
	all, seen := make(map[ListID]*found, len(lists)), map[string]int{}
	for _, l := range lists {
		if l.Name == "" {
			continue
		}
		f := &found{IndexedList: l}
		if seen[l.Name]++; seen[l.Name] > 1 {
			f.Name = fmt.Sprintf("%s-DUPLICATE%d", l.Name, seen[l.Name])
		}
		f.key = model.ACLModel.KeyFor(f.Name)
		if kv := expected[f.key]; kv.Origin != kvs.FromSB { // otherwise it is not in the configuration
			f.want = kv.Value
		}
		all[ListID{l.Index, l.L2}] = f
	}
	others, err := d.findInterfaces(ctx, all)
	if err != nil {
		return nil, err
	}
	out := make([]aclKV, 0, len(all))
	for _, f := range all {
		v := f.value()
		out = append(out, aclKV{
			Key: f.key, Value: v, Origin: f.origin(),
			Metadata: &Meta{Index: f.Index, L2: f.L2, Order: f.order(), Foreign: f.want == nil, Doubled: doubled(v)},
		})
	}
	out = append(out, others...)
	slices.SortFunc(out, func(a, b aclKV) int { return cmp.Compare(a.Key, b.Key) })
	return out, nil
}

// findInterfaces notes where lists are in use. A list that VPP looks at in another order than
// is expected is not in use as far as the scheduler is concerned. The uses on interfaces without a
// tag are foreign parts.
func (d *aclDescriptor) findInterfaces(ctx context.Context, all map[ListID]*found) ([]aclKV, error) {
	applied, err := d.vpp.DumpApplied(ctx)
	if err != nil {
		return nil, err
	}
	mac, err := d.vpp.DumpAppliedMAC(ctx)
	if err != nil || len(applied)+len(mac) == 0 {
		return nil, err
	}
	rank(all, applied)
	snapshot := d.ifs.Snapshot(ctx)
	var others foreignUses
	for _, a := range applied {
		name, ok := snapshot.Name(a.SwIfIndex)
		if !ok {
			for _, index := range slices.Concat(a.Ingress, a.Egress) {
				others.add(all[ListID{index, false}], a.SwIfIndex, snapshot)
			}
			continue
		}
		for _, index := range slices.Concat(a.Ingress, a.Egress) {
			if all[ListID{index, false}] == nil {
				others.addUntagged(index, name, a)
			}
		}
		for _, f := range inOrder(all, a.Ingress) {
			f.ingress = append(f.ingress, name)
		}
		for _, f := range inOrder(all, a.Egress) {
			f.egress = append(f.egress, name)
		}
	}
	for _, a := range mac {
		name, ok := snapshot.Name(a.SwIfIndex)
		switch f := all[ListID{a.List, true}]; {
		case !ok:
			others.add(f, a.SwIfIndex, snapshot)
		case f != nil:
			f.ingress = append(f.ingress, name)
		}
	}
	return others.All, snapshot.Err()
}

// foreignUses are the uses of lists with a name on interfaces without a tag, and the other way round.
type foreignUses struct {
	item.Foreign[*acl.ACL, *Meta]
}

func (u *foreignUses) add(f *found, swIfIndex uint32, snapshot *ifaceidx.Snapshot) {
	if text, ok := snapshot.Untagged(swIfIndex); ok && f != nil {
		u.Add(f.key, &acl.ACL{Name: f.Name}, text)
	}
}

func (u *foreignUses) addUntagged(list uint32, name string, on vppcalls.Applied) {
	v := &acl.ACL{Interfaces: &acl.ACL_Interfaces{}}
	if slices.Contains(on.Ingress, list) {
		v.Interfaces.Ingress = []string{name}
	}
	if slices.Contains(on.Egress, list) {
		v.Interfaces.Egress = []string{name}
	}
	u.Add(model.ACLModel.KeyPrefix(), v, fmt.Sprintf("list %d on interface %q, which has no tag", list, name))
}

// inOrder returns the known ones of the lists of an interface without those that come after one
// that they should precede.
func inOrder(all map[ListID]*found, indexes []uint32) (out []*found) {
	var last *found
	for _, index := range indexes {
		f := all[ListID{index, false}]
		switch {
		case f == nil:
		case f.want == nil:
			out = append(out, f)
		case last == nil || compareOrder(last.order(), last.Name, f.order(), f.Name) < 0:
			out, last = append(out, f), f
		}
	}
	return out
}

// compareOrder says which of two lists of an interface is looked at first.
func compareOrder(order int32, name string, other int32, otherName string) int {
	return cmp.Or(cmp.Compare(order, other), strings.Compare(name, otherName))
}

// value translates a list of VPP, in the spelling of the expected value as far as they are equal.
func (f *found) value() *acl.ACL {
	v := &acl.ACL{Name: f.Name}
	if want, err := listOf(f.want); f.want != nil && err == nil && want.Equal(f.List) {
		v.Rules = f.want.GetRules()
	} else {
		v.Rules = rulesOf(f.List)
	}
	v.Interfaces = &acl.ACL_Interfaces{
		Ingress: likeExpected(f.ingress, f.want.GetInterfaces().GetIngress()),
		Egress:  likeExpected(f.egress, f.want.GetInterfaces().GetEgress()),
		Order:   f.order(),
	}
	if f.contrary {
		kvs.AddUnmodeled(v, "different orders on several interfaces")
	}
	if len(f.ingress)+len(f.egress) == 0 && f.want.GetInterfaces() == nil && f.rank == 0 {
		v.Interfaces = nil
	}
	return v
}

// likeExpected returns names in the order of those that are expected, the others sorted behind
// them.
func likeExpected(names, expected []string) []string {
	place := make(map[string]int, len(expected))
	for n, name := range expected {
		place[name] = n - len(expected)
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(place[a], place[b]), strings.Compare(a, b))
	})
	return names
}
