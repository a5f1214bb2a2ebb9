package agent

import (
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// memoryCheck is how often the memory of the program is looked at.
const memoryCheck = time.Minute

// spareMemory is how much unused memory is worth the work of giving it back, in bytes.
const spareMemory = 256 << 20

// usage is what the program has of memory, in bytes.
type usage struct {
	free, used uint64 // of the heap
	allocated  uint64 // since the start
}

func readUsage() usage {
	samples := []metrics.Sample{
		{Name: "/memory/classes/heap/free:bytes"}, {Name: "/memory/classes/heap/objects:bytes"}, {Name: "/gc/heap/allocs:bytes"},
	}
	metrics.Read(samples)
	return usage{samples[0].Value.Uint64(), samples[1].Value.Uint64(), samples[2].Value.Uint64()}
}

// spare tells that much memory is not in use, and was not while this was before.
func (u usage) spare(before usage) bool {
	return u.free > spareMemory && u.free > u.used/2 && u.allocated-before.allocated < u.free/8
}

// giveBack gives memory that a large change needed back to the operating system when
// little has happened between two ticks. Go keeps as much as is in use in reserve, so
// a million routes that were read once would cost their size twice for good.
func giveBack(done <-chan struct{}, tick <-chan time.Time) {
	before := readUsage()
	for {
		select {
		case <-done:
			return
		case <-tick:
		}
		now := readUsage()
		if now.spare(before) {
			debug.FreeOSMemory()
			now = readUsage()
		}
		before = now
	}
}
