package engine_test

import (
	"errors"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"

	"pgregory.net/rapid"

	"github.com/tenuto-dev/tenuto/infra/idxmap"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/exec"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/registry"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest/model"
)

// storm lets faults meet: callbacks that time out and return late, in another session
// or after a restart, with their effect before or at their return; sessions that come
// and go; foreign hands; errors; readings that fail; restarts. Meanwhile the southbound
// refuses what is impossible, as the scheduler cannot know what exists. Afterwards all must
// be as the oracle says.
func (s *simulation) storm() {
	if s.o.down {
		s.session()
	}
	s.dropInvalid()
	s.converge()
	s.log("storm")
	if len(s.w.rules) > 0 {
		s.w.fault(policyStorm)
	}
	rate, hangs, found := s.rate, s.hangs, s.strand()
	s.rate, s.hangs = rapid.SampledFrom([]float64{0.1, 0.3, 0.6}).Draw(s.T, "storm rate"), true
	s.w.setLoose(true)
	others := s.w.untouched()
	steps := []func(){s.stormChange, s.stormChange, s.stormChange, s.stormSession, s.stormSession, s.stormEdit, s.stormEdit,
		s.stormReturn, s.stormReturn, s.stormTimers, s.stormResync, s.stormNotify, s.stormBlind, s.stormRestart, s.stormLost}
	if s.policies {
		steps = append(steps, s.stormStranger)
	}
	for range rapid.IntRange(2, 10).Draw(s.T, "storm steps") {
		s.settled = false
		steps[rapid.IntRange(0, len(steps)-1).Draw(s.T, "storm step")]()
	}
	s.calm()
	s.w.stillOthers(others, s.o.wanted)
	s.w.setLoose(false)
	s.rate, s.hangs = rate, hangs
	s.check()
	s.settled = true
	found()
}

// dropInvalid deletes what is invalid: what is in force instead is not known in a storm.
func (s *simulation) dropInvalid() {
	values := map[string]*model.Item{}
	for key, it := range s.o.wanted {
		if it.Invalid {
			values[key] = nil
		}
	}
	_ = s.commit(values, api.WithRetryMaxCount(0))
	s.want(values)
}

func (s *simulation) stormChange() {
	values := s.drawChange()
	for _, it := range values {
		if it != nil {
			it.Invalid = false
		}
	}
	opts := []api.TxnOption{api.WithRetryMaxCount(0)}
	if rapid.Bool().Draw(s.T, "retry") {
		opts = []api.TxnOption{api.WithRetryDefault()}
	}
	s.log("change")
	_ = s.commit(values, opts...)
	s.want(values)
}

func (s *simulation) stormSession() {
	s.w.fault("session that changes while callbacks run late")
	switch kind := rapid.SampledFrom([]string{"down", "down", "lost", "next"}).Draw(s.T, "session"); {
	case s.o.down:
		s.epoch++
		s.o.down = false
		s.log("session up")
		s.c.SouthboundUp("s", s.epoch)
	case kind == "next":
		s.epoch++
		s.log("next session")
		s.c.SouthboundUp("s", s.epoch)
	default:
		s.o.down = true
		s.log("session %s", kind)
		if kind == "lost" {
			s.w.crash()
			s.w.cut(inSession)
		}
		s.c.SouthboundDown("s", errors.New("gone"))
	}
	if rapid.Bool().Draw(s.T, "barrier") {
		s.barrier()
	}
}

// stormEdit is another process that changes or removes a value of any owner.
func (s *simulation) stormEdit() {
	key, ok := s.victim()
	if !ok {
		return
	}
	remove := rapid.Bool().Draw(s.T, "remove")
	s.log("foreign hand on %s, remove: %v", key, remove)
	s.w.fault("foreign hand in a storm")
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	switch {
	case s.w.exists[key] == nil: // the agent was faster
	case remove:
		s.w.removeAll(key)
	default:
		s.w.edit(key)
	}
}

// stormStranger is another process that makes an object that this one never asks for.
func (s *simulation) stormStranger() {
	key := rapid.SampledFrom(neverWanted).Draw(s.T, "stranger")
	it := drawItem(s.T, key)
	it.Invalid = false
	if !s.w.free(key) {
		return
	}
	s.log("a stranger makes %s {%v}", key, it)
	s.w.place(key, it)
}

// stormReturn lets the effect of a callback that hangs take place, or the callback
// return.
func (s *simulation) stormReturn() {
	s.w.mu.Lock()
	keys := slices.Sorted(maps.Keys(s.w.hanging))
	s.w.mu.Unlock()
	if len(keys) == 0 {
		return
	}
	key := rapid.SampledFrom(keys).Draw(s.T, "late")
	if rapid.IntRange(0, 2).Draw(s.T, "effect only") == 0 {
		s.log("late effect on %s", key)
		s.w.happen(key)
		return
	}
	s.log("late return of %s", key)
	s.w.fault("callback that returns late")
	s.w.mu.Lock()
	h := s.w.hanging[key]
	if h == nil { // its context was canceled
		s.w.mu.Unlock()
		return
	}
	close(h.until)
	s.w.mu.Unlock()
	s.w.await(func() bool { return s.w.hanging[key] != h }) // it may hang again
	if rapid.Bool().Draw(s.T, "barrier") {
		s.barrier()
	}
}

func (s *simulation) stormTimers() {
	s.log("timers")
	s.clock.fire()
	s.barrier()
}

func (s *simulation) stormResync() {
	s.resync(rapid.SampledFrom([]api.ResyncType{api.FullResync, api.DownstreamResync}).Draw(s.T, "resync"))
}

func (s *simulation) stormNotify() {
	key := rapid.SampledFrom([]string{"n/0", "n/1"}).Draw(s.T, "notified")
	kv := api.KVWithMetadata{Key: key}
	s.w.mu.Lock()
	if s.w.notified[key] == nil {
		it := &model.Item{Value: 7}
		s.w.notified[key], s.o.notified[key], kv.Value = it, it, it
	} else {
		delete(s.w.notified, key)
		delete(s.o.notified, key)
	}
	s.w.mu.Unlock()
	s.log("notify %s %v", key, kv.Value)
	if err := s.c.PushSBNotification(kv); err != nil {
		s.Fatal(err)
	}
	s.barrier()
}

// stormBlind makes some of the next readings fail.
func (s *simulation) stormBlind() {
	name := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(s.T, "blind")
	s.log("blind %s", name)
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	s.w.mute[name] = muteness{"failed", rapid.IntRange(1, 3).Draw(s.T, "times")}
}

// stormRestart ends the scheduler, whatever hangs, and starts another one. What hangs
// may take effect at that moment, unknown to the next one.
func (s *simulation) stormRestart() {
	if s.journal == nil { // what is left then is not removed
		return
	}
	s.log("restart")
	s.w.fault("scheduler restarted while callbacks run late")
	if rapid.Bool().Draw(s.T, "barrier") { // else it ends with transactions in its queue
		s.barrier()
	}
	if rapid.Bool().Draw(s.T, "killed") {
		s.stormKill()
	}
	s.stop()
	effect := rapid.Bool().Draw(s.T, "takes effect")
	for ; len(s.c.Hanging()) > 0; runtime.Gosched() { // some that timed out may begin only now
		s.w.mu.Lock()
		for _, key := range slices.Sorted(maps.Keys(s.w.hanging)) {
			h := s.w.hanging[key]
			if effect {
				h.happen()
			}
			h.end()
		}
		s.w.mu.Unlock()
	}
	s.w.mu.Lock()
	s.w.dieAt, s.w.dead = 0, false
	s.w.mu.Unlock()
	s.clock.drop()
	s.journal.Thaw()
	resyncFirst := rapid.Bool().Draw(s.T, "resync first")
	s.boot(resyncFirst)
	if !resyncFirst && rapid.Bool().Draw(s.T, "barrier") {
		s.barrier()
	}
	if rapid.IntRange(0, 2).Draw(s.T, "edit before the resync") == 0 {
		s.stormEdit()
	}
	s.resync(api.FullResync)
}

// stormKill lets the scheduler die in an operation of a transaction, if there are
// enough: from then on nothing that it does has any effect.
func (s *simulation) stormKill() {
	coin, dieAt := rapid.Uint64().Draw(s.T, "coin"), rapid.IntRange(1, 6).Draw(s.T, "die at")
	s.w.mu.Lock()
	s.w.coin, s.w.dieAt, s.w.died = rand.New(rand.NewPCG(coin, 1)), dieAt, s.journal.Freeze
	s.w.mu.Unlock()
	s.log("killed at operation %d", dieAt)
	if rapid.Bool().Draw(s.T, "by a resync") {
		s.resync(api.DownstreamResync)
	} else {
		s.stormChange()
	}
}

// calm ends a storm: everything returns, comes up and is tried again.
func (s *simulation) calm() {
	s.log("calm")
	s.rate, s.hangs = 0, false
	s.barrier()
	s.w.mu.Lock()
	clear(s.w.mute)
	for _, h := range s.w.hanging {
		close(h.until)
	}
	s.w.mu.Unlock()
	s.w.await(func() bool { return len(s.w.hanging) == 0 })
	if s.o.down {
		s.stormSession()
	}
	quiet := func() bool {
		for range 30 {
			s.barrier()
			s.pardon()
			s.settleCalls(func(exec.Call) bool { return true })
			if n := s.clock.fireOnce(); n == 0 && len(s.c.Overdue()) == 0 && len(s.c.Suspects()) == 0 {
				return true
			}
			runtime.Gosched()
		}
		return false
	}
	quiet() // or not: what foreign hands did is not known yet
	s.resync(api.DownstreamResync)
	if !quiet() {
		s.fatal("it does not come to rest: %v, suspects %v", s.c.Overdue(), s.c.Suspects())
	}
	mark := s.w.mark()
	s.resync(api.DownstreamResync)
	if did := s.w.since(mark); len(did) > 0 {
		s.fatal("a second resync does something: %q", did)
	}
	s.sameMetadata()
}

// pardon releases what is in quarantine because sessions were lost while it hung.
func (s *simulation) pardon() {
	for _, suspect := range s.c.Suspects() {
		if suspect.Quarantined {
			s.await(func() {
				if err := s.c.ReleaseQuarantined(s.Context(), suspect.Key); err != nil {
					s.fatal("release of %s: %v", suspect.Key, err)
				}
			})
		}
	}
}

// sameMetadata checks that the maps of metadata have what exists, and nothing else.
func (s *simulation) sameMetadata() {
	for _, name := range []string{"a", "b", "c"} {
		got := map[string]int{}
		index, err := idxmap.Of[any](s.c.GetMetadataMap(name))
		if err != nil {
			s.fatal("metadata of %s: %v", name, err)
		}
		for label, meta := range index.All() {
			got[label], _ = meta.(int)
		}
		want := map[string]int{}
		s.w.mu.Lock()
		for key := range s.w.exists {
			if strings.HasPrefix(key, name+"/") && s.w.ruleOf(key) != registry.Ignore {
				want[key] = s.w.meta[key]
			}
		}
		s.w.mu.Unlock()
		if !maps.Equal(got, want) {
			s.fatal("metadata of %s is %v, expected %v", name, got, want)
		}
	}
}
