package infratest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Linear is the accepted growth of the run time when the input grows tenfold. It is
// more than ten because of sorting and CPU caches.
const Linear = 12

// AtMost reports a measured number with an upper limit. Neither the name nor
// the unit may contain blanks; a ratio has the unit "x".
func AtMost(b *testing.B, name string, measured float64, unit string, limit float64) {
	b.Helper()
	b.ReportMetric(measured, fmt.Sprintf("%s[%s]<=%g", name, unit, limit))
}

// AtLeast reports a measured number with a lower limit.
func AtLeast(b *testing.B, name string, measured float64, unit string, limit float64) {
	b.Helper()
	b.ReportMetric(measured, fmt.Sprintf("%s[%s]>=%g", name, unit, limit))
}

// Compare reports a number without a limit, as the reference for the budgets
// of the same unit.
func Compare(b *testing.B, name string, measured float64, unit string) {
	b.Helper()
	b.ReportMetric(measured, fmt.Sprintf("%s[%s]", name, unit))
}

// Fastest returns the shortest of some runs. Other load on the machine can
// only make a run longer.
func Fastest(runs int, run func() time.Duration) time.Duration {
	fastest := run()
	for range runs - 1 {
		fastest = min(fastest, run())
	}
	return fastest
}

// Growth returns how many times longer a run of size 10*n takes than one of
// size n. Each round consists of ten small runs and a large one; one small run
// warms up first. Both sides take about as long, so garbage collection and
// other load affect both alike. A run must not leave state behind that slows
// down the next one.
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

// Medians runs all functions in turn, so that other load affects all of them
// alike, and returns the median of the results of each function.
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

// Took returns how long a function takes.
func Took(f func()) time.Duration {
	start := time.Now()
	f()
	return time.Since(start)
}

// Worked returns how long a function works that neither sleeps nor blocks: the
// elapsed time or the CPU time, whichever is less. Their difference went to
// other processes. CPU time is coarse, so elapsed time is used below a few of
// its ticks.
func Worked(f func()) time.Duration {
	before := processors()
	took := Took(f)
	if took < 20*tick {
		return took
	}
	return min(took, processors()-before)
}

// tick is the assumed resolution of CPU time.
const tick = 10 * time.Millisecond

// processors returns the CPU time of this process on all processors.
func processors() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &ts); err != nil {
		return time.Duration(time.Now().UnixNano()) // as good as it gets
	}
	return time.Duration(ts.Nano())
}
