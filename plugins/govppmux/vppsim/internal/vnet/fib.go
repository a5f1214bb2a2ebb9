package vnet

import (
	"cmp"
	"fmt"
	"iter"
	"net/netip"
	"slices"
)

// fibSourceID says who a route comes from; the numbers are VPP's and appear in the
// second version of the route messages.
type fibSourceID uint8

const (
	sourceSpecial   fibSourceID = 1
	sourceInterface fibSourceID = 4
	sourceAPI       fibSourceID = 8
	sourceADJ       fibSourceID = 15
	sourceRecursive fibSourceID = 18
	sourceDefault   fibSourceID = 20
)

// priority orders the sources of one prefix: the lowest forwards, the others are
// remembered.
func (s fibSourceID) priority() uint8 {
	switch s {
	case sourceSpecial:
		return 0x00
	case sourceInterface:
		return 0x03
	case sourceADJ:
		return 0xd0
	case sourceRecursive:
		return 0xfb
	case sourceDefault:
		return 0xfd
	}
	return 0x80 + uint8(s-sourceAPI)
}

// fibs holds the routing tables by family and table ID.
type fibs struct {
	tables    [families]map[uint32]*fibTable
	nextStats uint32
	freeStats []uint32
}

// fibTable is one routing table. It lives as long as something holds it: the API,
// interfaces bound to it, neighbours, or routes that look up in it.
type fibTable struct {
	id       uint32
	family   family
	name     string
	api      bool // created with ip_table_add_del
	bound    int  // interfaces bound to it (not counted for table 0)
	adjs     int  // neighbours with an entry in it
	lookups  int  // paths of other routes that continue here
	flowHash uint32
	routes   map[netip.Prefix]*fibEntry
}

// fibEntry is a prefix with what each source said about it, best source first. The
// prefix is shown the way it was first given, host bits included: the connected
// prefix of 10.0.0.1/24 reads 10.0.0.1/24.
type fibEntry struct {
	prefix  netip.Prefix
	stats   uint32
	sources []fibSource
}

// fibSource is the contribution of one source.
type fibSource struct {
	id    fibSourceID
	refs  int // of sources that count: how many routes resolve through the prefix
	paths []fibPath
}

func (e *fibEntry) best() *fibSource { return &e.sources[0] }

// from returns the contribution of a source, nil if there is none.
func (e *fibEntry) from(id fibSourceID) *fibSource {
	for at := range e.sources {
		if e.sources[at].id == id {
			return &e.sources[at]
		}
	}
	return nil
}

// newFIBs makes the tables that always exist.
func newFIBs() fibs {
	f := fibs{nextStats: 1}
	for fam := range families {
		f.tables[fam] = make(map[uint32]*fibTable)
		f.create(fam, 0, "").api = true
	}
	return f
}

// create makes a table with the routes that every table has.
func (f *fibs) create(fam family, id uint32, name string) *fibTable {
	if name == "" {
		name = fmt.Sprintf("%s-VRF:%d", []string{"ipv4", "ipv6"}[fam], id)
	}
	t := &fibTable{id: id, family: fam, name: name, routes: make(map[netip.Prefix]*fibEntry)}
	f.tables[fam][id] = t
	drop := []fibPath{dropPath(fam)}
	if fam == ip6 {
		f.set(t, netip.PrefixFrom(netip.IPv6Unspecified(), 0), sourceDefault, drop)
		f.set(t, netip.MustParsePrefix("fe80::/10"), sourceSpecial, []fibPath{linkLocalPath()})
		return t
	}
	f.set(t, netip.MustParsePrefix("0.0.0.0/0"), sourceDefault, drop)
	f.set(t, netip.MustParsePrefix("0.0.0.0/32"), sourceDefault, drop)
	f.set(t, netip.MustParsePrefix("240.0.0.0/4"), sourceSpecial, drop)
	f.set(t, netip.MustParsePrefix("224.0.0.0/4"), sourceSpecial, drop)
	f.set(t, netip.MustParsePrefix("255.255.255.255/32"), sourceDefault, drop)
	return t
}

// release destroys a table that nothing holds any more, with all routes in it.
func (f *fibs) release(t *fibTable) {
	if t.api || t.bound > 0 || t.adjs > 0 || t.lookups > 0 {
		return
	}
	for prefix, entry := range t.routes {
		for _, source := range slices.Clone(entry.sources) {
			f.remove(t, prefix, source.id)
		}
	}
	delete(f.tables[t.family], t.id)
}

// set makes paths the whole contribution of a source to a prefix.
func (f *fibs) set(t *fibTable, prefix netip.Prefix, id fibSourceID, paths []fibPath) *fibEntry {
	entry, source := f.source(t, prefix, id)
	old := source.paths
	source.paths = paths
	f.track(paths)
	f.untrack(old)
	return entry
}

// add adds paths to the contribution of a source. A path that differs from an
// existing one in weight or preference only is that path, and changes nothing.
func (f *fibs) add(t *fibTable, prefix netip.Prefix, id fibSourceID, paths []fibPath) *fibEntry {
	entry, source := f.source(t, prefix, id)
	old := source.paths
	merged := slices.Clone(old)
	for _, p := range paths {
		if !slices.ContainsFunc(old, p.same) {
			merged = append(merged, p)
		}
	}
	slices.SortStableFunc(merged, fibPath.compare)
	source.paths = merged
	f.track(merged)
	f.untrack(old)
	return entry
}

// removePaths takes paths out of the contribution of a source, and the source out
// of the prefix with the last of them.
func (f *fibs) removePaths(t *fibTable, prefix netip.Prefix, id fibSourceID, paths []fibPath) {
	entry := t.routes[prefix.Masked()]
	if entry == nil || entry.from(id) == nil {
		return
	}
	source := entry.from(id)
	kept := slices.Clone(source.paths)
	for _, p := range paths {
		if at := slices.IndexFunc(kept, p.same); at >= 0 {
			kept = slices.Delete(kept, at, at+1)
		}
	}
	if len(kept) == 0 {
		f.remove(t, prefix, id)
		return
	}
	old := source.paths
	source.paths = kept
	f.track(kept)
	f.untrack(old)
}

// remove takes a source away from a prefix, and the prefix out of the table with
// its last source.
func (f *fibs) remove(t *fibTable, prefix netip.Prefix, id fibSourceID) {
	key := prefix.Masked()
	entry := t.routes[key]
	if entry == nil {
		return
	}
	at := slices.IndexFunc(entry.sources, func(s fibSource) bool { return s.id == id })
	if at < 0 {
		return
	}
	old := entry.sources[at].paths
	entry.sources = slices.Delete(entry.sources, at, at+1)
	if len(entry.sources) == 0 {
		delete(t.routes, key)
		f.freeStats = append(f.freeStats, entry.stats)
	}
	f.untrack(old)
}

// source returns the entry of a prefix and its contribution of a source, making
// what is missing.
func (f *fibs) source(t *fibTable, prefix netip.Prefix, id fibSourceID) (*fibEntry, *fibSource) {
	key := prefix.Masked()
	entry := t.routes[key]
	if entry == nil {
		entry = &fibEntry{prefix: prefix, stats: f.statsIndex(), sources: []fibSource{{id: id}}}
		t.routes[key] = entry
		return entry, &entry.sources[0]
	}
	if source := entry.from(id); source != nil {
		return entry, source
	}
	at, _ := slices.BinarySearchFunc(entry.sources, id.priority(), func(s fibSource, priority uint8) int {
		return cmp.Compare(s.id.priority(), priority)
	})
	entry.sources = slices.Insert(entry.sources, at, fibSource{id: id})
	return entry, &entry.sources[at]
}

// statsIndex hands out the index of an entry's counters.
func (f *fibs) statsIndex() uint32 {
	if last := len(f.freeStats) - 1; last >= 0 {
		index := f.freeStats[last]
		f.freeStats = f.freeStats[:last]
		return index
	}
	f.nextStats++
	return f.nextStats - 1
}

// track registers what paths stand on: the next hop of a recursive one becomes an
// entry of its table, a lookup in another table holds that table.
func (f *fibs) track(paths []fibPath) {
	for at := range paths {
		p := &paths[at]
		t := f.tables[p.family()][p.table]
		switch {
		case t == nil:
		case p.kind == pathRecursive:
			_, source := f.source(t, p.hostPrefix(), sourceRecursive)
			source.refs++
		case p.kind == pathDeag:
			t.lookups++
		}
	}
}

// untrack undoes track.
func (f *fibs) untrack(paths []fibPath) {
	for at := range paths {
		p := &paths[at]
		t := f.tables[p.family()][p.table]
		switch {
		case t == nil:
		case p.kind == pathRecursive:
			if entry := t.routes[p.hostPrefix()]; entry != nil && entry.from(sourceRecursive) != nil {
				if source := entry.from(sourceRecursive); source.refs > 1 {
					source.refs--
				} else {
					f.remove(t, p.hostPrefix(), sourceRecursive)
				}
			}
		case p.kind == pathDeag:
			t.lookups--
			f.release(t)
		}
	}
}

// cover returns the entry of the longest prefix that contains a prefix, itself
// excluded. Every prefix but the default route has one.
func (t *fibTable) cover(prefix netip.Prefix) (netip.Prefix, *fibEntry) {
	for bits := prefix.Bits() - 1; bits >= 0; bits-- {
		wider := netip.PrefixFrom(prefix.Addr(), bits).Masked()
		if entry := t.routes[wider]; entry != nil {
			return wider, entry
		}
	}
	return netip.Prefix{}, nil
}

// paths returns the paths that a prefix forwards with, as dumps show them. A prefix
// that is there only because routes resolve through it uses those of its cover.
func (t *fibTable) paths(prefix netip.Prefix, entry *fibEntry) []fibPath {
	for hops := 0; entry.best().id == sourceRecursive; hops++ {
		wider, cover := t.cover(prefix)
		if cover == nil || hops > prefix.Addr().BitLen() {
			return []fibPath{dropPath(t.family)}
		}
		if cover.best().id == sourceRecursive {
			prefix, entry = wider, cover
			continue
		}
		paths := cover.best().paths
		if at := slices.IndexFunc(paths, fibPath.isAttached); at >= 0 {
			return []fibPath{attachedPath(paths[at].out, prefix.Addr())}
		}
		if slices.ContainsFunc(paths, func(p fibPath) bool {
			return p.kind == pathRecursive && p.table == t.id && p.hostPrefix() == prefix
		}) {
			return []fibPath{dropPath(t.family)}
		}
		return paths
	}
	return entry.best().paths
}

// sorted walks the prefixes from the shortest to the longest, by address in between.
func (t *fibTable) sorted() iter.Seq2[netip.Prefix, *fibEntry] {
	prefixes := make([]netip.Prefix, 0, len(t.routes))
	for prefix := range t.routes {
		prefixes = append(prefixes, prefix)
	}
	slices.SortFunc(prefixes, func(a, b netip.Prefix) int {
		return cmp.Or(cmp.Compare(a.Bits(), b.Bits()), a.Addr().Compare(b.Addr()))
	})
	return func(yield func(netip.Prefix, *fibEntry) bool) {
		for _, prefix := range prefixes {
			if !yield(prefix, t.routes[prefix]) {
				return
			}
		}
	}
}
