package infratest_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenuto-dev/tenuto/infra/infratest"
)

// what returns the durations one after the other.
func what(durations ...time.Duration) func() time.Duration {
	return func() time.Duration {
		d := durations[0]
		durations = durations[1:]
		return d
	}
}

func TestFastest(t *testing.T) {
	t.Parallel()
	if got := infratest.Fastest(3, what(4, 2, 3)); got != 2 {
		t.Errorf("got %v, expected 2", got)
	}
}

func TestGrowthIsOfTheSums(t *testing.T) {
	t.Parallel()
	took := map[int]func() time.Duration{
		5:  what(slices.Concat([]time.Duration{99}, slices.Repeat([]time.Duration{1, 3}, 10))...),
		50: what(20, 60),
	}
	if got := infratest.Growth(2, 5, func(n int) time.Duration { return took[n]() }); got != 20 {
		t.Errorf("got %v, expected 20", got)
	}
}

func TestMediansAreOfEachFunction(t *testing.T) {
	t.Parallel()
	got := infratest.Medians(3, what(9, 1, 2), what(50, 40, 60))
	if want := []time.Duration{2, 50}; !slices.Equal(got, want) {
		t.Errorf("got %v, expected %v", got, want)
	}
}

func TestBudgetsAreMetrics(t *testing.T) {
	t.Parallel()
	r := testing.Benchmark(func(b *testing.B) {
		infratest.AtMost(b, "create-100k", 0.25, "s", 0.5)
		infratest.AtLeast(b, "routes", 70, "%", 50)
		infratest.Compare(b, "map", 20, "x")
	})
	for unit, want := range map[string]float64{"create-100k[s]<=0.5": 0.25, "routes[%]>=50": 70, "map[x]": 20} {
		if got, ok := r.Extra[unit]; !ok || got != want {
			t.Errorf("%s is %v (%v), expected %v", unit, got, ok, want)
		}
	}
}

func TestWaitingIsNoWork(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // an hour of the bubble's time, and none of the processors
		if got := infratest.Worked(func() { time.Sleep(time.Hour) }); got >= time.Hour {
			t.Errorf("worked %v", got)
		}
		if got := infratest.Took(func() { time.Sleep(time.Hour) }); got != time.Hour {
			t.Errorf("took %v", got)
		}
	})
}
