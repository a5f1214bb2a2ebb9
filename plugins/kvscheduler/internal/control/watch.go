package control

import (
	"slices"
	"sync"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
)

// watcher delivers statuses to one receiver. A receiver that is slow gets the
// latest status of each key.
type watcher struct {
	channel  chan<- *api.BaseValueStatus
	selector api.KeySelector

	mu      sync.Mutex
	pending map[string]*api.BaseValueStatus
	order   []string
	wake    chan struct{}
	quit    chan struct{}
	stopped chan struct{}
}

// WatchValueStatus implements api.Inspector.
func (c *Control) WatchValueStatus(channel chan<- *api.BaseValueStatus, selector api.KeySelector) (cancel func()) {
	w := &watcher{
		channel: channel, selector: selector,
		pending: map[string]*api.BaseValueStatus{},
		wake:    make(chan struct{}, 1), quit: make(chan struct{}), stopped: make(chan struct{}),
	}
	c.watchMu.Lock()
	if c.watchers == nil { // the scheduler is closed
		c.watchMu.Unlock()
		return func() {}
	}
	c.watchers[w] = struct{}{}
	c.watchMu.Unlock()
	go w.run()
	return sync.OnceFunc(func() {
		c.watchMu.Lock()
		_, running := c.watchers[w]
		delete(c.watchers, w)
		c.watchMu.Unlock()
		if running {
			close(w.quit)
		}
		<-w.stopped
	})
}

func (w *watcher) put(status *api.BaseValueStatus) {
	key := status.GetValue().GetKey()
	if w.selector != nil && !w.selector(key) {
		return
	}
	w.mu.Lock()
	if _, queued := w.pending[key]; !queued {
		w.order = append(w.order, key)
	}
	w.pending[key] = status
	w.mu.Unlock()
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

func (w *watcher) take() *api.BaseValueStatus {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.order) == 0 {
		return nil
	}
	key := w.order[0]
	w.order = w.order[1:]
	status := w.pending[key]
	delete(w.pending, key)
	return status
}

func (w *watcher) run() {
	defer close(w.stopped)
	for {
		status := w.take()
		if status == nil {
			select {
			case <-w.wake:
				continue
			case <-w.quit:
				return
			}
		}
		select {
		case w.channel <- status:
		case <-w.quit:
			return
		}
	}
}

func (c *Control) notifyWatchers(changed []string) {
	c.watchMu.Lock()
	defer c.watchMu.Unlock()
	if len(c.watchers) == 0 {
		return
	}
	slices.Sort(changed)
	for _, key := range slices.Compact(changed) {
		status := c.GetValueStatus(key)
		for w := range c.watchers {
			w.put(status)
		}
	}
}

func (c *Control) stopWatchers() {
	c.watchMu.Lock()
	watchers := c.watchers
	c.watchers = nil
	c.watchMu.Unlock()
	for w := range watchers {
		close(w.quit)
		<-w.stopped
	}
}

// WatchNBKeyPrefixRegistration implements api.Registrar.
func (c *Control) WatchNBKeyPrefixRegistration(prefix string) (<-chan struct{}, error) {
	c.watchMu.Lock()
	defer c.watchMu.Unlock()
	ch := make(chan struct{})
	if c.registry.Load().ByNBKeyPrefix(prefix) != nil {
		close(ch)
		return ch, api.ErrDescriptorExists
	}
	c.waiting[prefix] = append(c.waiting[prefix], ch)
	return ch, nil
}

func (c *Control) wakeRegistrationWatchers(prefixes []string) {
	c.watchMu.Lock()
	defer c.watchMu.Unlock()
	for _, prefix := range prefixes {
		for _, ch := range c.waiting[prefix] {
			close(ch)
		}
		delete(c.waiting, prefix)
	}
}
