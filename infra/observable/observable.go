// Package observable keeps named values and notifies watchers of their changes.
package observable

import (
	"maps"
	"slices"
	"sync"
)

// Values are the latest values by name. A value is never modified, only
// replaced. All methods may be called concurrently, but not from watchers. The
// zero value is empty.
type Values[V any] struct {
	mu       sync.Mutex
	known    map[string]V
	watchers map[int]func(V)
	nextID   int
}

// List returns all values, sorted by name.
func (l *Values[V]) List() []V {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.list()
}

func (l *Values[V]) list() []V {
	out := make([]V, 0, len(l.known))
	for _, name := range l.names() {
		out = append(out, l.known[name])
	}
	return out
}

// Names returns the names, sorted.
func (l *Values[V]) Names() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.names()
}

func (l *Values[V]) names() []string { return slices.Sorted(maps.Keys(l.known)) }

// Watch calls f with all values, sorted by name, and then with each changed
// value, until cancel is called. f must not block.
func (l *Values[V]) Watch(f func(V)) (cancel func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.watchers == nil {
		l.watchers = map[int]func(V){}
	}
	id := l.nextID
	l.nextID++
	l.watchers[id] = f
	for _, v := range l.list() {
		f(v)
	}
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.watchers, id)
	}
}

// Put replaces a value by the result of next, which gets the previous value if
// there is one, and notifies the watchers. It does nothing if next reports no
// change.
func (l *Values[V]) Put(name string, next func(before V, known bool) (after V, news bool)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	before, known := l.known[name]
	after, news := next(before, known)
	if !news {
		return
	}
	if l.known == nil {
		l.known = map[string]V{}
	}
	l.known[name] = after
	l.notify(after)
}

// Remove removes a value and notifies the watchers with the result of last. It
// does nothing if there is no such value, or if last reports that it stays.
func (l *Values[V]) Remove(name string, last func(before V) (after V, remove bool)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	before, known := l.known[name]
	if !known {
		return
	}
	after, remove := last(before)
	if !remove {
		return
	}
	delete(l.known, name)
	l.notify(after)
}

// notify calls the watchers in the order in which they were added.
func (l *Values[V]) notify(v V) {
	for _, id := range slices.Sorted(maps.Keys(l.watchers)) {
		l.watchers[id](v)
	}
}
