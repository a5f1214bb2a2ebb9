package engine_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"pgregory.net/rapid"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/engine"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/record"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest/model"
)

// boot starts a scheduler. With resyncFirst, the next action has to be a full resync or
// another transaction.
func (s *simulation) boot(resyncFirst bool) {
	opts := engine.Options{
		CallbackTimeout: hanging, QuarantineAfter: 2, Clock: s.clock, Rand: s.rng,
		Record: true, History: record.Options{MaxEntries: 1000}, Policies: s.w.rules.table(),
		Conditions: &conditions{problems: func(p engine.Problems) { s.problems = p }}, RepairLost: s.policy.repairs, OwnerChanged: s.w.ownerChanged,
		ResyncFirst: resyncFirst,
	}
	s.problems = engine.Problems{}
	if s.journal != nil {
		opts.Journal = s.journal
	}
	s.c = engine.New(opts)
	if err := s.c.RegisterKVDescriptor(s.w.descriptors()...); err != nil {
		s.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); s.c.Run(ctx) }()
	s.stop = func() {
		cancel()
		s.clock.close()
		s.await(func() { <-done }) // what begins to hang meanwhile is given up
	}
	s.epoch++
	if !s.o.down {
		s.c.SouthboundUp("s", s.epoch)
	}
}

// session disconnects the southbound of the values below "c/", with or without its
// state, or reconnects it.
func (s *simulation) session() {
	if s.o.down {
		s.epoch++
		s.o.down = false
		s.log("session up")
		s.w.revive()
		live := s.mute("c")
		s.w.cyclic = func(string) bool { return true } // found values may be stranded
		s.c.SouthboundUp("s", s.epoch)
		s.barrier()
		for range s.c.Suspects() { // their trials
			s.barrier()
		}
		live()
		s.converge()
		s.w.cyclic = s.reach.cyclic
		return
	}
	s.converge()
	s.o.down = true
	lost := rapid.Bool().Draw(s.T, "lost")
	s.log("session down, state lost: %v", lost)
	if lost {
		s.w.fault("session down, state lost")
		s.w.crash()
	} else {
		s.w.fault("session down")
		s.w.cyclic = func(string) bool { return true } // remaining values may wait for each other
	}
	faults := s.w.injected()
	s.c.SouthboundDown("s", errors.New("gone"))
	s.barrier()
	if s.w.injected() > faults { // a removal in another southbound failed or hangs: its retry is not of the next change
		s.settled = false
	}
	if !lost {
		s.session()
	}
}

// asksFor reports whether the northbound asks for a key with a valid value.
func (s *simulation) asksFor(key string) bool {
	it := s.o.wanted[key]
	return it != nil && !it.Invalid
}

// restart is a crash of the scheduler between two transactions.
func (s *simulation) restart() {
	s.log("restart")
	s.w.fault("scheduler restarted")
	s.release() // what hangs comes to its end with the process
	s.stop()
	s.clock.drop()
	if s.journal == nil {
		s.w.forget(func(string) bool { return true }, s.asksFor)
	}
	kept := maps.Clone(s.o.kept)
	for key, it := range s.o.wanted {
		if !it.Invalid {
			continue
		}
		// What stayed in force survives as far as it is in the southbound.
		delete(s.o.kept, key)
		if s.w.foreign[key] {
			continue
		}
		if found, _ := s.w.retrieve(key); len(found) > 0 && found[0].Key == key && !(s.o.down && inSession(key)) {
			s.o.kept[key] = found[0].Value
		}
	}
	before := s.w.snapshot()
	live := s.mute("a", "b", "c", "n")
	resyncFirst := rapid.Bool().Draw(s.T, "resync first")
	s.boot(resyncFirst)
	if !resyncFirst {
		s.barrier()
	}
	mark := len(s.w.ops)
	// A value that is in force instead of an invalid one is what the southbound has from now
	// on: an equivalent one may have had other properties.
	settled := s.settled && maps.EqualFunc(kept, s.o.kept, func(a, b *model.Item) bool { return hasProperty(a) == hasProperty(b) })
	s.resync(api.FullResync)
	if settled && s.rate == 0 && len(s.w.ops) > mark {
		s.fatal("a restart touches what was right: %q\n%q", s.w.ops[mark:], slices.Sorted(maps.Keys(before)))
	}
	live()
}

// hasProperty reports whether a property is derived from a value.
func hasProperty(it *model.Item) bool {
	return slices.ContainsFunc(it.Derived, func(d *model.Derived) bool { return strings.HasPrefix(d.Key, "p/") })
}
