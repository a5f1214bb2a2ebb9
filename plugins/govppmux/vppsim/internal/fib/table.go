// Package fib is the routing state of a simulated VPP: tables of prefixes, each with
// the contributions of several sources; the best one forwards, as VPP's FIB
// keeps them and as its dumps show them.
//
// All methods need the caller to exclude concurrent ones.
package fib

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"net/netip"
	"slices"
)

// None is VPP's "no interface": all bits set.
const None = ^uint32(0)

// Family selects between IPv4 and IPv6, as an array index.
type Family int

// The address families, and how many there are.
const (
	IP4 Family = iota
	IP6
	Families
)

// FamilyOf returns the family of an address.
func FamilyOf(a netip.Addr) Family {
	if a.Is4() {
		return IP4
	}
	return IP6
}

// String names the family as VPP's command line does.
func (f Family) String() string {
	if f == IP6 {
		return "ip6"
	}
	return "ip4"
}

// SourceID says who a route comes from; the numbers are VPP's and appear in the
// second version of the route messages.
type SourceID uint8

// The sources that the simulator uses itself; others may come with requests.
const (
	SourceSpecial   SourceID = 1
	SourceInterface SourceID = 4
	SourceAPI       SourceID = 8
	SourceDHCP      SourceID = 12
	SourceADJ       SourceID = 15
	SourceRecursive SourceID = 18
	SourceDefault   SourceID = 20
	// SourceSVS is the number that the plugin svs gets if all plugins of VPP are loaded.
	SourceSVS SourceID = 37
)

// priority orders the sources of one prefix: the lowest forwards, the others are
// remembered.
func (s SourceID) priority() uint8 {
	switch s {
	case SourceSpecial:
		return 0x00
	case SourceInterface:
		return 0x03
	case SourceADJ:
		return 0xd0
	case SourceRecursive:
		return 0xfb
	case SourceDefault:
		return 0xfd
	}
	return 0x80 + uint8(s-SourceAPI)
}

// Tables holds the routing tables by family and table ID.
type Tables struct {
	tables    [Families]map[uint32]*Table
	deaths    map[uint32][]uint64 // when interfaces of each index were deleted, by clock
	clock     uint64              // counts deletions of interfaces
	nextStats uint32
	freeStats []uint32
	indexes   [Families]uint32 // how many tables there were at most
	freeIndex [Families][]uint32
	dropVia   uint32 // the interface in paths that drop
}

// Table is one routing table. It lives as long as something holds it: the API,
// interfaces bound to it, neighbours, or routes that look up in it.
type Table struct {
	// ID is the table's number in the API, Name what ip_table_add_del called it.
	ID   uint32
	Name string
	// Index is the table's number inside of VPP, among the tables of its family.
	Index uint32
	// Family says whether it routes IPv4 or IPv6.
	Family Family
	// API is set while the table is held through ip_table_add_del.
	API bool
	// Bound counts the interfaces in the table (not for table 0), Held what else
	// keeps it: neighbours with a route in it, DHCP proxies and servers.
	Bound, Held int
	// FlowHash is the configuration of load balancing, as the API gave it.
	FlowHash uint32

	all     *Tables
	lookups int // paths of other routes that continue here
	routes  map[netip.Prefix]*Entry
}

// Multicast reports that there is a table for multicast of the same ID, as there is
// while one is held through the API or by interfaces.
func (t *Table) Multicast() bool { return t.API || t.Bound > 0 }

// Entry is a prefix with what each source said about it, best source first. The
// prefix is shown the way it was first given, host bits included: the connected
// prefix of 10.0.0.1/24 reads 10.0.0.1/24.
type Entry struct {
	// Prefix is what dumps show, Stats the index of the entry's counters.
	Prefix netip.Prefix
	Stats  uint32

	sources []Source
}

// Source is the contribution of one source.
type Source struct {
	// ID says who it comes from.
	ID SourceID

	refs  int    // of sources that count: how many routes resolve through the prefix
	since uint64 // of the same: the clock when the first did
	paths []Path
}

// Best returns the contribution in effect.
func (e *Entry) Best() *Source { return &e.sources[0] }

// ByUser returns the contributions that did not come about by themselves.
func (e *Entry) ByUser() []*Source {
	var asked []*Source
	for at := range e.sources {
		switch s := &e.sources[at]; s.ID {
		case SourceSpecial, SourceInterface, SourceADJ, SourceRecursive, SourceDefault:
		default:
			asked = append(asked, s)
		}
	}
	return asked
}

// Paths returns the paths of a contribution.
func (s *Source) Paths() []Path { return s.paths }

// from returns the contribution of a source, nil if there is None.
func (e *Entry) from(id SourceID) *Source {
	for at := range e.sources {
		if e.sources[at].ID == id {
			return &e.sources[at]
		}
	}
	return nil
}

// Table returns a table, nil if there is none with the ID.
func (f *Tables) Table(family Family, id uint32) *Table { return f.tables[family][id] }

// All walks the tables of a family by ID.
func (f *Tables) All(family Family) iter.Seq[*Table] {
	return func(yield func(*Table) bool) {
		for _, id := range slices.Sorted(maps.Keys(f.tables[family])) {
			if !yield(f.tables[family][id]) {
				return
			}
		}
	}
}

// ByIndex walks the tables of a family as VPP does.
func (f *Tables) ByIndex(family Family) iter.Seq[*Table] {
	tables := slices.Collect(maps.Values(f.tables[family]))
	slices.SortFunc(tables, func(a, b *Table) int { return cmp.Compare(a.Index, b.Index) })
	return slices.Values(tables)
}

// Options are what releases of VPP differ in.
type Options struct {
	// DropViaLocal0: routes that drop lead to the interface 0 (until 23.10).
	DropViaLocal0 bool
}

// New makes the tables that always exist.
func New(opts Options) *Tables {
	f := &Tables{nextStats: 1, deaths: make(map[uint32][]uint64), dropVia: None}
	if opts.DropViaLocal0 {
		f.dropVia = 0
	}
	for fam := range Families {
		f.tables[fam] = make(map[uint32]*Table)
		f.Create(fam, 0, "").API = true
	}
	return f
}

// Create makes a table with the routes that every table has.
func (f *Tables) Create(fam Family, id uint32, name string) *Table {
	if name == "" {
		name = fmt.Sprintf("%s-VRF:%d", []string{"ipv4", "ipv6"}[fam], id)
	}
	t := &Table{all: f, ID: id, Index: f.takeIndex(fam), Family: fam, Name: name, routes: make(map[netip.Prefix]*Entry)}
	f.tables[fam][id] = t
	drop := []Path{Drop(fam)}
	if fam == IP6 {
		f.Set(t, netip.PrefixFrom(netip.IPv6Unspecified(), 0), SourceDefault, drop)
		f.Set(t, netip.MustParsePrefix("fe80::/10"), SourceSpecial, []Path{linkLocal()})
		return t
	}
	f.Set(t, netip.MustParsePrefix("0.0.0.0/0"), SourceDefault, drop)
	f.Set(t, netip.MustParsePrefix("0.0.0.0/32"), SourceDefault, drop)
	f.Set(t, netip.MustParsePrefix("240.0.0.0/4"), SourceSpecial, drop)
	f.Set(t, netip.MustParsePrefix("224.0.0.0/4"), SourceSpecial, drop)
	f.Set(t, netip.MustParsePrefix("255.255.255.255/32"), SourceDefault, drop)
	return t
}

// takeIndex returns the index that was freed last, or a new one.
func (f *Tables) takeIndex(fam Family) uint32 {
	if last := len(f.freeIndex[fam]) - 1; last >= 0 {
		index := f.freeIndex[fam][last]
		f.freeIndex[fam] = f.freeIndex[fam][:last]
		return index
	}
	f.indexes[fam]++
	return f.indexes[fam] - 1
}

// Release destroys a table that nothing holds, with all routes in it.
func (f *Tables) Release(t *Table) {
	if t.API || t.Bound > 0 || t.Held > 0 || t.lookups > 0 {
		return
	}
	for prefix, entry := range t.routes {
		for _, source := range slices.Clone(entry.sources) {
			f.Remove(t, prefix, source.ID)
		}
	}
	delete(f.tables[t.Family], t.ID)
	f.freeIndex[t.Family] = append(f.freeIndex[t.Family], t.Index)
}

// Set makes paths the whole contribution of a source to a prefix.
func (f *Tables) Set(t *Table, prefix netip.Prefix, id SourceID, paths []Path) *Entry {
	entry, source := f.source(t, prefix, id)
	old := source.paths
	f.stamp(paths)
	source.paths = paths
	f.track(paths)
	f.untrack(old)
	return entry
}

// Add adds paths to the contribution of a source. A path that differs from an
// existing one in weight or preference only is that path, and changes nothing.
func (f *Tables) Add(t *Table, prefix netip.Prefix, id SourceID, paths []Path) *Entry {
	entry, source := f.source(t, prefix, id)
	old := source.paths
	merged := slices.Clone(old)
	f.stamp(paths)
	for _, p := range paths {
		if !slices.ContainsFunc(old, p.Same) {
			merged = append(merged, p)
		}
	}
	slices.SortStableFunc(merged, Path.Compare)
	source.paths = merged
	f.track(merged)
	f.untrack(old)
	return entry
}

// InterfaceDeleted reports that an interface is gone. Paths over it stay in the dumps
// but are dead, even when its index is used again.
func (f *Tables) InterfaceDeleted(index uint32) {
	f.clock++
	f.deaths[index] = append(f.deaths[index], f.clock)
}

// stamp notes which interface of an index the paths go over.
func (f *Tables) stamp(paths []Path) {
	for at := range paths {
		paths[at].life = len(f.deaths[paths[at].out])
	}
}

// RemovePaths takes paths out of the contribution of a source, and the source out
// of the prefix with the last of them.
func (f *Tables) RemovePaths(t *Table, prefix netip.Prefix, id SourceID, paths []Path) {
	entry := t.routes[prefix.Masked()]
	if entry == nil || entry.from(id) == nil {
		return
	}
	source := entry.from(id)
	kept := slices.Clone(source.paths)
	for _, p := range paths {
		if at := slices.IndexFunc(kept, p.Same); at >= 0 {
			kept = slices.Delete(kept, at, at+1)
		}
	}
	if len(kept) == 0 {
		f.Remove(t, prefix, id)
		return
	}
	old := source.paths
	source.paths = kept
	f.track(kept)
	f.untrack(old)
}

// Remove takes a source away from a prefix, and the prefix out of the table with
// its last source.
func (f *Tables) Remove(t *Table, prefix netip.Prefix, id SourceID) {
	key := prefix.Masked()
	entry := t.routes[key]
	if entry == nil {
		return
	}
	at := slices.IndexFunc(entry.sources, func(s Source) bool { return s.ID == id })
	if at < 0 {
		return
	}
	old := entry.sources[at].paths
	entry.sources = slices.Delete(entry.sources, at, at+1)
	if len(entry.sources) == 0 {
		delete(t.routes, key)
		f.freeStats = append(f.freeStats, entry.Stats)
	}
	f.untrack(old)
}

// Flush removes the contribution of a source from every prefix of a table.
func (f *Tables) Flush(t *Table, id SourceID) {
	for _, prefix := range slices.Collect(maps.Keys(t.routes)) {
		f.Remove(t, prefix, id)
	}
}

// source returns the entry of a prefix and its contribution of a source, making
// what is missing.
func (f *Tables) source(t *Table, prefix netip.Prefix, id SourceID) (*Entry, *Source) {
	key := prefix.Masked()
	entry := t.routes[key]
	if entry == nil {
		entry = &Entry{Prefix: prefix, Stats: f.statsIndex(), sources: []Source{{ID: id}}}
		t.routes[key] = entry
		return entry, &entry.sources[0]
	}
	if source := entry.from(id); source != nil {
		return entry, source
	}
	at, _ := slices.BinarySearchFunc(entry.sources, id.priority(), func(s Source, priority uint8) int {
		return cmp.Compare(s.ID.priority(), priority)
	})
	entry.sources = slices.Insert(entry.sources, at, Source{ID: id})
	return entry, &entry.sources[at]
}

// statsIndex hands out the index of an entry's counters.
func (f *Tables) statsIndex() uint32 {
	if last := len(f.freeStats) - 1; last >= 0 {
		index := f.freeStats[last]
		f.freeStats = f.freeStats[:last]
		return index
	}
	f.nextStats++
	return f.nextStats - 1
}
