package engine

import (
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
)

// changesKept is how many of the latest changes are kept for resumed watches, and how many
// pending changes for a watch whose client does not take them.
const changesKept = 1 << 16

// changes counts the changes of statuses, remembers the keys of the latest ones, and
// passes them to the watches.
type changes struct {
	incarnation uint64

	mu       sync.Mutex
	revision uint64   // of the latest change
	ring     []string // keys of the latest changes; revision r is at r % changesKept
	oldest   uint64   // the first revision in the ring
	watches  map[*statusWatch]struct{}
	closed   bool

	senders sync.WaitGroup // the goroutines of WatchValueStatus
}

func newChanges(incarnation uint64) *changes {
	return &changes{incarnation: incarnation, oldest: 1, watches: map[*statusWatch]struct{}{}}
}

// note counts one change. The caller holds mu.
func (h *changes) note(key string) {
	h.revision++
	at := int(h.revision % changesKept)
	if at >= len(h.ring) {
		h.ring = append(h.ring, make([]string, min(max(1024, 2*len(h.ring), at+1), changesKept)-len(h.ring))...)
	}
	h.ring[at] = key
	h.oldest = max(h.oldest, h.revision+1-min(changesKept, h.revision))
}

// skip counts more changes than are kept. The caller holds mu.
func (h *changes) skip(n int) {
	h.revision += uint64(n)
	h.oldest = h.revision + 1
	clear(h.ring)
}

// since returns the keys that changed after a revision, with the revisions of their
// latest changes, in that order. ok is false if the changes are no longer kept. The
// caller holds mu.
func (h *changes) since(r api.StatusRevision) (keys []string, revisions []uint64, ok bool) {
	if r.Incarnation != h.incarnation || r.Number+1 < h.oldest || r.Number > h.revision {
		return nil, nil, false
	}
	seen := map[string]bool{}
	for at := h.revision; at > r.Number; at-- {
		key := h.ring[at%changesKept]
		if !seen[key] {
			seen[key] = true
			keys, revisions = append(keys, key), append(revisions, at)
		}
	}
	slices.Reverse(keys)
	slices.Reverse(revisions)
	return keys, revisions, true
}

// join adds a sender. It returns false if the scheduler is closed.
func (h *changes) join() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return false
	}
	h.senders.Add(1)
	return true
}

// close ends all watches after they have delivered their pending changes, and waits for
// the senders.
func (h *changes) close() {
	h.mu.Lock()
	h.closed = true
	for w := range h.watches {
		w.signal()
	}
	h.mu.Unlock()
	h.senders.Wait()
}

// watches implements api.Watcher. All methods except publish, which belongs to the worker,
// may be called concurrently.
type watches struct {
	*shared

	changes *changes
}

func (ws *watches) Revision() api.StatusRevision {
	ws.changes.mu.Lock()
	defer ws.changes.mu.Unlock()
	return api.StatusRevision{Incarnation: ws.changes.incarnation, Number: ws.changes.revision}
}

// publish passes changes of statuses to the watches. It runs between two transactions,
// because statuses are final only then.
func (ws *watches) publish(changed []string) {
	h := ws.changes
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.watches) == 0 {
		if len(changed) > changesKept {
			h.skip(len(changed))
			return
		}
		for _, key := range changed {
			h.note(key)
		}
		return
	}
	slices.Sort(changed)
	ws.state.mu.RLock()
	defer ws.state.mu.RUnlock()
	reader := ws.statuses.reader()
	for _, key := range slices.Compact(changed) {
		h.note(key)
		var status *api.BaseValueStatus
		for w := range h.watches {
			if !w.selects(key) {
				continue
			}
			if status == nil {
				status = reader.Base(key)
			}
			w.put(key, h.revision, status)
		}
	}
	for w := range h.watches {
		w.signal()
	}
}

// selects reports whether the watch includes a base value.
func (w *statusWatch) selects(key string) bool {
	return strings.HasPrefix(key, w.req.Prefix) && (w.req.Selector == nil || w.req.Selector(key))
}

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
	if _, known := w.pending[key]; !known && len(w.pending) >= changesKept && !w.req.NoResync {
		w.first, w.order, w.pending = api.WatchResync, nil, map[string]change{}
		return
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
	w := ws.watch(api.WatchRequest{Selector: selector, NoSnapshot: true, NoResync: true})
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
