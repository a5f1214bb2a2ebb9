package orchestrator

import (
	"maps"
	"slices"
	"sync"
)

// itemWatches are the watches of items.
type itemWatches struct {
	mu  sync.Mutex
	all map[*ItemWatch]bool
}

// ItemWatch follows the items of all sources. It keeps the keys that changed until its client
// takes them, so that a slow client loses none and costs at most one entry per key.
type ItemWatch struct {
	of      *itemWatches
	wake    chan struct{} // buffered
	pending map[string]bool
}

// WatchItems begins to follow items. Items that are read afterwards are no older than the
// begin of the watch. The watch must be closed.
func (p *Plugin) WatchItems() *ItemWatch {
	w := &ItemWatch{of: &p.itemWatches, wake: make(chan struct{}, 1), pending: map[string]bool{}}
	w.of.mu.Lock()
	defer w.of.mu.Unlock()
	if w.of.all == nil {
		w.of.all = map[*ItemWatch]bool{}
	}
	w.of.all[w] = true
	return w
}

// Changed returns a channel that receives when there are keys to take.
func (w *ItemWatch) Changed() <-chan struct{} { return w.wake }

// Take returns the keys of items that were changed, or may have been, since the last call;
// sorted.
func (w *ItemWatch) Take() []string {
	w.of.mu.Lock()
	defer w.of.mu.Unlock()
	keys := slices.Sorted(maps.Keys(w.pending))
	clear(w.pending)
	return keys
}

// Close ends the watch.
func (w *ItemWatch) Close() {
	w.of.mu.Lock()
	defer w.of.mu.Unlock()
	delete(w.of.all, w)
}

// note reports changes of items to the watches.
func (ws *itemWatches) note(keys []string) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if len(keys) == 0 {
		return
	}
	for w := range ws.all {
		for _, key := range keys {
			w.pending[key] = true
		}
		select {
		case w.wake <- struct{}{}:
		default:
		}
	}
}
