package filedb

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/infra/kv"
)

// conflict is a key that has different values in several files.
type conflict struct {
	key    string
	places []string // where the values are, the last file last
	used   string   // where the value in effect was written; empty: in no file that was read
}

// Error says where the values are, and which one is in effect.
func (c conflict) Error() string {
	used := "the value from " + c.used + " stays in effect until one value is left"
	if c.used == "" {
		used = "the value from before the restart stays in effect until one value is left; if there is none, the value from " + c.places[len(c.places)-1] + " is used"
	}
	return fmt.Sprintf("key %s: different values in %s: %s; %s", c.key, plural(len(c.places), "file"), strings.Join(c.places, ", "), used)
}

// ItemKey returns the key.
func (c conflict) ItemKey() string { return c.key }

// merged returns the entries of all files, sorted by key. If files have
// different values for a key, the entry that was reported before stays in effect.
// Without one it is that in the last file, by path.
func (r *reader) merged(told []kv.Entry) (entries []kv.Entry, conflicts []conflict) {
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
	for n := 0; len(all) > 0; all = all[n:] {
		last := *all[0].Entry
		var places []string
		same := true
		for n = 0; n < len(all) && all[n].Key == last.Key; n++ {
			same = same && sameValue(all[0].Entry, all[n].Entry)
			last = *all[n].Entry
			places = append(places, cmp.Or(last.Location.Text(last.Key), all[n].path))
		}
		if !same {
			c := conflict{key: last.Key, places: places}
			last, c.used = settled(last, told)
			conflicts = append(conflicts, c)
		}
		entries = append(entries, last)
	}
	return entries, conflicts
}

// settled returns the entry that is in effect during a conflict, and its location if it
// is known: the entry that was reported before, or else the last one.
func settled(last kv.Entry, told []kv.Entry) (entry kv.Entry, used string) {
	i, ok := slices.BinarySearchFunc(told, last.Key, func(e kv.Entry, key string) int { return cmp.Compare(e.Key, key) })
	switch {
	case !ok:
		last.Disputed = true
		return last, ""
	case told[i].Disputed:
		return told[i], ""
	}
	return told[i], told[i].Location.Text(last.Key)
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
			changes = append(changes, kv.Change{Entry: kv.Entry{Key: a.Key}, Deleted: true, Inferred: true})
		case a == nil || !sameEntry(a, b):
			changes = append(changes, kv.Change{Entry: *b, Inferred: true})
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
	return a.Location.Equal(b.Location) && a.Disputed == b.Disputed && sameValue(a, b)
}

func sameValue(a, b *kv.Entry) bool {
	x, okX := a.Value.(kv.Decoded)
	y, okY := b.Value.(kv.Decoded)
	return okX && okY && proto.Equal(x.Message, y.Message)
}
