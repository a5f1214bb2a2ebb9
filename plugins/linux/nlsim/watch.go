package nlsim

import (
	"context"
	"errors"

	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
)

// ErrOverflow is what Watch and WatchOthers return when events were lost.
var ErrOverflow = errors.New("no buffer space available")

// watcher queues the events for one Watch or WatchOthers.
type watcher[E any] struct {
	queue []E
	lost  bool
	wake  chan struct{} // has a token while there is something to look at
}

func (w *watcher[E]) push(e E) {
	if !w.lost {
		w.queue = append(w.queue, e)
	}
	w.signal()
}

func (w *watcher[E]) lose() {
	w.lost = true
	w.signal()
}

func (w *watcher[E]) signal() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// outlook is an event in a namespace that has a number.
type outlook struct {
	number int
	event  netlinkapi.Event
}

func (ns *space) notify(e netlinkapi.Event) {
	for w := range ns.watchers {
		w.push(e)
	}
	ns.tellOthers(e)
	for w := range ns.outlooks {
		w.push(outlook{netlinkapi.OwnNumber, e})
	}
}

// tellOthers notifies those in other namespaces of an event here.
func (ns *space) tellOthers(e netlinkapi.Event) {
	for other, number := range ns.numberIn {
		for w := range other.outlooks {
			w.push(outlook{number, e})
		}
	}
}

// Overflow makes all running watches of the namespace lose events.
func (k *Kernel) Overflow(path string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for w := range k.spaces[path].watchers {
		w.lose()
	}
	for w := range k.spaces[path].outlooks {
		w.lose()
	}
}

// Watchers returns the number of running Watches of the namespace.
func (k *Kernel) Watchers(path string) int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.spaces[path].watchers)
}

// Listeners returns the number of running WatchOthers that were started in the
// namespace.
func (k *Kernel) Listeners(path string) int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.spaces[path].outlooks)
}

func (h *handle) Watch(ctx context.Context, ready func(), event func(netlinkapi.Event)) error {
	return h.gate.Pass(ctx, func() error { return follow(ctx, h.k, "Watch", h.ns.watchers, ready, event) })
}

// Number implements netlinkapi.Others.
func (h *handle) Number(ctx context.Context, other netlinkapi.Handle) (number int, err error) {
	err = h.read(ctx, "Number", func() error {
		ns := other.(*handle).ns
		if ns == h.ns {
			number = netlinkapi.OwnNumber
			return nil
		}
		var known bool
		if number, known = ns.numberIn[h.ns]; !known {
			number = h.ns.numbers
			h.ns.numbers++
			ns.numberIn[h.ns] = number
		}
		return nil
	})
	return number, err
}

// WatchOthers implements netlinkapi.Others.
func (h *handle) WatchOthers(ctx context.Context, ready func(), event func(number int, e netlinkapi.Event)) error {
	return h.gate.Pass(ctx, func() error {
		return follow(ctx, h.k, "WatchOthers", h.ns.outlooks, ready, func(o outlook) { event(o.number, o.event) })
	})
}

// follow registers a watcher of a namespace and reports its events.
func follow[E any](ctx context.Context, k *Kernel, op string, all map[*watcher[E]]struct{}, ready func(), event func(E)) error {
	w := &watcher[E]{wake: make(chan struct{}, 1)}
	if err := k.read(op, func() error { all[w] = struct{}{}; return nil }); err != nil {
		return err
	}
	defer func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		delete(all, w)
	}()
	ready()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-w.wake:
		}
		k.mu.Lock()
		queue, lost := w.queue, w.lost
		w.queue = nil
		k.mu.Unlock()
		if lost {
			return ErrOverflow
		}
		for _, e := range queue {
			event(e)
		}
	}
}
