package engine

import (
	"sync/atomic"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
)

// progress is the progress of the worker with the current task. It may be read
// concurrently.
type progress struct {
	reading atomic.Pointer[string] // the descriptor that is read; nil: none
	before  atomic.Uint64          // the number of records when the read started
}

// beginReading records that the values of a descriptor are being read.
func (b *southbound) beginReading(descriptor string) {
	b.progress.before.Store(b.records())
	b.progress.reading.Store(&descriptor)
}

func (b *southbound) endReading() { b.progress.reading.Store(nil) }

// records returns how many records southbounds have sent so far.
func (b *southbound) records() uint64 {
	if b.opts.Records == nil {
		return 0
	}
	return b.opts.Records()
}

// progressNow returns the progress of the current task; nil if it neither reads nor
// executes.
func (e *Engine) progressNow() *api.Progress {
	if descriptor := e.southbound.progress.reading.Load(); descriptor != nil {
		return &api.Progress{Phase: api.PhaseRetrieving, Descriptor: *descriptor, Done: e.southbound.records() - e.southbound.progress.before.Load()}
	}
	if done, total := e.exec.Progress.Get(); total > 0 {
		return &api.Progress{Phase: api.PhaseExecuting, Done: uint64(done), Total: uint64(total)}
	}
	return nil
}
