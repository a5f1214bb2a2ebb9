package filedb

import (
	"cmp"
	"maps"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/infra/kv"
)

// conflict is a key in two files.
type conflict struct{ key, loser, winner string }

// merged returns the entries of all files, sorted by key. For duplicate keys,
// the entry in the last file, by path, is in effect.
func (r *reader) merged() (entries []kv.Entry, conflicts []conflict) {
	if len(r.files) == 1 { // the usual case; it saves a copy of a large file
		for _, f := range r.files {
			return f.entries, nil
		}
	}
	type located struct {
		*kv.Entry
		path string
	}
	var all []located
	for _, path := range slices.Sorted(maps.Keys(r.files)) {
		for i := range r.files[path].entries {
			all = append(all, located{&r.files[path].entries[i], path})
		}
	}
	slices.SortStableFunc(all, func(a, b located) int { return cmp.Compare(a.Key, b.Key) })
	for i, e := range all {
		if i+1 < len(all) && all[i+1].Key == e.Key {
			conflicts = append(conflicts, conflict{e.Key, e.path, all[i+1].path})
			continue
		}
		entries = append(entries, *e.Entry)
	}
	return entries, conflicts
}

// overlay merges two lists that are sorted by key; for duplicate keys, the
// entry of the second list wins.
func overlay(under, over []kv.Entry) []kv.Entry {
	all := make([]kv.Entry, 0, len(under)+len(over))
	walk(under, over, func(a, b *kv.Entry) {
		if b == nil {
			b = a
		}
		all = append(all, *b)
	})
	return all
}

// difference returns the changes from one content to another; all are sorted
// by key.
func difference(from, to []kv.Entry) []kv.Change {
	var changes []kv.Change
	if len(from) == 0 {
		changes = make([]kv.Change, 0, len(to))
	}
	walk(from, to, func(a, b *kv.Entry) {
		switch {
		case b == nil:
			changes = append(changes, kv.Change{Entry: kv.Entry{Key: a.Key}, Deleted: true})
		case a == nil || !sameEntry(a, b):
			changes = append(changes, kv.Change{Entry: *b})
		}
	})
	return changes
}

// walk calls f with the pairs of entries with the same key, in the order of
// the keys; an entry is nil if its list does not have the key.
func walk(a, b []kv.Entry, f func(a, b *kv.Entry)) {
	for len(a) > 0 || len(b) > 0 {
		order := 0
		switch {
		case len(a) == 0:
			order = 1
		case len(b) == 0:
			order = -1
		default:
			order = cmp.Compare(a[0].Key, b[0].Key)
		}
		switch {
		case order < 0:
			f(&a[0], nil)
			a = a[1:]
		case order > 0:
			f(nil, &b[0])
			b = b[1:]
		default:
			f(&a[0], &b[0])
			a, b = a[1:], b[1:]
		}
	}
}

func sameEntry(a, b *kv.Entry) bool {
	x, okX := a.Value.(kv.Decoded)
	y, okY := b.Value.(kv.Decoded)
	return okX && okY && a.Location.Equal(b.Location) && proto.Equal(x.Message, y.Message)
}
