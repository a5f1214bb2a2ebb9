package agent

import (
	"runtime"
	"runtime/metrics"
	"testing"
	"time"
)

func released() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// What was needed once is given back, when nothing happens any more.
func TestMemoryIsGivenBack(t *testing.T) {
	done, tick, over := make(chan struct{}), make(chan time.Time), make(chan struct{})
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
	runtime.GC()
	go func() { defer close(over); giveBack(done, tick) }()
	tick <- time.Time{}
	tick <- time.Time{}
	close(done)
	<-over
	if got := released(); got < before+400<<20 {
		t.Errorf("%d MB are given back, expected at least 400 more than %d", got>>20, before>>20)
	}
}

func TestSpareMemory(t *testing.T) {
	const mb = 1 << 20
	for _, c := range []struct {
		what        string
		before, now usage
		spare       bool
	}{
		{"half of it is free", usage{}, usage{free: 600 * mb, used: 600 * mb}, true},
		{"a small program", usage{}, usage{free: 100 * mb, used: 10 * mb}, false},
		{"most is in use", usage{}, usage{free: 600 * mb, used: 2000 * mb}, false},
		{"it is at work", usage{allocated: 100 * mb}, usage{free: 600 * mb, used: 600 * mb, allocated: 300 * mb}, false},
	} {
		if got := c.now.spare(c.before); got != c.spare {
			t.Errorf("%s: %v, expected %v", c.what, got, c.spare)
		}
	}
}
