package engine

import (
	"context"
	"sync"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
)

// maxDelta limits the values in one event with changes.
const maxDelta = 1000

// statusWatch is one watch. The lock of changes guards its pending changes.
type statusWatch struct {
	of  *watches
	req api.WatchRequest

	first   api.WatchKind // the snapshot or resync that is due; empty: none
	pending map[string]change
	order   []entry       // of pending; only the latest entry of a key is valid
	wake    chan struct{} // buffered

	next sync.Mutex // held by Next
	once sync.Once
	quit chan struct{}
}

type change struct {
	revision uint64
	status   *api.BaseValueStatus
}

type entry struct {
	key      string
	revision uint64
}

// Watch implements api.Watcher.
func (ws *watches) Watch(req api.WatchRequest) api.StatusWatch { return ws.watch(req) }

func (ws *watches) watch(req api.WatchRequest) *statusWatch {
	w := &statusWatch{
		of: ws, req: req, pending: map[string]change{},
		wake: make(chan struct{}, 1), quit: make(chan struct{}),
	}
	h := ws.changes
	h.mu.Lock()
	defer h.mu.Unlock()
	h.watches[w] = struct{}{}
	switch {
	case req.Since != api.StatusRevision{}:
		w.resume()
	case !req.NoSnapshot:
		w.first = api.WatchSnapshot
	}
	w.signal()
	return w
}

// resume continues from a revision. The caller holds the lock of changes.
func (w *statusWatch) resume() {
	keys, revisions, ok := w.of.changes.since(w.req.Since)
	if !ok {
		w.first = api.WatchResync
		return
	}
	w.of.state.mu.RLock()
	defer w.of.state.mu.RUnlock()
	reader := w.of.statuses.reader()
	for i, key := range keys {
		if w.selects(key) {
			w.put(key, revisions[i], reader.Base(key))
		}
	}
}

// put adds a change. The caller holds the lock of changes.
func (w *statusWatch) put(key string, revision uint64, status *api.BaseValueStatus) {
	if w.first != "" {
		return // the snapshot will contain it
	}
	if len(w.order) > 2*len(w.pending)+64 {
		w.compact()
	}
	w.pending[key] = change{revision, status}
	w.order = append(w.order, entry{key, revision})
}

// compact drops the invalid entries.
func (w *statusWatch) compact() {
	kept := w.order[:0]
	for _, e := range w.order {
		if w.pending[e.key].revision == e.revision {
			kept = append(kept, e)
		}
	}
	clear(w.order[len(kept):])
	w.order = kept
}

func (w *statusWatch) signal() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// Next implements api.StatusWatch.
func (w *statusWatch) Next(ctx context.Context) (*api.WatchEvent, error) {
	return w.nextOf(ctx, maxDelta)
}

// nextOf is Next with at most limit changes.
func (w *statusWatch) nextOf(ctx context.Context, limit int) (*api.WatchEvent, error) {
	w.next.Lock()
	defer w.next.Unlock()
	for {
		if err := context.Cause(ctx); err != nil {
			return nil, err
		}
		ev, err := w.take(limit)
		if ev != nil || err != nil {
			return ev, err
		}
		select {
		case <-w.wake:
		case <-w.quit:
		case <-ctx.Done():
		}
	}
}

// take returns the pending changes without waiting, even if the scheduler is closed.
func (w *statusWatch) take(limit int) (*api.WatchEvent, error) {
	h := w.of.changes
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, open := h.watches[w]; !open {
		return nil, api.ErrWatchClosed
	}
	ev := &api.WatchEvent{Kind: api.WatchDelta, Revision: api.StatusRevision{Incarnation: h.incarnation, Number: h.revision}}
	switch {
	case w.first != "":
		ev.Kind, w.first = w.first, ""
		ev.Values = w.of.statuses.list(w.req.Prefix, w.req.Selector)
		return ev, nil
	case len(w.pending) == 0 && h.closed:
		return nil, api.ErrClosedScheduler
	case len(w.pending) == 0:
		return nil, nil
	}
	last := w.collect(ev, limit)
	if len(w.pending) > 0 {
		ev.Revision.Number = last
	}
	return ev, nil
}

// collect moves pending changes into an event and returns the revision of the last
// one. The caller holds the lock of changes.
func (w *statusWatch) collect(ev *api.WatchEvent, limit int) (last uint64) {
	for len(w.order) > 0 && len(ev.Values) < limit {
		e := w.order[0]
		w.order = w.order[1:]
		p, ok := w.pending[e.key]
		if !ok || p.revision != e.revision {
			continue // changed again later
		}
		delete(w.pending, e.key)
		ev.Values = append(ev.Values, p.status)
		last = e.revision
	}
	return last
}

// reset drops the pending changes.
func (w *statusWatch) reset() {
	w.of.changes.mu.Lock()
	defer w.of.changes.mu.Unlock()
	w.first, w.order = "", nil
	clear(w.pending)
}

// Close implements api.StatusWatch.
func (w *statusWatch) Close() {
	w.once.Do(func() {
		h := w.of.changes
		h.mu.Lock()
		delete(h.watches, w)
		h.mu.Unlock()
		close(w.quit)
	})
	w.next.Lock() // a running Next ends
	defer w.next.Unlock()
}

// channel starts a watch that sends each change to a channel.
func (ws *watches) channel(channel chan<- *api.BaseValueStatus, selector api.KeySelector) (cancel func()) {
	w := ws.watch(api.WatchRequest{Selector: selector, NoSnapshot: true})
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	if !ws.changes.join() { // the scheduler is closed
		stop()
		w.Close()
		return func() {}
	}
	go func() {
		defer ws.changes.senders.Done()
		defer close(ended)
		defer w.Close()
		w.send(ctx, channel)
	}()
	return func() {
		stop()
		<-ended
	}
}

// send sends changes until the context ends or the scheduler is closed.
func (w *statusWatch) send(ctx context.Context, channel chan<- *api.BaseValueStatus) {
	for {
		ev, err := w.nextOf(ctx, 1)
		if err != nil {
			return
		}
		select {
		case channel <- ev.Values[0]:
		case <-ctx.Done():
			return
		case <-w.of.admission.stopped:
			return
		}
	}
}
