package health

// Changes returns a channel that has something in it after the tree has changed;
// several changes may be one. cancel ends it.
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

// tellWatchers tells of a change; t.mu is held.
func (t *Tree) tellWatchers() {
	for ch := range t.watchers {
		select {
		case ch <- struct{}{}:
		default: // it will look anyway
		}
	}
}
