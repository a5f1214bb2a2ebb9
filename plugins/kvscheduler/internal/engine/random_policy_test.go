package engine_test

import (
	"flag"
	"maps"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/registry"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest/model"
	"github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
)

// policies lets ownership policies and objects of others take part in all random
// cases, as "make sim" does. "make test" must never fail by chance: it has them in
// cases that are always the same; see TestRandomPolicies.
var policies = flag.Bool("policies", false, "ownership policies and objects of others take part in random cases")

// drawRules makes ownership policies, for whole descriptors and for keys.
func drawRules(t *rapid.T, policies bool) rules {
	r := rules{}
	if !policies || rapid.Bool().Draw(t, "all managed") {
		return r
	}
	kinds := []registry.Policy{registry.Managed, registry.Adopt, registry.Adopt, registry.Observe, registry.Ignore}
	for range rapid.IntRange(1, 3).Draw(t, "rules") {
		prefix := rapid.SampledFrom([]string{"a/", "b/", "c/", "a/1", "b/0", "b/1", "c/1", "c/2"}).Draw(t, "prefix")
		r[prefix] = rapid.SampledFrom(kinds).Draw(t, "policy")
	}
	return r
}

// neverWanted are keys that the northbound never asks for.
var neverWanted = []string{"a/x", "b/x", "c/x"}

// stranger creates an object as another process.
func (s *simulation) stranger() {
	s.converge()
	s.resync(api.DownstreamResync) // so that the object is not mistaken for a removed one
	s.converge()
	var free []string
	for _, key := range slices.Concat(neverWanted, baseKeys) {
		managed := s.w.rules.of(key) == registry.Managed
		if s.w.exists[key] != nil || s.o.down && inSession(key) || managed && s.o.inForce(key) != nil {
			continue
		}
		free = append(free, key)
	}
	if len(free) == 0 {
		return
	}
	key := rapid.SampledFrom(free).Draw(s.T, "stranger")
	it := drawItem(s.T, key)
	it.Invalid = false
	s.reach.add(key, it)
	s.w.place(key, it)
	s.log("a stranger makes %s {%v}, policy %v", key, it, s.w.rules.of(key))
	s.tell(key, true)
}

// tell lets the scheduler know that something has changed behind its back: by a
// resync, by its own looking, or by the news.
func (s *simulation) tell(key string, others bool) {
	s.settled = false
	found := s.strand()
	key, derived := baseOfDerived(key)
	wanted := s.o.wanted[key] != nil
	observed := s.w.rules.of(key) == registry.Observe
	switch by := rapid.Bool().Draw(s.T, "drift"); {
	case !by:
		s.resync(api.DownstreamResync)
	case observed && wanted:
		s.look()
	case others && !wanted && !derived && s.news(key):
	case others:
		s.resync(api.DownstreamResync)
	default:
		s.repairDrift()
	}
	s.converge()
	found()
}

// look lets the scheduler look at what it only observes.
func (s *simulation) look() {
	s.log("look")
	s.clock.run(func(d time.Duration) bool { return d == looking })
	s.barrier()
}

// news reports about an object that others made; false if that says too little.
func (s *simulation) news(key string) bool {
	it := s.w.exists[key]
	// Its derived values would be taken for values that still have to be created.
	if it != nil && slices.ContainsFunc(it.Derived, func(d *model.Derived) bool { return strings.HasPrefix(d.Key, "d/") }) {
		return false
	}
	kv := api.KVWithMetadata{Key: key}
	if it != nil {
		kv.Value, kv.Metadata = it, s.w.meta[key]
	}
	s.log("news of %s", key)
	if err := s.c.PushSBNotification(kv); err != nil {
		s.Fatal(err)
	}
	s.barrier()
	return true
}

// checkPolicies looks at the states of what is only observed, ignored, or was
// made by others.
func (s *simulation) checkPolicies(statuses []*api.BaseValueStatus) {
	if !s.policies {
		return
	}
	strangers := s.w.strangers()
	keys := maps.Clone(strangers)
	maps.Copy(keys, s.o.wanted)
	for key := range keys {
		if s.o.down && inSession(key) {
			continue
		}
		there, wanted := strangers[key] != nil, s.o.wanted[key] != nil
		var want kvscheduler.ValueState
		switch policy := s.w.rules.of(key); {
		case policy == registry.Ignore && wanted:
			want = kvscheduler.ValueState_INVALID
		case there && !wanted:
			want = kvscheduler.ValueState_OBTAINED
		case policy == registry.Observe && there:
			want = kvscheduler.ValueState_CONFIGURED
		case policy == registry.Observe:
			want = kvscheduler.ValueState_PENDING
		default:
			continue
		}
		if got := s.c.GetValueStatus(key).GetValue(); got.GetState() != want {
			s.fatal("%s is %v %s, expected %v", key, got.GetState(), got.GetError(), want)
		}
	}
	for _, status := range statuses {
		key := status.GetValue().GetKey()
		if s.w.rules.of(key) == registry.Ignore && s.o.wanted[key] == nil {
			s.fatal("%s is known, and ignored", key)
		}
	}
}

// failed reports whether a value is FAILED.
func (s *simulation) failed(key string) bool {
	return s.c.GetValueStatus(key).GetValue().GetState() == kvscheduler.ValueState_FAILED
}

// believe gives adopted objects that are equivalent to the desired state its properties.
// The scheduler runs no operation on such an object, so only a read would reveal the
// difference.
func (s *simulation) believe() {
	for key, have := range s.w.strangers() {
		if !s.o.adopts(key, have) || !sameItem(key, have, s.o.inForce(key)) || s.c.GetValueStatus(key).GetValue().GetState() != kvscheduler.ValueState_CONFIGURED {
			continue
		}
		property := func(d *model.Derived) bool { return strings.HasPrefix(d.Key, "p/") }
		it := proto.CloneOf(have)
		it.Derived = slices.DeleteFunc(it.Derived, property)
		for _, d := range s.o.inForce(key).Derived {
			if property(d) {
				it.Derived = append(it.Derived, d)
			}
		}
		s.w.mu.Lock()
		s.w.exists[key] = it
		s.w.mu.Unlock()
	}
}

// restorable is what a transaction that is taken back has to restore: all but
// what adopted objects have that the wish for them did not ask for.
func (s *simulation) restorable() func() map[string]string {
	left := s.o.expected(s.failed).left
	return func() map[string]string {
		found := s.w.snapshot()
		maps.DeleteFunc(found, func(key, _ string) bool {
			base, _ := baseOfDerived(key)
			return left[base]
		})
		return found
	}
}

// takeOver is what becomes of the objects of others that were wanted by a
// transaction: managed ones are the scheduler's own from then on.
func (s *simulation) takeOver(values map[string]*model.Item) {
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	for key, it := range values {
		if it != nil && !it.Invalid && s.w.rules.of(key) == registry.Managed {
			delete(s.w.foreign, key)
		}
	}
}

// asking informs the world what a transaction asks for, until it is over. One that is
// reverted asks again for what it deleted.
func (s *simulation) asking(values map[string]*model.Item, opts ...api.TxnOption) (over func()) {
	reverts := api.ApplyTxnOptions(opts).Revert
	set := func(asked func(key string) bool) {
		s.w.mu.Lock()
		defer s.w.mu.Unlock()
		s.w.asked = asked
	}
	wanted, queued := maps.Clone(s.o.wanted), s.w.loose // in a storm others may be queued before it
	set(func(key string) bool {
		if it, named := values[key]; named && (it != nil || !queued && !reverts) {
			return it != nil
		}
		return wanted[key] != nil
	})
	return func() {
		set(func(key string) bool { return wanted[key] != nil || values[key] != nil })
	}
}
