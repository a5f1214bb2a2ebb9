package engine_test

import (
	"maps"
	"slices"
	"sync/atomic"

	"pgregory.net/rapid"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/registry"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest/model"
	"github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
)

// The kinds of losses, as faults.
const (
	lostRepaired = "value lost and repaired"
	lostKept     = "value lost and kept missing"
	lostInStorm  = "value lost in a storm"
	lostProperty = "loss reported by a property"
)

// repairPolicy decides whether the scheduler repairs lost values.
type repairPolicy struct{ off atomic.Bool }

func (p *repairPolicy) repairs(string, string) bool { return !p.off.Load() }

// lost is a southbound that loses values and reports them, along with values that it
// still has. With the policy to repair, everything exists again at the end. Without
// it, the value stays MISSING and its dependents wait, until a resync.
func (s *simulation) lost() {
	s.converge()
	switch rapid.SampledFrom([]string{lostRepaired, lostRepaired, lostKept, lostProperty}).Draw(s.T, "loss") {
	case lostKept:
		s.lostAndKept()
		return
	case lostProperty:
		s.lostBehindProperty()
		return
	}
	for range rapid.IntRange(1, 2).Draw(s.T, "losses") {
		var victims []string
		for range rapid.IntRange(1, 3).Draw(s.T, "victims") {
			victims = append(victims, s.drawVictim())
		}
		victims = slices.DeleteFunc(victims, func(key string) bool { return key == "" || !s.owned(key) })
		if len(victims) == 0 {
			return
		}
		found := s.strand()
		s.lose(lostRepaired, victims...)
		s.converge()
		found()
	}
}

// owned reports whether the scheduler made the value and manages it.
func (s *simulation) owned(key string) bool {
	return !s.w.others(key) && s.w.rules.of(key) == registry.Managed && s.o.inForce(key) != nil
}

func (s *simulation) lostAndKept() {
	key := s.drawVictim()
	if key == "" || !s.owned(key) {
		return
	}
	rate, hangs := s.rate, s.hangs
	s.rate, s.hangs = 0, false
	s.policy.off.Store(true)
	s.lose(lostKept, key)
	s.o.barred = key
	for range 2 {
		s.check()
		s.state(key, kvscheduler.ValueState_MISSING)
		s.clock.fire() // nothing repairs it later
		s.barrier()
	}
	s.o.barred = ""
	s.policy.off.Store(false)
	s.resync(api.DownstreamResync)
	s.rate, s.hangs = rate, hangs
	s.converge()
}

// lose removes values with their derived values, and reports them. Reports
// about other values have no effect.
func (s *simulation) lose(kind string, keys ...string) {
	s.w.fault(kind)
	s.digest()
	s.w.mu.Lock()
	for _, key := range keys {
		s.w.removeAll(key)
	}
	report := s.reports(keys)
	s.w.mu.Unlock()
	s.settled = false
	mark := s.w.mark()
	s.log("%s: %q, reported %q", kind, keys, report)
	if err := s.c.ReportLost(report...); err != nil {
		s.fatal("report: %v", err)
	}
	s.barrier()
	s.log("  ops %q", s.w.since(mark))
}

// reports returns the keys that are reported when values are lost: their own, and
// perhaps keys of values that are not lost. The lock is held.
func (s *simulation) reports(lost []string) []string {
	if !rapid.Bool().Draw(s.T, "wrong reports") {
		return lost
	}
	others := append(slices.Sorted(maps.Keys(s.w.exists)), "a/unknown", "n/0", "p/a/0", "p/b/1")
	return append(slices.Clone(lost), others...)
}

// lostBehindProperty loses a value. The southbound reports only a property that the value
// depends on.
func (s *simulation) lostBehindProperty() {
	const property, victim = "p/a/0", "a/1"
	values := map[string]*model.Item{
		"a/0":  {Derived: []*model.Derived{{Key: property, Item: &model.Item{}}}},
		victim: {Deps: []string{property}},
	}
	_ = s.commit(values, api.WithRetryMaxCount(0))
	s.want(values)
	s.converge()
	if s.w.exists[victim] == nil || !s.owned(victim) {
		return
	}
	s.w.fault(lostProperty)
	s.digest()
	s.w.mu.Lock()
	s.w.removeAll(victim)
	s.w.mu.Unlock()
	s.settled = false
	s.log("%s: %s, reported %s", lostProperty, victim, property)
	if err := s.c.ReportLost(property); err != nil {
		s.fatal("report: %v", err)
	}
	s.barrier()
	s.converge()
}

// stormLost is a loss of something that the scheduler made, in a storm.
func (s *simulation) stormLost() {
	keys := s.made()
	if len(keys) == 0 {
		return
	}
	key := rapid.SampledFrom(keys).Draw(s.T, "victim")
	s.w.fault(lostInStorm)
	s.w.mu.Lock()
	s.w.removeAll(key)
	s.w.mu.Unlock()
	s.log("%s: %s", lostInStorm, key)
	if err := s.c.ReportLost(key); err != nil {
		s.fatal("report: %v", err)
	}
	if rapid.Bool().Draw(s.T, "barrier") {
		s.barrier()
	}
}

// made lists what exists and was made by the scheduler.
func (s *simulation) made() []string {
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	return slices.DeleteFunc(slices.Sorted(maps.Keys(s.w.exists)), func(key string) bool {
		base, _ := baseOfDerived(key)
		return s.w.foreign[base]
	})
}
