// Package budgettest declares budgets beside the benchmarks that measure them.
// "make bench" collects them (.ci/budgets) and prints one line for each: what
// was measured, the budget, and whether it holds.
//
// A budget is an ordinary metric of a benchmark. Its unit has the name of the
// budget, the unit of the number, and the limit: "create-100k[s]<=0.5".
package budgettest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Linear is how many times longer ten times as much may take. It would be ten, were
// it not for sorting and for the caches of the processor.
const Linear = 12

// AtMost reports a measured number that shall not be above the limit. Neither
// the name nor the unit may contain blanks; a ratio has the unit "x".
func AtMost(b *testing.B, name string, measured float64, unit string, limit float64) {
	b.Helper()
	b.ReportMetric(measured, fmt.Sprintf("%s[%s]<=%g", name, unit, limit))
}

// AtLeast reports a measured number that shall not be below the limit.
func AtLeast(b *testing.B, name string, measured float64, unit string, limit float64) {
	b.Helper()
	b.ReportMetric(measured, fmt.Sprintf("%s[%s]>=%g", name, unit, limit))
}

// Compare reports a number that has no limit, and says what the budgets of the
// same unit are to be compared with.
func Compare(b *testing.B, name string, measured float64, unit string) {
	b.Helper()
	b.ReportMetric(measured, fmt.Sprintf("%s[%s]", name, unit))
}

// Fastest is the shortest of some runs: what else the machine does makes a run
// longer, never shorter.
func Fastest(runs int, run func() time.Duration) time.Duration {
	fastest := run()
	for range runs - 1 {
		fastest = min(fastest, run())
	}
	return fastest
}

// Growth is how many times longer a run of size 10*n takes than one of size n:
// in each round, ten small runs and a large one, and a small one before all of
// them to warm up. Both sides work for about as long, so what happens beside
// them, collecting garbage and other work of the machine, meets both. A run
// should leave nothing behind that the next one would have to carry.
func Growth(rounds, n int, run func(n int) time.Duration) float64 {
	run(n)
	var small, large time.Duration
	for range rounds {
		for range 10 {
			small += run(n)
		}
		large += run(10 * n)
	}
	return 10 * float64(large) / float64(small)
}

// Medians runs all functions in turn, so that what else the machine does meets
// all of them, and returns the median of what each returned.
func Medians(rounds int, runs ...func() time.Duration) []time.Duration {
	took := make([][]time.Duration, len(runs))
	for range rounds {
		for i, run := range runs {
			took[i] = append(took[i], run())
		}
	}
	medians := make([]time.Duration, len(runs))
	for i := range runs {
		slices.Sort(took[i])
		medians[i] = took[i][len(took[i])/2]
	}
	return medians
}

// Took is how long a function takes.
func Took(f func()) time.Duration {
	start := time.Now()
	f()
	return time.Since(start)
}

// Worked is how long a function takes that neither sleeps nor waits for
// anybody else: the time on the clock, or that of the processors if it is
// less. The rest went to other processes. The clock of the processors is
// coarse; what takes less than a few of its ticks is taken from the other one.
func Worked(f func()) time.Duration {
	before := processors()
	took := Took(f)
	if took < 20*tick {
		return took
	}
	return min(took, processors()-before)
}

// tick is how coarse the clock of the processors may be.
const tick = 10 * time.Millisecond

// processors is the time that this process had on all processors.
func processors() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &ts); err != nil {
		return time.Duration(time.Now().UnixNano()) // as good as it gets
	}
	return time.Duration(ts.Nano())
}
