package ifplugin

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/tenuto-dev/tenuto/infra/logging"
	"github.com/tenuto-dev/tenuto/plugins/govppmux/binapi"
	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/descriptor"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/ifaceidx"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/model"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/vppcalls"
)

// linkWatcher notifies the scheduler of links that go up and down and of devices that
// appear and disappear, and keeps the states of interfaces. It has two goroutines per
// session: one receives events, the other reads the interfaces that may have changed. Those
// that the agent itself changes are among them, because VPP sends an event only if the status
// changes.
type linkWatcher struct {
	calls     *vppcalls.Calls
	scheduler kvs.Notifier
	index     ifaceidx.Index
	log       logging.Logger

	states *States

	// mu makes one goroutine wait for the other.
	mu sync.Mutex
	// told is what the scheduler last received, by index.
	told map[uint32]link
	// devices are the physical interfaces by index.
	devices map[uint32]string

	changes changedSet
	// after is time.After, except in tests.
	after func(time.Duration) <-chan time.Time

	cancel context.CancelFunc
	done   chan struct{} // closed when the last goroutine has ended
}

// link is the state of the link of an interface.
type link struct {
	name  string
	up    bool
	stale bool // the scheduler may not have it any longer
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
		w.mu.Lock()
		clear(w.told)
		clear(w.devices)
		w.mu.Unlock()
		err := w.calls.WatchEvents(ctx, w.tellAll, w.changes.add)
		if err != nil && ctx.Err() == nil && !errors.Is(err, binapi.ErrDisconnected) {
			w.log.Warn("the state of links is not followed", "error", err)
		}
	})
	run(func(context.Context) { w.readChanges(ctx) })
}

// The pause after a read doubles from the shortest to the longest as long as interfaces
// change in it.
const (
	shortestPause = 10 * time.Millisecond
	longestPause  = 500 * time.Millisecond
)

// readChanges reads the interfaces that may have changed until ctx ends: at once after a
// pause without changes. What changes in a pause is read together after it, so that a
// storm of events, which arrive one by one, costs few reads.
func (w *linkWatcher) readChanges(ctx context.Context) {
	pause := shortestPause
	for {
		select {
		case <-ctx.Done():
			return
		case <-w.changes.kick:
			w.tell(ctx)
		}
		select {
		case <-ctx.Done():
			return
		case <-w.after(pause):
		}
		if w.changes.empty() {
			pause = shortestPause
		} else {
			pause = min(2*pause, longestPause)
		}
	}
}

// stop asks the goroutine to end; the next one waits for it.
func (w *linkWatcher) stop() {
	if w.cancel != nil {
		w.cancel()
		w.cancel = nil
	}
}

// tellAll reports the state of all links, which may have changed before VPP began
// to send events, and reports interfaces that were deleted before.
func (w *linkWatcher) tellAll(ctx context.Context) {
	if w.scheduler.WaitForTransactions(ctx) != nil { // the session or the agent ends
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	all, err := w.calls.DumpInterfaces(ctx)
	if err != nil {
		w.log.Debug("the state of links was not read", "error", err)
		return
	}
	found := make(map[uint32]*vppcalls.Details, len(all))
	for i := range all {
		found[all[i].SwIfIndex] = &all[i]
	}
	w.reportLost(w.index.SwIfIndexes(), found)
	var changes []kvs.KVWithMetadata
	names := map[string]bool{}
	for _, d := range all {
		changes = append(changes, w.device(d.SwIfIndex, &d)...)
		if name, m, ok := w.index.LookupBySwIfIndex(d.SwIfIndex); ok {
			names[name] = true
			w.states.set(name, m, &d)
			w.told[d.SwIfIndex] = link{name: name, up: d.LinkUp}
			changes = append(changes, descriptor.LinkStateChange(name, d.LinkUp, false)...)
		}
	}
	w.states.keep(names)
	w.push(changes)
}

// fewInterfaces is up to how many interfaces are read one by one.
const fewInterfaces = 8

// tell reads the interfaces that may have changed, and notifies the scheduler of what it does
// not know yet. The transaction that created them may still be running, so their names are
// looked up when that has ended.
func (w *linkWatcher) tell(ctx context.Context) {
	if w.scheduler.WaitForTransactions(ctx) != nil { // the session or the agent ends
		return
	}
	swIfIndexes, own := w.changes.take()
	w.mu.Lock()
	defer w.mu.Unlock()
	found, err := w.read(ctx, swIfIndexes)
	if err != nil {
		w.log.Debug("the state of links was not read", "error", err)
		return
	}
	w.reportLost(swIfIndexes, found)
	var changes []kvs.KVWithMetadata
	for _, idx := range swIfIndexes {
		changes = append(changes, w.device(idx, found[idx])...)
		if own[idx] {
			w.forget(idx)
		}
		changes = append(changes, w.news(idx, found[idx])...)
	}
	w.push(changes)
}

// forget makes news report the state of an interface again, which the agent itself has changed. The
// scheduler may have dropped it meanwhile: a resync between the deletion of an interface and the
// creation of another one under its name and index does not find it.
func (w *linkWatcher) forget(swIfIndex uint32) {
	if before, ok := w.told[swIfIndex]; ok {
		before.stale = true
		w.told[swIfIndex] = before
	}
}

// reportLost reports interfaces of the configuration that VPP no longer has.
// The scheduler looks itself, so what the agent has just removed is no loss.
func (w *linkWatcher) reportLost(swIfIndexes []uint32, found map[uint32]*vppcalls.Details) {
	var lost []string
	for _, idx := range swIfIndexes {
		for _, name := range w.index.NamesBySwIfIndex(idx) {
			if d := found[idx]; d == nil || d.Tag != name { // another one may have the index by now
				lost = append(lost, model.InterfaceModel.KeyFor(name))
			}
		}
	}
	if len(lost) == 0 {
		return
	}
	if err := w.scheduler.ReportLost(lost...); err != nil {
		w.log.Debug("lost interfaces were not reported", "keys", lost, "error", err)
	}
}

func (w *linkWatcher) read(ctx context.Context, swIfIndexes []uint32) (map[uint32]*vppcalls.Details, error) {
	found := make(map[uint32]*vppcalls.Details, len(swIfIndexes))
	if len(swIfIndexes) > fewInterfaces {
		all, err := w.calls.DumpInterfaces(ctx)
		for i := range all {
			found[all[i].SwIfIndex] = &all[i]
		}
		return found, err
	}
	for _, idx := range swIfIndexes {
		d, err := w.calls.DumpInterface(ctx, idx)
		if err != nil {
			return nil, err
		}
		found[idx] = d
	}
	return found, nil
}

// news is what the scheduler does not know yet of an interface; d is nil if it
// does not exist.
func (w *linkWatcher) news(swIfIndex uint32, d *vppcalls.Details) (changes []kvs.KVWithMetadata) {
	name, m, known := w.index.LookupBySwIfIndex(swIfIndex)
	if before, ok := w.told[swIfIndex]; ok && (d == nil || !known || name != before.name) {
		delete(w.told, swIfIndex)
		// It may be back with another index.
		if m, ok := w.index.LookupByName(before.name); !ok || m.SwIfIndex == swIfIndex {
			changes = descriptor.LinkStateChange(before.name, false, true)
			w.states.gone(before.name)
		}
	}
	if d == nil || !known {
		return changes // gone, or another process's
	}
	w.states.set(name, m, d)
	if now := (link{name: name, up: d.LinkUp}); w.told[swIfIndex] != now {
		w.told[swIfIndex] = now
		changes = append(changes, descriptor.LinkStateChange(name, d.LinkUp, false)...)
	}
	return changes
}

// device is what the scheduler does not know yet of devices.
func (w *linkWatcher) device(swIfIndex uint32, d *vppcalls.Details) (changes []kvs.KVWithMetadata) {
	before, had := w.devices[swIfIndex]
	now := ""
	if d != nil && descriptor.IsPhysical(*d) {
		now = d.Name
	}
	if had && before != now {
		delete(w.devices, swIfIndex)
		changes = append(changes, descriptor.PhysicalChange(before, false))
	}
	if now != "" && before != now {
		w.devices[swIfIndex] = now
		changes = append(changes, descriptor.PhysicalChange(now, true))
	}
	return changes
}

func (w *linkWatcher) push(changes []kvs.KVWithMetadata) {
	if len(changes) == 0 {
		return
	}
	if err := w.scheduler.PushSBNotification(changes...); err != nil {
		w.log.Debug("the state of links was not told", "error", err)
	}
}

// changedSet collects the interfaces that may have changed, by index.
type changedSet struct {
	// kick has an element if the set got one since the last take.
	kick chan struct{}

	mu  sync.Mutex
	set map[uint32]bool // true: the agent itself has changed it
}

func newChangedSet() changedSet {
	return changedSet{kick: make(chan struct{}, 1), set: map[uint32]bool{}}
}

// add adds an interface that VPP reports.
func (c *changedSet) add(swIfIndex uint32) { c.put(swIfIndex, false) }

// addOwn adds an interface that the agent has created, changed or deleted.
func (c *changedSet) addOwn(swIfIndex uint32) { c.put(swIfIndex, true) }

func (c *changedSet) put(swIfIndex uint32, own bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.set[swIfIndex] = own || c.set[swIfIndex]
	select {
	case c.kick <- struct{}{}:
	default: // it has one
	}
}

// take returns the elements, and which of them the agent itself has changed, and removes them.
func (c *changedSet) take() (out []uint32, own map[uint32]bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	out, own = slices.Sorted(maps.Keys(c.set)), c.set
	c.set = map[uint32]bool{}
	select {
	case <-c.kick:
	default: // it was received
	}
	return out, own
}

func (c *changedSet) empty() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.set) == 0
}
