package engine_test

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"pgregory.net/rapid"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/registry"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest/model"
)

// strand lets values be without what they depend on, until the function that
// it returns is called: the scheduler was not told, or told wrong.
func (s *simulation) strand() (found func()) {
	s.w.cyclic = func(string) bool { return true }
	return func() { s.w.cyclic = s.reach.cyclic }
}

// drawVictim is a base value that exists, "" if there is none.
func (s *simulation) drawVictim() string {
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	keys := slices.DeleteFunc(slices.Sorted(maps.Keys(s.w.exists)), func(key string) bool {
		return strings.HasPrefix(key, "d/") || s.o.down && inSession(key)
	})
	if len(keys) == 0 {
		return ""
	}
	return rapid.SampledFrom(keys).Draw(s.T, "victim")
}

// edit is a hand that changes a value behind the scheduler's back.
func (s *simulation) edit() {
	s.converge()
	key := s.drawVictim()
	if key == "" {
		return
	}
	s.w.fault("value changed by a foreign hand")
	s.w.mu.Lock()
	s.w.edit(key)
	s.w.mu.Unlock()
	s.log("foreign change of %s", key)
	s.tell(key, s.w.others(key))
}

// unreliable is a southbound whose notifications get lost, come twice, or in
// another order. The next resync finds out.
func (s *simulation) unreliable() {
	s.converge()
	defer s.strand()()
	key := rapid.SampledFrom([]string{"n/0", "n/1"}).Draw(s.T, "notified")
	news := func(it *model.Item) api.KVWithMetadata {
		if it == nil {
			return api.KVWithMetadata{Key: key}
		}
		return api.KVWithMetadata{Key: key, Value: it}
	}
	states := []*model.Item{nil, {Value: 7}, {Value: 8}}
	before, after := rapid.SampledFrom(states).Draw(s.T, "before"), rapid.SampledFrom(states).Draw(s.T, "after")
	s.w.mu.Lock()
	if after == nil {
		delete(s.w.notified, key)
		delete(s.o.notified, key)
	} else {
		s.w.notified[key], s.o.notified[key] = after, after
	}
	s.w.mu.Unlock()
	var told []api.KVWithMetadata
	kind := rapid.SampledFrom([]string{"lost", "duplicated", "reordered"}).Draw(s.T, "kind")
	switch kind {
	case "duplicated":
		told = []api.KVWithMetadata{news(after), news(after)}
	case "reordered":
		told = []api.KVWithMetadata{news(after), news(before)}
	}
	s.w.fault("notification " + kind)
	s.log("notifications of %s %s: %v, %v", key, kind, before, after)
	s.settled = false
	for _, kv := range told {
		if err := s.c.PushSBNotification(kv); err != nil {
			s.Fatal(err)
		}
		if rapid.Bool().Draw(s.T, "apart") {
			s.barrier()
		}
	}
	s.barrier()
	if kind != "duplicated" {
		s.resync(api.DownstreamResync)
	}
	s.converge()
}

// badDump is a Retrieve that fails, panics, or leaves something out without
// saying so.
func (s *simulation) badDump() {
	s.converge()
	defer s.strand()()
	victim := s.drawVictim()
	if victim == "" {
		return
	}
	kind := rapid.SampledFrom([]string{"failed", "panicked", "incomplete"}).Draw(s.T, "kind")
	s.w.fault("dump " + kind)
	s.log("dump %s: %s", kind, victim)
	s.w.mu.Lock()
	s.w.badDump, s.w.hidden = kind, victim
	s.w.mu.Unlock()
	mark := s.w.mark()
	s.resync(api.DownstreamResync)
	if did := s.w.since(mark); kind != "incomplete" && len(did) > 0 {
		s.fatal("what cannot be read counts as unchanged, but there was %q", did)
	}
	s.w.mu.Lock()
	s.w.badDump, s.w.hidden = "", ""
	s.w.mu.Unlock()
	if kind == "incomplete" { // a Create may have failed for what is there
		s.w.forget(func(key string) bool { return key == victim }, func(string) bool { return true })
		s.resync(api.DownstreamResync)
	}
	s.converge()
}

// dump is what a Retrieve returns instead, while dumps are bad. The lock is held.
func (w *world) dump(found []api.KV[*model.Item, any]) ([]api.KV[*model.Item, any], error) {
	at := slices.IndexFunc(found, func(kv api.KV[*model.Item, any]) bool { return kv.Key == w.hidden })
	switch {
	case w.badDump == "" || at < 0:
		return found, nil
	case w.badDump == "failed":
		return found[:at], errors.New("the dump ended early")
	case w.badDump == "panicked":
		panic("the dump is bad")
	}
	return slices.Delete(found, at, at+1), nil
}

// verified commits with verification against a southbound that says it did
// something, once, and did not.
func (s *simulation) verified() {
	s.converge()
	defer s.strand()()
	values := s.drawChange()
	opts := []api.TxnOption{api.WithVerify(), api.WithRetryMaxCount(0)}
	revert := rapid.Bool().Draw(s.T, "revert")
	if revert {
		opts = append(opts, api.WithRevert())
	}
	lie := rapid.SampledFrom([]int{0, 1, 2, 3}).Draw(s.T, "lie")
	exists := s.restorable()
	before, rate, fail := exists(), s.rate, s.w.fail
	s.rate = 0
	lied := ""
	s.w.fail = func(op, key string) string {
		// Only base values are verified. Without a journal, an adopted value that is
		// found again counts as foreign.
		if lied != "" || strings.HasPrefix(key, "d/") || s.journal == nil && s.w.rules.of(key) == registry.Adopt {
			return ""
		}
		if lie--; lie != 0 {
			return ""
		}
		lied = key
		return "lie"
	}
	s.log("change with verification, revert %v", revert)
	err := s.commit(values, opts...)
	s.w.fail, s.rate = fail, rate
	defer clear(s.w.lied)
	var txnErr *api.TransactionError
	refused := errors.As(err, &txnErr) && txnErr.Reverted()
	switch {
	case lied == "" && errors.Is(err, api.ErrNotVerified):
		s.fatal("nothing was wrong: %v", err)
	case lied != "" && err == nil:
		s.fatal("%s is not as it should be, and passed", lied)
	case revert && (lied != "" || refused):
		// Other failures can follow from what is not there, on the way back as well.
		exact := lied == "" || errors.Is(err, api.ErrNotVerified)
		if after := exists(); exact && !maps.Equal(before, after) {
			s.fatal("what was not verified is not taken back:\nbefore %v\nafter  %v", before, after)
		}
	default:
		s.want(values)
	}
	s.resync(api.FullResync) // without one, what is found is not removed
	s.converge()
}
