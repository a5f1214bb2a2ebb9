package ifplugin

import (
	"context"
	"errors"

	"github.com/tenuto-dev/tenuto/infra/logging"
	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppclient"
	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/descriptor"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/ifaceidx"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/vppcalls"
)

// linkWatcher tells the scheduler of links that go up and down, in one
// goroutine per session.
type linkWatcher struct {
	calls     *vppcalls.Calls
	scheduler kvs.Notifier
	index     ifaceidx.Index
	log       logging.Logger

	// told is what the scheduler was told last, by index; used by the goroutine
	// only.
	told map[uint32]link

	cancel context.CancelFunc
	done   chan struct{} // closed when the last goroutine has ended
}

// link is the state of the link of an interface.
type link struct {
	name string
	up   bool
}

// start watches the events of the current session.
func (w *linkWatcher) start(ctx context.Context, run func(func(context.Context))) {
	ctx, w.cancel = context.WithCancel(ctx)
	before, done := w.done, make(chan struct{})
	w.done = done
	run(func(context.Context) {
		defer close(done)
		if before != nil {
			<-before
		}
		clear(w.told)
		err := w.calls.WatchEvents(ctx, w.tellAll, w.tell)
		if err != nil && ctx.Err() == nil && !errors.Is(err, vppclient.ErrDisconnected) {
			w.log.Warn("the state of links is not followed", "error", err)
		}
	})
}

// stop tells the goroutine to end; the next one waits for it.
func (w *linkWatcher) stop() {
	if w.cancel != nil {
		w.cancel()
		w.cancel = nil
	}
}

// tellAll tells the state of all links, which may have changed before VPP began
// to send events.
func (w *linkWatcher) tellAll() {
	all, err := w.calls.DumpInterfaces()
	if err != nil {
		w.log.Debug("the state of links was not read", "error", err)
		return
	}
	w.scheduler.TransactionBarrier()
	var changes []kvs.KVWithMetadata
	for _, d := range all {
		if name, _, ok := w.index.LookupBySwIfIndex(d.SwIfIndex); ok {
			w.told[d.SwIfIndex] = link{name, d.LinkUp}
			changes = append(changes, descriptor.LinkStateChange(name, d.LinkUp, false)...)
		}
	}
	w.push(changes)
}

// tell passes an event on, if it is news: VPP sends some twice. The transaction
// that created the interface may still be running, so its name is looked up when
// that has ended.
func (w *linkWatcher) tell(e vppcalls.Event) {
	if e.Deleted {
		if before, ok := w.told[e.SwIfIndex]; ok {
			delete(w.told, e.SwIfIndex)
			w.push(descriptor.LinkStateChange(before.name, false, true))
		}
		return
	}
	w.scheduler.TransactionBarrier()
	name, _, ok := w.index.LookupBySwIfIndex(e.SwIfIndex)
	if now := (link{name, e.LinkUp}); ok && w.told[e.SwIfIndex] != now {
		w.told[e.SwIfIndex] = now
		w.push(descriptor.LinkStateChange(name, e.LinkUp, false))
	}
}

func (w *linkWatcher) push(changes []kvs.KVWithMetadata) {
	if len(changes) == 0 {
		return
	}
	if err := w.scheduler.PushSBNotification(changes...); err != nil {
		w.log.Debug("the state of links was not told", "error", err)
	}
}
