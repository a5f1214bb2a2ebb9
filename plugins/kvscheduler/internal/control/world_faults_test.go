package control_test

import (
	"strings"
)

// hang keeps an operation from taking effect. The lock is held before and after.
func (w *world) hang(op, key string) {
	if other := w.running[key]; other != "" {
		w.problem("%s %s: while %s", op, key, other)
	}
	until := make(chan struct{})
	w.running[key], w.hanging[key] = op, until
	w.mu.Unlock()
	w.hung <- key
	<-until
	w.mu.Lock()
	delete(w.running, key)
	delete(w.hanging, key)
}

func (w *world) hangs(key string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.hanging[key] != nil
}

// failed is an injected failure: an error, or a panic.
func (w *world) failed(mode string, err error) error {
	if w.panics() {
		w.faults["panic "+mode+" the effect"]++
		w.panicked = true
		panic(err)
	}
	w.faults["error "+mode+" the effect"]++
	return err
}

// misled tells whether the scheduler cannot know what there is of a key, or of
// the value that it is derived from.
func (w *world) misled(key string) bool {
	base, _ := baseOfDerived(key)
	return w.lied[base] || w.hidden == base
}

// crash loses everything that lives in the session.
func (w *world) crash() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for key := range w.exists {
		if inSession(key) {
			delete(w.exists, key)
			delete(w.meta, key)
			delete(w.foreign, key)
		}
	}
}

// killed is an operation in the session when the southbound dies of it, or is
// dead. The lock is held.
func (w *world) killed(op, key string) bool {
	if w.kill == nil && !w.gone || !inSession(key) {
		return false
	}
	if w.kill != nil && strings.HasPrefix(key, "c/") && (w.killOnly == "" || key == w.killOnly) {
		w.gone = true
		for key := range w.exists {
			if inSession(key) {
				delete(w.exists, key)
				delete(w.meta, key)
				delete(w.foreign, key)
			}
		}
		w.kill()
		w.kill = nil
	}
	if w.gone {
		w.ops = append(w.ops, op+" "+key+" killed")
	}
	return w.gone
}

// injured: the southbound does not die of the next operation, or it did.
func (w *world) injured() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.kill == nil
}

func (w *world) revive() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.gone = false
}

func inSession(key string) bool {
	return strings.HasPrefix(key, "c/") || strings.HasPrefix(key, "d/c/") || strings.HasPrefix(key, "p/c/")
}
