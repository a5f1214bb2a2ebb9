package agent

import (
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// heapCheck is how often the program checks whether it can release memory.
const heapCheck = 10 * time.Second

// worthRelease is how much must have been allocated since the last release for another
// one, in bytes.
const worthRelease = 32 << 20

// gcPercent is by how much the heap of an agent grows from one collection to the next,
// unless GOGC has another value than 100. The peak of a large transaction is a third smaller
// than with 100, the default of Go; a start with 100,000 routes takes about a tenth more
// processor time.
const gcPercent = 50

// largeHeap is the heap in use, in bytes, from which on it grows by less than gcPercent,
// down to leastPercent: what is in use and what is garbage are in memory together.
const (
	largeHeap    = 448 << 20
	leastPercent = 15
)

// paceCheck is how often the pace of the collector is adapted to the heap.
const paceCheck = time.Second

// limitHeap sets the pace of the collector. It reports whether paceHeap may adapt it,
// because GOGC does not set it.
func limitHeap() (adaptable bool) {
	const byDefault = 100
	set := debug.SetGCPercent(gcPercent)
	if set != byDefault {
		debug.SetGCPercent(set)
	}
	return set == byDefault
}

// percentFor returns by how many percent a heap with the given bytes in use may grow.
func percentFor(live uint64) int {
	if live <= largeHeap {
		return gcPercent
	}
	return max(leastPercent, int(gcPercent*largeHeap/live))
}

// paceHeap adapts the pace of the collector to the heap, until done.
func paceHeap(done <-chan struct{}, tick <-chan time.Time) {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	for percent := gcPercent; ; {
		select {
		case <-done:
			return
		case <-tick:
		}
		metrics.Read(live)
		if now := percentFor(live[0].Value.Uint64()); now != percent {
			percent = now
			debug.SetGCPercent(percent)
		}
	}
}

// heapUsage is the heap of the program, in bytes.
type heapUsage struct {
	used      uint64 // live objects, and dead ones that the collector has not found yet
	allocated uint64 // since the start
}

func readHeap() heapUsage {
	samples := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(samples)
	return heapUsage{samples[0].Value.Uint64(), samples[1].Value.Uint64()}
}

// quietAfter reports whether a burst of allocations has ended: much was allocated since
// the last release, and little since the previous check. The last release may have been
// during a transaction that waited, and what was in use then may be garbage by now; so a
// small part of it counts as much.
func (u heapUsage) quietAfter(released, previous heapUsage) bool {
	burst := u.allocated - released.allocated
	return burst > max(worthRelease, released.used/16) && u.allocated-previous.allocated < burst/16
}

// releaseHeap returns memory to the operating system after a burst of allocations, such
// as a large transaction. The Go runtime keeps as much in reserve as is in use, so
// without it a million routes that are read once would cost their size twice.
func releaseHeap(done <-chan struct{}, tick <-chan time.Time) {
	released := heapUsage{}
	previous := readHeap()
	for {
		select {
		case <-done:
			return
		case <-tick:
		}
		now := readHeap()
		if now.quietAfter(released, previous) {
			debug.FreeOSMemory()
			// Memory allocated meanwhile, which may take seconds, may be garbage already.
			released = heapUsage{used: readHeap().used, allocated: now.allocated}
		}
		previous = now
	}
}
