package agent

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"
	"time"
)

func released() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// TestReleaseHeap: memory that was needed once is returned to the operating system, also
// what the garbage collector has not found yet.
func TestReleaseHeap(t *testing.T) {
	done, tick, over := make(chan struct{}), make(chan time.Time), make(chan struct{})
	go func() { defer close(over); releaseHeap(done, tick) }()
	tick <- time.Time{}
	var large [][]byte
	for range 40 {
		block := make([]byte, 16<<20)
		for i := 0; i < len(block); i += 4096 {
			block[i] = 1
		}
		large = append(large, block)
	}
	runtime.KeepAlive(large)
	before := released()
	large = nil
	tick <- time.Time{}
	tick <- time.Time{}
	close(done)
	<-over
	if got := released(); got < before+400<<20 {
		t.Errorf("%d MB are released, expected at least 400 more than %d", got>>20, before>>20)
	}
}

func TestPercentFor(t *testing.T) {
	const mb = 1 << 20
	for live, want := range map[uint64]int{0: 50, 448 * mb: 50, 896 * mb: 25, 1120 * mb: 20, 8192 * mb: 15} {
		if got := percentFor(live); got != want {
			t.Errorf("%d MB in use: %d, expected %d", live/mb, got, want)
		}
	}
}

// TestPaceHeap: while much is in use, the heap grows by less.
func TestPaceHeap(t *testing.T) {
	set := debug.SetGCPercent(gcPercent)
	defer debug.SetGCPercent(set)
	done, tick, over := make(chan struct{}), make(chan time.Time), make(chan struct{})
	go func() { defer close(over); paceHeap(done, tick) }()
	large := make([]byte, largeHeap*gcPercent/leastPercent)
	runtime.GC()
	tick <- time.Time{}
	close(done)
	<-over
	runtime.KeepAlive(large)
	if got := debug.SetGCPercent(gcPercent); got != leastPercent {
		t.Errorf("the heap may grow by %d percent, expected %d", got, leastPercent)
	}
}

func TestQuietAfter(t *testing.T) {
	const mb = 1 << 20
	for _, c := range []struct {
		what                    string
		released, previous, now heapUsage
		quiet                   bool
	}{
		{"a large transaction has ended", heapUsage{}, heapUsage{allocated: 900 * mb}, heapUsage{used: 600 * mb, allocated: 901 * mb}, true},
		{"a small program", heapUsage{}, heapUsage{allocated: 20 * mb}, heapUsage{used: 10 * mb, allocated: 20 * mb}, false},
		{"little compared with what is in use", heapUsage{used: 2000 * mb, allocated: 9000 * mb}, heapUsage{allocated: 9100 * mb}, heapUsage{used: 2000 * mb, allocated: 9100 * mb}, false},
		{"a release was made shortly before the end", heapUsage{used: 1400 * mb, allocated: 8000 * mb}, heapUsage{allocated: 8199 * mb}, heapUsage{used: 1500 * mb, allocated: 8200 * mb}, true},
		{"it is at work", heapUsage{}, heapUsage{allocated: 100 * mb}, heapUsage{used: 600 * mb, allocated: 900 * mb}, false},
	} {
		if got := c.now.quietAfter(c.released, c.previous); got != c.quiet {
			t.Errorf("%s: %v, expected %v", c.what, got, c.quiet)
		}
	}
}
