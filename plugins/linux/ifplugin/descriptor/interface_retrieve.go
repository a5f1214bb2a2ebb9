package descriptor

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/linux/ifplugin/ifaceidx"
	ifmodel "github.com/tenuto-dev/tenuto/plugins/linux/ifplugin/model"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
	nsmodel "github.com/tenuto-dev/tenuto/plugins/linux/nsplugin/model"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/linux/interfaces"
	namespace "github.com/tenuto-dev/tenuto/proto/ligato/linux/namespace"
)

// Suffixes of names that make a value differ from the wanted one, so that what
// is wrong with the link gets repaired.
const (
	missingPeer = "-MISSING_PEER"
	duplicate   = "-DUPLICATE"
)

type ifaceKV = api.KV[*interfaces.Interface, ifaceidx.LinuxIfMetadata]

// retrieve reads the namespace of the agent, the namespaces of all values that
// are wanted or believed to exist, and all named namespaces, where something
// may have been left behind.
func (d *iface) retrieve(ctx context.Context, correlate []ifaceKV) ([]ifaceKV, error) {
	r := &retrieval{iface: d, wanted: map[string]*interfaces.Interface{}, expected: correlate}
	for _, kv := range correlate {
		r.wanted[kv.Value.GetName()] = kv.Value
	}
	if err := r.read(ctx, nil, true); err != nil {
		return nil, err
	}
	for _, kv := range correlate {
		for _, ns := range []*namespace.NetNamespace{kv.Value.GetNamespace(), kv.Metadata.Namespace} {
			if err := r.read(ctx, ns, true); err != nil {
				return nil, err
			}
		}
	}
	if err := r.readOthers(ctx); err != nil {
		return nil, err
	}
	return r.values(), nil
}

// retrieveValue reads one value, from where it can be.
func (d *iface) retrieveValue(ctx context.Context, key string, last *interfaces.Interface, meta ifaceidx.LinuxIfMetadata) (*interfaces.Interface, ifaceidx.LinuxIfMetadata, bool, error) {
	none := ifaceidx.LinuxIfMetadata{}
	r := &retrieval{iface: d, wanted: map[string]*interfaces.Interface{last.GetName(): last}, expected: []ifaceKV{{Value: last, Metadata: meta}}, single: true}
	for _, ns := range []*namespace.NetNamespace{nil, last.GetNamespace(), meta.Namespace} {
		if err := r.read(ctx, ns, true); err != nil {
			return nil, none, false, err
		}
	}
	for _, kv := range r.values() {
		if kv.Key == key {
			return kv.Value, kv.Metadata, true, nil
		}
	}
	return nil, none, false, nil
}

// retrieval is what was read so far.
type retrieval struct {
	*iface
	wanted map[string]*interfaces.Interface
	// expected are all values that may exist; of a name first those that may exist, last the wanted one.
	expected []ifaceKV
	single   bool // not everything is read: nothing can be said about what is missing
	tried    map[string]bool
	spaces   []*space
}

// space is a namespace as it was read.
type space struct {
	id    netlinkapi.NamespaceID
	refs  []*namespace.NetNamespace // references that lead here; the first one is the best
	own   bool
	links []netlinkapi.Link
	addrs map[int][]netlinkapi.Address
	// sysctls are kernel parameters of links that are wanted, or were set by the agent.
	sysctls map[int]map[string]int
	vlans   map[int][]netlinkapi.PortVLAN // of bridges and ports
}

func (r *retrieval) readOthers(ctx context.Context) error {
	for _, ns := range r.Index.Namespaces() {
		if err := r.read(ctx, ns, true); err != nil {
			return err
		}
	}
	named, err := r.Namespaces.Named(ctx)
	if err != nil {
		return err
	}
	for _, ns := range named {
		if err := r.read(ctx, ns, false); err != nil {
			return err
		}
	}
	return nil
}

// read reads a namespace, unless it was read already. One that is gone has
// nothing; into one that the process may not enter it cannot have put anything.
func (r *retrieval) read(ctx context.Context, ns *namespace.NetNamespace, ours bool) error {
	ref := nsmodel.Text(ns)
	if r.tried[ref] {
		return nil
	}
	if r.tried == nil {
		r.tried = map[string]bool{}
	}
	r.tried[ref] = true
	open := r.Namespaces.Peek
	if ours {
		open = r.Namespaces.Open
	}
	h, err := open(ctx, ns)
	switch {
	case errors.Is(err, netlinkapi.ErrNamespaceGone):
		return nil
	case errors.Is(err, netlinkapi.ErrPermission):
		r.Log.Debug("network namespace not read", "namespace", ref, "error", err)
		return nil
	case err != nil:
		return fmt.Errorf("%s: %w", ref, err)
	}
	defer closeHandle(h)
	for _, s := range r.spaces {
		if s.id == h.Namespace() {
			s.refs = append(s.refs, ns)
			return nil
		}
	}
	s, err := r.readSpace(ctx, h, nsmodel.IsOwn(ns))
	if err != nil {
		return fmt.Errorf("%s: %w", ref, err)
	}
	s.refs = []*namespace.NetNamespace{ns}
	r.spaces = append(r.spaces, s)
	return nil
}

func (r *retrieval) readSpace(ctx context.Context, h netlinkapi.Handle, own bool) (*space, error) {
	s := &space{
		id: h.Namespace(), own: own, addrs: map[int][]netlinkapi.Address{},
		sysctls: map[int]map[string]int{},
	}
	var err error
	if s.links, err = h.Links(ctx); err != nil {
		return nil, err
	}
	addrs, err := h.Addresses(ctx)
	if err != nil {
		return nil, err
	}
	for _, a := range addrs {
		s.addrs[a.Link] = append(s.addrs[a.Link], a)
	}
	if slices.ContainsFunc(s.links, func(l netlinkapi.Link) bool { return l.Kind == netlinkapi.KindBridge }) {
		if s.vlans, err = h.PortVLANs(ctx); err != nil {
			return nil, err
		}
	}
	return s, r.readSysctls(ctx, h, s)
}

// found is a link of ours.
type found struct {
	s     *space
	link  netlinkapi.Link
	name  string
	value *interfaces.Interface
}

// values makes values of the links.
func (r *retrieval) values() []ifaceKV {
	all, parked := r.recognised()
	all = append(all, r.leftovers(all, parked)...)
	names := map[string]bool{}
	for _, f := range all {
		names[f.value.GetName()] = true
	}
	used := map[string]int{}
	kvs := make([]ifaceKV, 0, len(all))
	r.preferWanted(all)
	for _, f := range all {
		v := f.value
		if peer := v.GetVeth().GetPeerIfName(); peer != "" && !r.single && !names[peer] && !contains(parked, peer) {
			v.GetVeth().PeerIfName = peer + missingPeer
		}
		if used[v.Name]++; used[v.Name] > 1 {
			v.Name = fmt.Sprintf("%s%s%d", v.Name, duplicate, used[v.Name]-1)
			v.Link = nil
		}
		meta := r.found(v, f.link)
		kvs = append(kvs, ifaceKV{Key: ifmodel.InterfaceModel.Key(v), Value: v, Metadata: meta, Origin: api.FromNB})
	}
	return append(kvs, r.existing()...)
}

// found returns the metadata of a link that was found. The kernel does not report whether an MTU was
// configured.
func (r *retrieval) found(v *interfaces.Interface, link netlinkapi.Link) ifaceidx.LinuxIfMetadata {
	meta := r.metadata(v, link)
	meta.MTU = int(r.wanted[v.GetName()].GetMtu())
	return meta
}

// preferWanted puts links that are where they should be first, before
// duplicates.
func (r *retrieval) preferWanted(all []found) {
	rank := func(f found) int {
		if w := r.wanted[f.name]; w != nil && nsmodel.Equal(w.GetNamespace(), f.value.GetNamespace()) {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(all, func(a, b found) int { return rank(a) - rank(b) })
}

func contains(parked map[string]found, name string) bool {
	_, ok := parked[name]
	return ok
}

// recognised returns the links of ours; ends of VETH pairs that only wait for
// their value are parked.
func (r *retrieval) recognised() (all []found, parked map[string]found) {
	parked = map[string]found{}
	for _, s := range r.spaces {
		for _, l := range s.links {
			name, parts, ours := r.parse(l.Alias)
			if !ours {
				if s.own && r.orphan(l) {
					v := r.orphanValue(l)
					all = append(all, found{s, l, v.Name, v})
				}
				continue
			}
			v := r.value(s, l, name, parts)
			if v == nil {
				continue
			}
			f := found{s, l, name, v}
			if v.Type == interfaces.Interface_VETH && s.own && l.Name == r.temporary(name) {
				parked[name] = f
			} else {
				all = append(all, f)
			}
		}
	}
	return all, parked
}

// orphanValue stands for a link that was never finished. It has the name of the
// value it was made for if that is known: desired, or on record. Otherwise it has a name
// of its own, which no desired value has. The host name distinguishes it from desired
// values.
func (r *retrieval) orphanValue(l netlinkapi.Link) *interfaces.Interface {
	v := &interfaces.Interface{Name: l.Name, HostIfName: l.Name, Type: interfaces.Interface_DUMMY}
	for name := range r.wanted {
		if r.temporary(name) == l.Name {
			v.Name = name
		}
	}
	if l.Kind == netlinkapi.KindVeth {
		v.Type = interfaces.Interface_VETH
	}
	return v
}

// leftovers are parked ends that no value needs: pairs where neither end
// exists as a value, one end for both.
func (r *retrieval) leftovers(all []found, parked map[string]found) []found {
	var left []found
	exists := map[string]bool{}
	for _, f := range all {
		exists[f.name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(parked)) {
		peer := parked[name].value.GetVeth().GetPeerIfName()
		if _, both := parked[peer]; exists[peer] || both && peer < name || r.single {
			continue
		}
		left = append(left, parked[name])
	}
	return left
}

// value makes a value of a link; nil if the alias does not fit the link.
func (r *retrieval) value(s *space, l netlinkapi.Link, name string, parts []string) *interfaces.Interface {
	v := &interfaces.Interface{Name: name, HostIfName: l.Name, Enabled: l.Up, Mtu: uint32(l.MTU)}
	if !slices.ContainsFunc(slices.Sorted(maps.Keys(r.kinds)), func(t interfaces.Interface_Type) bool {
		return r.kinds[t].recognise(v, l, parts)
	}) {
		return nil
	}
	want := r.wanted[name]
	if want.GetType() != v.Type {
		want = nil
	}
	if !l.Loopback {
		v.PhysAddress = l.MAC.String()
	}
	if k, ok := r.kinds[v.Type].(declared); ok && k.learned != nil && want != nil {
		k.learned(v, want)
	}
	v.Namespace = s.reference(want)
	v.VrfMasterInterface = r.master(s, l, func(kind string) bool { return kind == netlinkapi.KindVRF })
	v.MasterInterface = r.master(s, l, netlinkapi.TakesPorts)
	if r.bonded(s, l) && want != nil { // which is in charge of these
		v.Mtu, v.PhysAddress = want.GetMtu(), want.GetPhysAddress()
	}
	r.addAdopted(v, want)
	r.addAddresses(s, l, v, want)
	s.addSysctls(l, v)
	s.addVlans(l, v, want)
	return v
}

// reference is how the namespace is called: as the wanted value calls it, if
// that leads here.
func (s *space) reference(want *interfaces.Interface) *namespace.NetNamespace {
	for _, ref := range s.refs {
		if want != nil && nsmodel.Equal(ref, want.GetNamespace()) {
			return want.GetNamespace()
		}
	}
	if s.own {
		return nil
	}
	return s.refs[0]
}

// addAdopted: a link that another process made and set up is not set down only because the
// wanted value does not ask for it to be up.
func (r *retrieval) addAdopted(v, want *interfaces.Interface) {
	if _, changed := r.Former.ofAnyLink(propertyUp.of(v.GetName())); !changed && want != nil && r.kinds[v.Type].traits().adopted && !want.GetEnabled() {
		v.Enabled = false
	}
}
