// Package observable keeps the current values of things that have names, and tells those who
// watch of each that changes.
package observable

import (
	"maps"
	"slices"
	"sync"
)

// Values are the latest values by name. They are never changed, only replaced.
// All methods may be called concurrently, but not by those who watch. The zero
// value has none.
type Values[V any] struct {
	mu       sync.Mutex
	known    map[string]V
	watchers map[int]func(V)
	nextID   int
}

// List returns all values, by name.
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

// Watch calls f with all values, by name, and then with each that changes, until
// cancel is called. f must not block.
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

// Put lets next make a value of the one before, if there is one. If it is news,
// it takes the place of the other one and is told.
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
	l.tell(after)
}

// Remove forgets a value and tells what last makes of it. Without the value it
// does nothing.
func (l *Values[V]) Remove(name string, last func(before V) V) {
	l.mu.Lock()
	defer l.mu.Unlock()
	before, known := l.known[name]
	if !known {
		return
	}
	delete(l.known, name)
	l.tell(last(before))
}

// tell calls the watchers in the order in which they came.
func (l *Values[V]) tell(v V) {
	for _, id := range slices.Sorted(maps.Keys(l.watchers)) {
		l.watchers[id](v)
	}
}
