package engine_test

import (
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"pgregory.net/rapid"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest/model"
)

var errDead = errors.New("the scheduler is dead")

// addForeign puts values into the southbound that another agent made.
func (w *world) addForeign() {
	for i, key := range []string{"b/x", "c/x"} {
		w.exists[key], w.meta[key], w.foreign[key] = &model.Item{Value: int64(i)}, 100+i, true
	}
}

func (w *world) origin() api.ValueOrigin {
	if w.mum {
		return api.UnknownOrigin
	}
	return api.FromNB
}

// dying counts calls down; after the last one nothing has any effect. The lock
// is held.
func (w *world) dying() bool {
	if w.dieAt == 0 {
		return false
	}
	w.dieAt--
	w.dead = w.dieAt == 0
	return w.dead
}

// crash is the death of the scheduler in the middle of a transaction: after any
// operation, before or after its effect. With a journal the next scheduler
// completes or removes what is left behind; without one it leaves alone what it is
// not asked for.
func (s *simulation) crash() {
	s.log("crash")
	s.release()
	hangs := s.hangs
	s.hangs = false // nothing is left that could take effect late
	defer func() { s.hangs = hangs }()
	values := map[string]*model.Item{}
	for range rapid.IntRange(1, 5).Draw(s.T, "changes") {
		key := rapid.SampledFrom(baseKeys).Draw(s.T, "key")
		values[key] = nil
		if rapid.IntRange(0, 3).Draw(s.T, "delete") > 0 {
			values[key] = drawItem(s.T, key)
		}
		if s.w.untaken(key) { // was it taken over already?
			delete(values, key)
		}
	}
	coin, dieAt := rapid.Uint64().Draw(s.T, "coin"), rapid.IntRange(1, 6).Draw(s.T, "die at")
	s.w.mu.Lock()
	s.w.coin, s.w.dieAt = rand.New(rand.NewPCG(coin, 1)), dieAt
	s.w.died = func() {
		if s.journal != nil {
			s.journal.Freeze()
		}
	}
	s.w.mu.Unlock()
	var opts []api.TxnOption
	if rapid.IntRange(0, 3).Draw(s.T, "revert") == 0 {
		opts = append(opts, api.WithRevert())
	}
	_ = s.commit(values, append(opts, api.WithRetryMaxCount(0))...)
	s.w.mu.Lock()
	died := s.w.dead
	s.w.mu.Unlock()
	if rapid.Bool().Draw(s.T, "wish survives") {
		s.want(values)
	}
	s.stop()
	s.w.mu.Lock()
	s.w.dieAt, s.w.dead = 0, false
	s.w.mu.Unlock()
	if s.journal != nil {
		s.journal.Thaw()
	}
	s.log("  died in a transaction: %v", died)
	s.restart()
}

// onRecord checks that the journal has what the scheduler made, and nothing
// else.
func (s *simulation) onRecord() {
	if s.journal == nil || s.o.down {
		return
	}
	var made []string
	for key := range s.w.snapshot() {
		if !s.w.others(key) && !strings.HasPrefix(key, "d/") {
			made = append(made, key)
		}
	}
	slices.Sort(made)
	if got := s.journal.Keys(); !slices.Equal(got, made) {
		s.fatal("on record are %q, there are %q of %q", got, made, slices.Sorted(maps.Keys(s.o.wanted)))
	}
}
