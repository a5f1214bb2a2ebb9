package nlsim

import (
	"context"
	"errors"

	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
)

// ErrOverflow is what Watch returns when events were lost.
var ErrOverflow = errors.New("no buffer space available")

// watcher queues the events for one Watch.
type watcher struct {
	queue []netlinkapi.Event
	lost  bool
	wake  chan struct{} // has a token while there is something to look at
}

func (w *watcher) signal() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

func (ns *space) notify(e netlinkapi.Event) {
	for w := range ns.watchers {
		if !w.lost {
			w.queue = append(w.queue, e)
		}
		w.signal()
	}
}

// Overflow makes all running Watches of the namespace lose events.
func (k *Kernel) Overflow(path string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for w := range k.spaces[path].watchers {
		w.lost = true
		w.signal()
	}
}

// Watchers returns the number of running Watches of the namespace.
func (k *Kernel) Watchers(path string) int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.spaces[path].watchers)
}

func (h *handle) Watch(ctx context.Context, ready func(), event func(netlinkapi.Event)) error {
	w := &watcher{wake: make(chan struct{}, 1)}
	if err := h.k.read("Watch", func() error { h.ns.watchers[w] = struct{}{}; return nil }); err != nil {
		return err
	}
	defer func() {
		h.k.mu.Lock()
		defer h.k.mu.Unlock()
		delete(h.ns.watchers, w)
	}()
	ready()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-w.wake:
		}
		h.k.mu.Lock()
		queue, lost := w.queue, w.lost
		w.queue = nil
		h.k.mu.Unlock()
		if lost {
			return ErrOverflow
		}
		for _, e := range queue {
			event(e)
		}
	}
}
