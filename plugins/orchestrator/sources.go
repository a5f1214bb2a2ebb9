package orchestrator

import (
	"cmp"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/infra/kv"
)

// KeyVal is an item of a source: its key, and its value or nil to remove it.
type KeyVal struct {
	Key string
	Val proto.Message // must not be changed afterwards
	// Labels are stored with the item, for selection by clients.
	Labels map[string]string
	// Location is where the item was written; it may be unknown.
	Location kv.Location
}

// source has the items of one source.
type source struct {
	name  string
	items map[string]item // by key
}

// item is a KeyVal without its key.
type item struct {
	val      proto.Message
	labels   map[string]string
	location kv.Location
}

func itemOf(kv KeyVal) item { return item{kv.Val, kv.Labels, kv.Location} }

// of returns the item with its key.
func (it item) of(key string) KeyVal {
	return KeyVal{Key: key, Val: it.val, Labels: it.labels, Location: it.location}
}

// store has the items of every source, ordered by priority. If several sources
// have a value for a key, the value of the last source is in effect. It has no
// lock.
type store struct {
	rank    func(name string) rank
	sources []*source
}

// rank orders sources: by tier, then by position, then by name.
type rank struct {
	tier, place int
	name        string
}

func compareRanks(a, b rank) int {
	return cmp.Or(cmp.Compare(a.tier, b.tier), cmp.Compare(a.place, b.place), cmp.Compare(a.name, b.name))
}

// source returns the source with the given name, and creates it if necessary.
func (s *store) source(name string) *source {
	for _, src := range s.sources {
		if src.name == name {
			return src
		}
	}
	src := &source{name: name, items: map[string]item{}}
	s.sources = append(s.sources, src)
	slices.SortFunc(s.sources, func(a, b *source) int { return compareRanks(s.rank(a.name), s.rank(b.name)) })
	return src
}

// drop removes a source.
func (s *store) drop(name string) {
	s.sources = slices.DeleteFunc(s.sources, func(src *source) bool { return src.name == name })
}

// effective returns the value in effect for a key, and its source; the source
// is nil if there is none.
func (s *store) effective(key string) (KeyVal, *source) { return among(s.sources, key) }

// among is effective, restricted to the given sources.
func among(sources []*source, key string) (KeyVal, *source) {
	for _, src := range slices.Backward(sources) {
		if it, ok := src.items[key]; ok {
			return it.of(key), src
		}
	}
	return KeyVal{Key: key}, nil
}

// sourced returns the items of all sources for a key; none if no source has one.
func (s *store) sourced(key string) SourcedItem {
	item := SourcedItem{Key: key}
	for _, src := range slices.Backward(s.sources) {
		if it, ok := src.items[key]; ok {
			item.Sources = append(item.Sources, SourceItem{src.name, it.val, it.labels, it.location})
		}
	}
	return item
}

// shadowed returns the number of items of a source that another source overrides. It walks
// the sources above, whichever is smaller.
func (s *store) shadowed(src *source) (n int) {
	above := s.sources[slices.Index(s.sources, src)+1:]
	most := 0
	for _, other := range above {
		most += len(other.items)
	}
	if most == 0 {
		return 0
	}
	if most < len(src.items) {
		keys := make(map[string]bool, most)
		for _, other := range above {
			for key := range other.items {
				if _, ok := src.items[key]; ok {
					keys[key] = true
				}
			}
		}
		return len(keys)
	}
	for key := range src.items {
		if _, owner := among(above, key); owner != nil {
			n++
		}
	}
	return n
}

// all returns the values in effect, sorted by key.
func (s *store) all() []KeyVal {
	most := 0
	for _, src := range s.sources {
		most = max(most, len(src.items))
	}
	kvs := make([]KeyVal, 0, most)
	for i, src := range s.sources {
		for key, it := range src.items {
			if _, above := among(s.sources[i+1:], key); above == nil {
				kvs = append(kvs, it.of(key))
			}
		}
	}
	slices.SortFunc(kvs, func(a, b KeyVal) int { return cmp.Compare(a.Key, b.Key) })
	return kvs
}

// edit changes the items of a source. It returns the effects on the values in
// effect, and a function that undoes the changes. With again, unchanged values
// count as changed if they are in effect, so that putting a failed value
// retries it.
func (s *store) edit(name string, changes []KeyVal, again bool) (effects []KeyVal, undo func()) {
	src := s.source(name)
	if len(src.items) == 0 {
		src.items = make(map[string]item, len(changes))
	}
	var before []KeyVal // nil: none of them existed
	at := slices.Index(s.sources, src)
	for i, ch := range changes {
		old, now := src.items[ch.Key].of(ch.Key), ch
		if old.Val != nil && before == nil {
			before = make([]KeyVal, len(changes))
		}
		if before != nil {
			before[i] = old
		}
		if ch.Val != nil {
			src.items[ch.Key] = itemOf(ch)
		} else {
			delete(src.items, ch.Key)
		}
		if _, above := among(s.sources[at+1:], ch.Key); above != nil {
			continue // its value is in effect, before and after
		}
		below, _ := among(s.sources[:at], ch.Key)
		if old.Val == nil {
			old = below
		}
		if now.Val == nil {
			now = below
		}
		switch {
		case old.Val == nil && now.Val == nil:
		case old.Val != nil && now.Val != nil && !(again && ch.Val != nil) && proto.Equal(old.Val, now.Val):
		case i == len(effects) && ch.Val != nil: // all changes so far have an effect
			effects = changes[: i+1 : i+1]
		default:
			effects = append(effects, now)
		}
	}
	return effects, func() {
		for i, ch := range slices.Backward(changes) {
			if before == nil || before[i].Val == nil {
				delete(src.items, ch.Key)
			} else {
				src.items[ch.Key] = itemOf(before[i])
			}
		}
	}
}

// replace replaces all items of a source; undo restores them.
func (s *store) replace(name string, items []KeyVal) (undo func()) {
	src := s.source(name)
	before := src.items
	src.items = make(map[string]item, len(items))
	for _, kv := range items {
		if kv.Val != nil {
			src.items[kv.Key] = itemOf(kv)
		}
	}
	return func() { src.items = before }
}
