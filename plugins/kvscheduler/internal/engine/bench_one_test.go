package engine_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/tenuto-dev/tenuto/infra/infratest"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/record"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest/model"
)

// flat is how many times longer the same may take with more around it.
const flat = 2

const victim = "config/interface/if000007"

// loaded is a scheduler with all values of a load.
func loaded(b *testing.B, n int) *bench {
	s := newBench(b, n)
	s.commit(b, s.all(same))
	return s
}

// micros is a duration in microseconds.
func micros(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 }

// BenchmarkOne does things with one value in networks of a thousand, a hundred
// thousand and a million values.
func BenchmarkOne(b *testing.B) {
	for range b.N {
		benches := []*bench{loaded(b, 1000), loaded(b, 100_000), loaded(b, 1_000_000)}
		measure := func(name string, rounds int, f func(s *bench, i int)) (largest time.Duration) {
			runs := make([]func() time.Duration, len(benches))
			for at, s := range benches {
				i := 0
				runs[at] = func() time.Duration {
					i++
					return infratest.Took(func() { f(s, i) })
				}
			}
			infratest.Medians(rounds/10, runs...) // warm up
			m := infratest.Medians(rounds, runs...)
			infratest.AtMost(b, name+"-100k/1k", ratio(m[1], m[0]), "x", flat)
			infratest.AtMost(b, name+"-1M/1k", ratio(m[2], m[0]), "x", flat)
			return m[2]
		}
		update := func(s *bench, i int) { s.commit(b, one(victim, &model.Item{Value: int64(i + 100)})) }
		took := measure("change", 2000, update)
		infratest.AtMost(b, "change-1M", micros(took), "us", 30)
		measure("plan-one", 1000, func(s *bench, i int) { s.plan(b, one(victim, &model.Item{Value: int64(-i)})) })
		measure("recreate", 500, func(s *bench, i int) {
			key := "config/route/new"
			s.commit(b, one(key, &model.Item{Deps: []string{victim}}))
			s.commit(b, one(key, nil))
		})
		measure("status", 5000, func(s *bench, _ int) {
			if s.c.GetValueStatus(victim) == nil {
				b.Fatal("no status")
			}
		})
		for _, s := range benches {
			w := s.c.Watch(api.WatchRequest{NoSnapshot: true})
			defer w.Close()
			s.watch = w
		}
		measure("watch", 1000, func(s *bench, i int) {
			update(s, -i)
			readWatch(b, s.watch, 1)
		})
	}
}

// BenchmarkOneFailure changes one value and fails, in networks of ten and of a
// hundred thousand values. The descriptor retrieves all that it has, as real
// ones do; the time that it takes itself does not count.
func BenchmarkOneFailure(b *testing.B) {
	failing := func(n int) func() time.Duration {
		s := loaded(b, n)
		s.broken = victim
		i := 0
		return func() time.Duration {
			i++
			s.retrieving = 0
			took := infratest.Took(func() { s.commit(b, one(s.broken, &model.Item{Value: int64(i + 2)})) })
			return took - s.retrieving
		}
	}
	for range b.N {
		m := infratest.Medians(100, failing(10_000), failing(100_000))
		infratest.AtMost(b, "failure-100k", 1000*m[1].Seconds(), "ms", 1)
	}
}

// BenchmarkHistory changes and reads in the presence of a history that is full.
func BenchmarkHistory(b *testing.B) {
	const small, large = 1000, 10_000
	full := func(entries int) *bench {
		s := newBenchWith(b, 1000, record.Options{MaxEntries: entries})
		s.commit(b, s.all(same))
		for i := range entries {
			s.commit(b, one(victim, &model.Item{Value: int64(i + 10)}))
		}
		return s
	}
	for range b.N {
		benches := []*bench{full(small), full(large)}
		measure := func(name string, f func(s *bench, i int)) {
			var runs []func() time.Duration
			for _, s := range benches {
				i := 0
				runs = append(runs, func() time.Duration {
					i++
					return infratest.Took(func() { f(s, i) })
				})
			}
			m := infratest.Medians(500, runs...)
			infratest.AtMost(b, name+"-10k/1k", ratio(m[1], m[0]), "x", flat)
		}
		measure("history-change", func(s *bench, i int) { s.commit(b, one(victim, &model.Item{Value: int64(-i)})) })
		measure("history-one", func(s *bench, _ int) {
			for seq := range uint64(100) {
				s.c.GetRecordedTransaction(small + 1 - seq)
			}
		})
		listHistories(b, full)
	}
}

// listHistories lists ten histories of a thousand transactions, one after the other,
// and one of ten thousand.
func listHistories(b *testing.B, full func(entries int) *bench) {
	const small, large, rounds = 1000, 10_000, 50
	var ten []*bench
	for range 10 {
		ten = append(ten, full(small))
	}
	one, next := full(large), 0
	infratest.AtMost(b, "history-list-10k/1k", infratest.Growth(rounds, small, func(n int) time.Duration {
		s := one
		if n == small {
			s = ten[next%len(ten)]
			next++
		}
		return infratest.Worked(func() { s.c.GetTransactionHistory(time.Time{}, time.Time{}) })
	}), "x", infratest.Linear)
}

// BenchmarkAnyOf adds and removes one of many candidates for a dependency on
// any of them: with ten of them that exist, with all of them, and with none.
func BenchmarkAnyOf(b *testing.B) {
	const waits, extra = "config/route/waits", "config/interface/x"
	start := func(n int, it *model.Item, dependents int) *bench {
		s := newBench(b, 1000)
		c := &change{}
		for i := range n {
			c.set(fmt.Sprintf("config/interface/c%06d", i), it)
		}
		for i := range dependents {
			c.set(fmt.Sprintf("%s%d", waits, i), &model.Item{AnyOf: []string{"config/interface/"}})
		}
		s.commit(b, c)
		return s
	}
	toggle := func(s *bench, key string, it *model.Item) func() time.Duration {
		return func() time.Duration {
			return infratest.Took(func() {
				s.commit(b, one(key, nil))
				s.commit(b, one(key, it))
			})
		}
	}
	exists, pending := &model.Item{}, &model.Item{Deps: []string{"config/bd/none"}}
	for range b.N {
		for _, c := range []struct {
			name, key  string
			candidates *model.Item
			it         *model.Item
		}{
			{"anyof-first", "config/interface/c000000", exists, exists},
			{"anyof-more", extra, exists, exists},
			{"anyof-pending", extra, pending, pending},
			{"anyof-only", extra, pending, exists},
		} {
			m := infratest.Medians(200,
				toggle(start(1000, c.candidates, 1), c.key, c.it), toggle(start(10_000, c.candidates, 1), c.key, c.it))
			infratest.AtMost(b, c.name+"-10k/1k", ratio(m[1], m[0]), "x", flat)
		}
		m := infratest.Medians(50,
			toggle(start(10, exists, 1000), extra, exists), toggle(start(10, exists, 10_000), extra, exists))
		infratest.AtMost(b, "anyof-dependents-10k/1k", ratio(m[1], m[0]), "x", flat)
	}
}
