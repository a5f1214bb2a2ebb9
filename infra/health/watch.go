package health

// Changes returns a channel that receives a value after the tree has changed. It
// may merge several changes into one value. cancel ends it.
func (t *Tree) Changes() (changed <-chan struct{}, cancel func()) {
	ch := make(chan struct{}, 1)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.watchers[ch] = true
	return ch, func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		delete(t.watchers, ch)
	}
}

// tellWatchers notifies the watchers; t.mu is held.
func (t *Tree) tellWatchers() {
	for ch := range t.watchers {
		select {
		case ch <- struct{}{}:
		default: // a notification is already pending
		}
	}
}
