package vpptest_test

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/tenuto-dev/tenuto/plugins/vpp/vpptest"
)

var (
	stallCases    = flag.Int("stall-cases", 200, "cases of the random test with a VPP that stops answering")
	stallParallel = flag.Int("stall-parallel", 4, "simulators that the random test with a VPP that stops answering runs at once")
	stallSeed     = flag.Uint64("stall-seed", 0, "first seed of the random test with a VPP that stops answering; 0 chooses one")
)

const (
	// stallProgress is after how many rounds a long trial says how far it is.
	stallProgress = 1000
	// stallRounds is how many rounds follow each other with one simulator.
	stallRounds = 40
)

// stallCounts are the cases of a trial. A case is a request that changes something, that
// was sent before the simulator hung or while it did, and that took effect after the
// session had ended: the agent does not know its outcome. A request whose reply was lost,
// since the simulator hung after its effect, is one, too.
type stallCounts struct {
	mu                sync.Mutex
	cases, rounds     int
	byName, byOutcome map[string]int
}

// add adds the cases of a round.
func (c *stallCounts) add(before, after map[string]uint64, outcome string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rounds++
	if c.rounds%stallProgress == 0 {
		fmt.Fprintf(os.Stderr, "%s %d cases in %d rounds\n", time.Now().Format(time.TimeOnly), c.cases, c.rounds)
	}
	for name, n := range after {
		if more := int(n - before[name]); more > 0 && !reads(name) {
			c.cases += more
			c.byName[name] += more
			c.byOutcome[outcome] += more
		}
	}
}

func (c *stallCounts) done() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cases >= *stallCases
}

func (c *stallCounts) log(t *testing.T) {
	t.Logf("%d cases in %d rounds", c.cases, c.rounds)
	for _, counts := range []map[string]int{c.byOutcome, c.byName} {
		for _, name := range slices.Sorted(maps.Keys(counts)) {
			t.Logf("%8d %s", counts[name], name)
		}
	}
}

// A VPP stops answering and continues: what was sent before takes effect late. Nothing
// remains that is not desired, and nothing is missing.
func TestStalls(t *testing.T) {
	t.Parallel()
	seed := *stallSeed
	if seed == 0 {
		seed = uint64(rand.Uint32())
	}
	counts := &stallCounts{byName: map[string]int{}, byOutcome: map[string]int{}}
	var next sync.Mutex
	var all sync.WaitGroup
	for range *stallParallel {
		all.Go(func() {
			for !counts.done() && !t.Failed() {
				next.Lock()
				mine := seed
				seed++
				next.Unlock()
				t.Run(fmt.Sprintf("seed=%d", mine), func(t *testing.T) { stallSeries(t, mine, counts) })
			}
		})
	}
	all.Wait()
	counts.log(t)
}

func stallSeries(t *testing.T, seed uint64, counts *stallCounts) {
	var options []vpptest.Option
	if seed%2 == 0 {
		options = append(options, vpptest.RepairLost())
	}
	s := newStalls(t, seed, options...)
	for round := range stallRounds {
		if counts.done() {
			return
		}
		s.story = append(s.story[:0], fmt.Sprintf("round %d", round))
		before := s.sim.Sim.Stalled()
		what := s.round()
		s.settle()
		counts.add(before, s.sim.Sim.Stalled(), what)
	}
}
