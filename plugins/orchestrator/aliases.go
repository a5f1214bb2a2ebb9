package orchestrator

import (
	"fmt"
	"maps"
	"slices"

	"google.golang.org/protobuf/proto"
)

// The predecessor took items of stores under whatever key they had. Users have routes without
// "if/<interface>/" and singletons below "/settings". Such an item is configured under the key
// of its value. If the store has several keys for one item, the key of the value counts, or
// else the first of the other keys.

// storeItem is an item of a store, with the key that it has there.
type storeItem struct {
	KeyVal        // Key is the key of the value
	stored string // the key in the store
}

// aliases are the items that a store has under keys that differ from the keys of their values.
type aliases struct {
	byStored map[string]string // the key of the value, by the key in the store
	shared   map[string]*sharedKey
	logged   map[string]bool // prefixes of keys
}

// sharedKey is what a store has for one key of a value.
type sharedKey struct {
	own    *KeyVal           // under this key; nil if there is none
	others map[string]KeyVal // by the key in the store
}

// resolved is what resolve returns.
type resolved struct {
	items    []KeyVal // under the keys of their values
	rejected []Rejected
	renamed  []string // keys of the store that are used under another key from now on
	accepted []string // keys of the store that are no longer rejected
}

// resolve returns the items under the keys of their values. current returns what the store had
// for a key before.
func (a *aliases) resolve(in []storeItem, resync bool, current func(key string) (KeyVal, bool)) (r resolved) {
	a.share(in, resync, current)
	r.items = make([]KeyVal, 0, len(in))
	touched := map[string]bool{}
	for _, it := range in {
		if before, ok := a.byStored[it.stored]; ok && before != it.Key {
			delete(a.shared[before].others, it.stored)
			delete(a.byStored, it.stored)
			touched[before] = true
			if r.accepted = append(r.accepted, it.stored); it.Val == nil {
				continue
			}
		}
		if a.shared[it.Key] == nil {
			r.items = append(r.items, it.KeyVal)
			continue
		}
		if a.put(it) {
			r.renamed = append(r.renamed, it.stored)
		}
		touched[it.Key] = true
	}
	for _, key := range slices.Sorted(maps.Keys(touched)) {
		kv, wrong, right := a.shared[key].choose(key)
		r.items, r.rejected, r.accepted = append(r.items, kv), append(r.rejected, wrong...), append(r.accepted, right...)
		if len(a.shared[key].others) == 0 {
			delete(a.shared, key)
		}
	}
	return r
}

// share adds the keys that items with other keys in the store share.
func (a *aliases) share(in []storeItem, resync bool, current func(key string) (KeyVal, bool)) {
	if resync || a.byStored == nil {
		a.byStored, a.shared = map[string]string{}, map[string]*sharedKey{}
	}
	for _, it := range in {
		if it.Val == nil || it.stored == it.Key || a.shared[it.Key] != nil {
			continue
		}
		s := &sharedKey{others: map[string]KeyVal{}}
		if kv, ok := current(it.Key); ok && !resync {
			s.own = &kv
		}
		a.shared[it.Key] = s
	}
}

// put stores an item of a shared key. It reports whether the store has a new key for it.
func (a *aliases) put(it storeItem) (renamed bool) {
	s := a.shared[it.Key]
	switch {
	case it.stored != it.Key:
		_, known := a.byStored[it.stored]
		a.byStored[it.stored], s.others[it.stored] = it.Key, it.KeyVal
		return !known
	case it.Val == nil:
		s.own = nil
	default:
		kv := it.KeyVal
		s.own = &kv
	}
	return false
}

// choose returns the item for a key, without a value if there is none. wrong are the keys in the
// store that have other values, right those that have the same value.
func (s *sharedKey) choose(key string) (chosen KeyVal, wrong []Rejected, right []string) {
	chosen = KeyVal{Key: key}
	by := key
	if s.own != nil {
		chosen = *s.own
	}
	for _, stored := range slices.Sorted(maps.Keys(s.others)) {
		kv := s.others[stored]
		if chosen.Val == nil {
			chosen, by = kv, stored
		}
		if proto.Equal(chosen.Val, kv.Val) {
			right = append(right, stored)
			continue
		}
		wrong = append(wrong, Rejected{Key: stored, Location: kv.Location.Text(stored), Err: fmt.Errorf(
			"key %s: its value has the key %s, for which key %s has another value; remove one of the two keys", stored, key, by)})
	}
	return chosen, wrong, right
}

// readStore decodes the items of an event of a store, and notes what is wrong. missing are the
// unknown parts of the store.
func (p *Plugin) readStore(s *watched, in []incoming, resync bool) (items []KeyVal, missing []string) {
	read, rejected := p.read(s.name, in)
	if renamed := slices.ContainsFunc(read, func(it storeItem) bool { return it.stored != it.Key }); !renamed && (resync || len(s.aliases.byStored) == 0) {
		s.aliases.byStored, s.aliases.shared = nil, nil
		items = make([]KeyVal, len(read))
		for i, it := range read {
			items[i] = it.KeyVal
		}
		return items, p.noteRejected(s.name, rejected, items, resync)
	}
	r := s.aliases.resolve(read, resync, func(key string) (KeyVal, bool) {
		p.mu.RLock()
		defer p.mu.RUnlock()
		it, ok := p.store.source(s.name).items[key]
		return it.of(key), ok
	})
	good := slices.Clone(r.items)
	for _, key := range r.accepted {
		good = append(good, KeyVal{Key: key})
	}
	p.logRenamed(s, r.renamed)
	return r.items, p.noteRejected(s.name, append(rejected, r.rejected...), good, resync)
}

// logRenamed logs once for each model that keys of a store differ from the keys of their values.
func (p *Plugin) logRenamed(s *watched, renamed []string) {
	byPrefix := map[string][]string{}
	for _, key := range renamed {
		if m, ok := p.Codec.Models().ForStoredKey(key); ok {
			byPrefix[m.KeyPrefix()] = append(byPrefix[m.KeyPrefix()], key)
		}
	}
	for _, prefix := range slices.Sorted(maps.Keys(byPrefix)) {
		if s.aliases.logged[prefix] {
			continue
		}
		if s.aliases.logged == nil {
			s.aliases.logged = map[string]bool{}
		}
		s.aliases.logged[prefix] = true
		keys := byPrefix[prefix]
		p.Log.Warn("keys of the store differ from the keys of their values; the items are used under the keys of the values", "source", s.name,
			"prefix", prefix, "keys", len(keys), "key", keys[0], "used-as", s.aliases.byStored[keys[0]])
	}
}
