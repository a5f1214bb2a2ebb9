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
	Val proto.Message // must not be changed once it was given
	// Labels are stored with the item, for whoever selects items by them.
	Labels map[string]string
	// Location is where the item was written; it may be unknown.
	Location kv.Location
}

// source is what one source wants.
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

// store is what every source wants, in the order of their priority: where
// several have a value for one key, that of the last one is in effect. It has
// no lock.
type store struct {
	rank    func(name string) rank
	sources []*source
}

// rank orders sources: by tier, then by place, then by name.
type rank struct {
	tier, place int
	name        string
}

func compareRanks(a, b rank) int {
	return cmp.Or(cmp.Compare(a.tier, b.tier), cmp.Compare(a.place, b.place), cmp.Compare(a.name, b.name))
}

// source returns the source of the name; it is created if it is new.
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

// drop forgets a source.
func (s *store) drop(name string) {
	s.sources = slices.DeleteFunc(s.sources, func(src *source) bool { return src.name == name })
}

// effective returns the value that is in effect for a key, and the source it
// comes from; a nil source means that nobody wants the key.
func (s *store) effective(key string) (KeyVal, *source) { return among(s.sources, key) }

// among is effective with only some of the sources.
func among(sources []*source, key string) (KeyVal, *source) {
	for _, src := range slices.Backward(sources) {
		if it, ok := src.items[key]; ok {
			return it.of(key), src
		}
	}
	return KeyVal{Key: key}, nil
}

// all returns what is in effect, sorted by key.
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

// edit changes what a source wants. It returns what the changes do to the
// values in effect, and a function that takes them back. With again, values
// that the source has put already count as changed if they are in effect, so
// that putting a value that failed tries once more.
func (s *store) edit(name string, changes []KeyVal, again bool) (effects []KeyVal, undo func()) {
	src := s.source(name)
	if len(src.items) == 0 {
		src.items = make(map[string]item, len(changes))
	}
	var before []KeyVal // nil: none of them was there
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
		case i == len(effects) && ch.Val != nil: // all of them so far, as they are
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

// replace sets all that a source wants; undo takes it back.
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
