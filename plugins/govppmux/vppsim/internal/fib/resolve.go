package fib

import (
	"cmp"
	"iter"
	"net/netip"
	"slices"
)

// track registers what paths stand on: the next hop of a recursive one becomes an
// entry of its table, a lookup in another table holds that table.
func (f *Tables) track(paths []Path) {
	for at := range paths {
		p := &paths[at]
		t := f.tables[p.Family()][p.table]
		switch {
		case t == nil:
		case p.kind == KindRecursive:
			_, source := f.source(t, p.hostPrefix(), SourceRecursive)
			if source.refs == 0 {
				source.since = f.clock
			}
			source.refs++
		case p.kind == KindDeag:
			t.lookups++
		}
	}
}

// untrack undoes track.
func (f *Tables) untrack(paths []Path) {
	for at := range paths {
		p := &paths[at]
		t := f.tables[p.Family()][p.table]
		switch {
		case t == nil:
		case p.kind == KindRecursive:
			if entry := t.routes[p.hostPrefix()]; entry != nil && entry.from(SourceRecursive) != nil {
				if source := entry.from(SourceRecursive); source.refs > 1 {
					source.refs--
				} else {
					f.Remove(t, p.hostPrefix(), SourceRecursive)
				}
			}
		case p.kind == KindDeag:
			t.lookups--
			f.Release(t)
		}
	}
}

// Entry returns the entry of exactly a prefix, nil if there is none.
func (t *Table) Entry(prefix netip.Prefix) *Entry { return t.routes[prefix.Masked()] }

// Len returns the number of prefixes.
func (t *Table) Len() int { return len(t.routes) }

// Cover returns the entry of the longest prefix that contains a prefix, itself
// excluded. Every prefix but the default route has one.
func (t *Table) Cover(prefix netip.Prefix) (netip.Prefix, *Entry) {
	for bits := prefix.Bits() - 1; bits >= 0; bits-- {
		wider := netip.PrefixFrom(prefix.Addr(), bits).Masked()
		if entry := t.routes[wider]; entry != nil {
			return wider, entry
		}
	}
	return netip.Prefix{}, nil
}

// Paths returns the paths that a prefix forwards with, as dumps show them. A prefix
// that is there only because routes resolve through it uses the paths of its cover.
func (t *Table) Paths(prefix netip.Prefix, entry *Entry) []Path {
	since := entry.Best().since
	for hops := 0; entry.Best().ID == SourceRecursive; hops++ {
		wider, cover := t.Cover(prefix)
		if cover == nil || hops > prefix.Addr().BitLen() {
			return []Path{Drop(t.Family)}
		}
		if cover.Best().ID == SourceRecursive {
			prefix, entry = wider, cover
			continue
		}
		paths := cover.Best().paths
		if at := slices.IndexFunc(paths, func(p Path) bool { return t.leadsOntoLink(&p, since) }); at >= 0 {
			return []Path{ToNeighbor(paths[at].out, prefix.Addr())}
		}
		if slices.ContainsFunc(paths, func(p Path) bool {
			return p.kind == KindRecursive && p.table == t.ID && p.hostPrefix() == prefix
		}) {
			return []Path{Drop(t.Family)}
		}
		return paths
	}
	return entry.Best().paths
}

// leadsOntoLink says whether a path goes onto a link that existed at some time: what
// was resolved then stays resolved.
func (t *Table) leadsOntoLink(p *Path, since uint64) bool {
	if p.kind != KindAttached {
		return false
	}
	deaths := t.all.deaths[p.out]
	return p.life >= len(deaths) || deaths[p.life] > since
}

// Sorted walks the prefixes from the shortest to the longest, by address in between.
func (t *Table) Sorted() iter.Seq2[netip.Prefix, *Entry] {
	prefixes := make([]netip.Prefix, 0, len(t.routes))
	for prefix := range t.routes {
		prefixes = append(prefixes, prefix)
	}
	slices.SortFunc(prefixes, func(a, b netip.Prefix) int {
		return cmp.Or(cmp.Compare(a.Bits(), b.Bits()), a.Addr().Compare(b.Addr()))
	})
	return func(yield func(netip.Prefix, *Entry) bool) {
		for _, prefix := range prefixes {
			if !yield(prefix, t.routes[prefix]) {
				return
			}
		}
	}
}
