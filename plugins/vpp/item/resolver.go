package item

import (
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"

	"go.fd.io/govpp/binapi/ethernet_types"
	"go.fd.io/govpp/binapi/interface_types"
	"go.fd.io/govpp/binapi/ip_types"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/ifaceidx"
	ifmodel "github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/model"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ipconv"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

// Resolver translates the fields of a value. Its methods take the name of the field, for
// errors, and what it contains. After an error they return the zero value; nothing is sent
// to VPP then. It is for one call of Entry.Resolve at a time.
type Resolver struct {
	vpp   bool // names have the numbers of VPP; otherwise any
	waits bool // the dependencies are asked for
	// hashes: names have the same numbers for all resolvers
	hashes bool
	ifs    Interfaces
	names  []string // those with a made-up number, which is their position
	errs   []error
	deps   []kvs.Dependency
}

// Fail makes the value invalid.
func (r *Resolver) Fail(field, format string, args ...any) {
	r.errs = append(r.errs, kvs.NewInvalidValueError(fmt.Errorf(format, args...), field))
}

// Waits reports that the dependencies of the value are asked for. Otherwise DependsOn and
// DependsOnAny have no effect, and what they need may be left out.
func (r *Resolver) Waits() bool { return r.waits }

// Err returns why the value is invalid, for a Validate of its own.
func (r *Resolver) Err() error { return errors.Join(r.errs...) }

// DependsOn adds a dependency of the value.
func (r *Resolver) DependsOn(label, key string) {
	r.depend(kvs.Dependency{Label: label, Key: key})
}

// CreatedWith adds a dependency on what the agent may not see; see Creation of kvs.Dependency.
func (r *Resolver) CreatedWith(label, key string) {
	r.depend(kvs.Dependency{Label: label, Key: key, Creation: true})
}

// DependsOnAny adds a dependency of the value that any of several keys meets.
func (r *Resolver) DependsOnAny(label string, any kvs.AnyOfDependency) {
	r.depend(kvs.Dependency{Label: label, AnyOf: any})
}

func (r *Resolver) depend(deps ...kvs.Dependency) {
	if r.waits {
		r.deps = append(r.deps, deps...)
	}
}

// NotEmpty makes the value invalid, and returns false, if text is empty; what says what is
// expected.
func (r *Resolver) NotEmpty(field, text, what string) bool {
	if text == "" {
		r.Fail(field, "empty, expected %s", what)
	}
	return text != ""
}

// Interface returns the index of the interface with a name, on which the value depends, and which
// has to meet the needs.
func (r *Resolver) Interface(field, name string, needs ...ifmodel.Need) interface_types.InterfaceIndex {
	if !r.NotEmpty(field, name, "the name of an interface") {
		return 0
	}
	if r.waits {
		label := "interface-exists"
		for _, d := range r.deps {
			if d.Label == label {
				label = field + "-exists"
			}
		}
		r.depend(Needing(DependsOnInterface(label, name), field, needs...))
	}
	return r.SwIfIndex(name)
}

// SwIfIndex is Interface for a value that depends on something that implies the interface.
func (r *Resolver) SwIfIndex(name string) interface_types.InterfaceIndex {
	return interface_types.InterfaceIndex(r.Number("interface", name, func(name string) (uint32, bool) {
		m, ok := r.ifs.LookupByName(name)
		if !ok {
			return 0, false
		}
		return m.SwIfIndex, true
	}))
}

// Number returns the number under which VPP has something with a name; lookup knows those
// that exist. It adds no dependency.
func (r *Resolver) Number(what, name string, lookup func(name string) (uint32, bool)) uint32 {
	if !r.vpp {
		return r.madeUp(what + " " + name)
	}
	number, ok := lookup(name)
	if !ok {
		r.errs = append(r.errs, &MissingError{what, name})
	}
	return number
}

// madeUp returns the same number for the same name.
func (r *Resolver) madeUp(name string) uint32 {
	if r.hashes {
		h := fnv.New32a()
		_, _ = h.Write([]byte(name)) // never fails
		return h.Sum32()
	}
	for n, known := range r.names {
		if known == name {
			return uint32(n)
		}
	}
	r.names = append(r.names, name)
	return uint32(len(r.names) - 1)
}

// Table returns the ID of a VRF table of the version of IP of addr, on which the value
// depends unless it is table 0, which always exists.
func (r *Resolver) Table(id uint32, addr ip_types.Address) uint32 {
	return r.TableAs("vrf-table-exists", id, addr)
}

// TableAs is Table with the label of the dependency, for a value that can depend on several
// tables.
func (r *Resolver) TableAs(label string, id uint32, addr ip_types.Address) uint32 {
	if r.waits {
		r.depend(DependsOnTable(label, id, ipconv.FromAddress(addr))...)
	}
	return id
}

// Addr returns an address.
func (r *Resolver) Addr(field, text string) ip_types.Address {
	a, err := ipconv.ParseAddr(text)
	if err != nil {
		r.Fail(field, "%w", err)
		return ip_types.Address{}
	}
	return ipconv.Address(a)
}

// Host returns the address of one host.
func (r *Resolver) Host(field, text string) ip_types.Address {
	a, err := ipconv.ParseAddr(text)
	switch {
	case err != nil:
		r.Fail(field, "%w", err)
		return ip_types.Address{}
	case a.IsUnspecified() || a.IsMulticast():
		r.Fail(field, "%s, expected the address of one host", a)
	}
	return ipconv.Address(a)
}

// HostOf is Host for a text that may have a prefix length, which has no meaning.
func (r *Resolver) HostOf(field, text string) ip_types.Address {
	if p, err := ipconv.ParsePrefix(text); err == nil {
		text = p.Addr().String()
	}
	return r.Host(field, text)
}

// Network returns a network, which must not have host bits.
func (r *Resolver) Network(field, text string) ip_types.Prefix {
	p, err := ipconv.ParsePrefix(text)
	switch {
	case err != nil:
		r.Fail(field, "%w", err)
	case p != p.Masked():
		r.Fail(field, "%q has host bits, expected %s", text, p.Masked())
	default:
		return ipconv.Prefix(p)
	}
	return ip_types.Prefix{}
}

// Masked is Network without the host bits of the text.
func (r *Resolver) Masked(field, text string) ip_types.Prefix {
	p, err := ipconv.ParsePrefix(text)
	if err != nil {
		r.Fail(field, "%w", err)
		return ip_types.Prefix{}
	}
	return ipconv.Prefix(p.Masked())
}

// Prefixes returns addresses with prefix length, sorted, each once; their order in a value has
// no meaning.
func (r *Resolver) Prefixes(field string, texts []string) (all []ip_types.Prefix) {
	for i, text := range texts {
		p, err := ipconv.ParsePrefix(text)
		if err != nil {
			r.Fail(fmt.Sprintf("%s[%d]", field, i), "%w", err)
			continue
		}
		all = append(all, ipconv.Prefix(p))
	}
	slices.SortFunc(all, ComparePrefixes)
	return slices.Compact(all)
}

// ComparePrefixes orders prefixes.
func ComparePrefixes(a, b ip_types.Prefix) int {
	return ipconv.FromPrefix(a).Compare(ipconv.FromPrefix(b))
}

// UsesTableOf removes the value before the VRF table of an interface changes, and makes it
// again afterwards: VPP looks the table up when the value is made.
func (r *Resolver) UsesTableOf(iface string) {
	r.DependsOnAny("interface-assigned-to-vrf-table", kvs.AnyOfDependency{KeyPrefixes: []string{ifmodel.VrfKey.Prefix(iface)}})
}

// UsesNeighborsOf is for a neighbour with an address that VPP drops when its interface goes down or loses
// the address that covers it. The value is deleted before the agent makes such a change, and created again
// afterwards. Call it after Interface, whose dependency it changes.
func (r *Resolver) UsesNeighborsOf(iface string, addr ip_types.Address) {
	if !r.waits {
		return
	}
	key, neighbor := ifmodel.InterfaceModel.KeyFor(iface), ipconv.FromAddress(addr)
	for n := range r.deps {
		if r.deps[n].Key == key {
			r.deps[n].Recreates = func(old, i proto.Message) bool {
				before, ok := old.(*interfaces.Interface)
				after, too := i.(*interfaces.Interface)
				return ok && too && ifmodel.LosesNeighbor(before, after, neighbor)
			}
		}
	}
	r.DependsOn("interface-has-its-addresses", ifmodel.NeighborsKey.Key(iface))
}

// TableOf returns the VRF table that the interface with a name is configured with; 0 without
// VPP.
func (r *Resolver) TableOf(iface string) uint32 {
	r.UsesTableOf(iface)
	if !r.vpp {
		return 0
	}
	m, ok := r.ifs.LookupByName(iface)
	if !ok {
		return 0
	}
	return m.Vrf
}

// MAC returns a MAC address.
func (r *Resolver) MAC(field, text string) ethernet_types.MacAddress {
	mac, err := ipconv.ParseMAC(text)
	if err != nil {
		r.Fail(field, "%w", err)
	}
	return mac
}

// Range returns a number that is at least low and at most high.
func (r *Resolver) Range(field string, n, low, high uint32) uint32 {
	if n < low || n > high {
		r.Fail(field, "%d, expected %d to %d", n, low, high)
	}
	return n
}

// Enum makes the value invalid if its enum has no value with the number of e.
func (r *Resolver) Enum(field string, e protoreflect.Enum) {
	values := e.Descriptor().Values()
	if values.ByNumber(e.Number()) != nil {
		return
	}
	names := make([]string, values.Len())
	for i := range names {
		names[i] = string(values.Get(i).Name())
	}
	r.Fail(field, "%d, expected %s", e.Number(), strings.Join(names, ", "))
}

// Names gives the names of what entries refer to by a number. An entry that refers to
// something without a name is none of the agent's.
type Names struct {
	snapshot *ifaceidx.Snapshot
	unknown  bool
	// named reports that the value refers to something with a name.
	named bool
	// untagged are the interfaces without a tag that the value refers to.
	untagged []string
	// gone reports that the value refers to something else without a name, such as a deleted interface.
	gone bool
	// placeholder is returned as the name of an interface without a tag.
	placeholder string
}

// Interface returns the name of the interface with an index.
func (n *Names) Interface(index interface_types.InterfaceIndex) string {
	name, ok := n.snapshot.Name(uint32(index))
	if text, untagged := n.snapshot.Untagged(uint32(index)); !ok && untagged {
		n.unknown, n.untagged = true, append(n.untagged, text)
		return n.placeholder
	}
	return n.Known(name, ok)
}

// next starts with another value.
func (n *Names) next() { *n = Names{snapshot: n.snapshot} }

// partly reports whether to report a value although it refers to an interface without a tag. It does
// so if the key of the value does not contain the name of the interface, or if the value refers to
// something with a name, too; in the latter case the value is a foreign part. partly then marks the
// value with the interface and returns its key. keyWith returns the key of the value with the names of n.
func (n *Names) partly(v proto.Message, keyWith func(n *Names) string) (key string, ok bool) {
	if len(n.untagged) == 0 || n.gone {
		return "", false
	}
	key = keyWith(&Names{snapshot: n.snapshot})
	if key != keyWith(&Names{snapshot: n.snapshot, placeholder: "?"}) {
		if !n.named {
			return "", false
		}
		key = kvs.ForeignKey(key, partName(n.untagged[0]))
	}
	kvs.AddUnmodeled(v, n.untagged...)
	n.unknown = false
	return key, true
}

// LookupInterface returns the name of the interface with an index, if it has one.
func (n *Names) LookupInterface(index uint32) (string, bool) { return n.snapshot.Name(index) }

// Known returns the name if ok.
func (n *Names) Known(name string, ok bool) string {
	if ok {
		n.named = true
	} else {
		n.unknown, n.gone = true, true
	}
	return name
}

func (n *Names) err() error {
	if n.snapshot == nil {
		return nil
	}
	return n.snapshot.Err()
}

// Addr returns the text of an address.
func Addr(a ip_types.Address) string { return ipconv.FromAddress(a).String() }
