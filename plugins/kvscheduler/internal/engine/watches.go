package engine

import (
	"slices"
	"strings"
	"sync"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
)

// changesKept is how many of the latest changes are kept for resumed watches.
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

// Revision implements api.Watcher.
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
