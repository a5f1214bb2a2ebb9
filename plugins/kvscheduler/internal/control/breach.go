package control

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// Breach is how a descriptor breaks its contract.
type Breach struct {
	Descriptor string
	Key        string // the value for which it does; empty: in Retrieve
	Problem    string
}

// maxBreaches bounds the breaches that are remembered one by one; all of them
// are counted.
const maxBreaches = 1000

// breaches are the breaches of contracts that are not over. The zero value has
// none. All methods may be called concurrently.
type breaches struct {
	any   atomic.Bool
	mu    sync.Mutex
	count map[string]uint64   // by descriptor, of all times
	last  map[string][]string // of the last Retrieve, by descriptor
	keys  map[string][]Breach // by value
}

// note remembers a breach; false if it is known.
func (b *breaches) note(breach Breach) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.count == nil {
		b.count, b.last, b.keys = map[string]uint64{}, map[string][]string{}, map[string][]Breach{}
	}
	b.any.Store(true)
	b.count[breach.Descriptor]++
	switch {
	case breach.Key == "" && len(b.last[breach.Descriptor]) < maxBreaches:
		b.last[breach.Descriptor] = append(b.last[breach.Descriptor], breach.Problem)
	case breach.Key != "" && len(b.keys) < maxBreaches && !slices.Contains(b.keys[breach.Key], breach):
		b.keys[breach.Key] = append(b.keys[breach.Key], breach)
	default:
		return false
	}
	return true
}

// over forgets what was wrong with the last Retrieve; false if nothing was.
func (b *breaches) over(descriptor string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	some := len(b.last[descriptor]) > 0
	delete(b.last, descriptor)
	return some
}

// forget what is known of a value, which is about to be described anew.
func (b *breaches) forget(key string) {
	if !b.any.Load() {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.keys, key)
}

// of lists the problems with a value.
func (b *breaches) of(key string) (problems []string) {
	if !b.any.Load() {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, breach := range b.keys[key] {
		problems = append(problems, breach.Problem)
	}
	return problems
}

func (b *breaches) list() (list []Breach) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for descriptor, problems := range b.last {
		for _, problem := range problems {
			list = append(list, Breach{Descriptor: descriptor, Problem: problem})
		}
	}
	for _, some := range b.keys {
		list = append(list, some...)
	}
	slices.SortFunc(list, func(x, y Breach) int {
		return strings.Compare(x.Descriptor+" "+x.Key+" "+x.Problem, y.Descriptor+" "+y.Key+" "+y.Problem)
	})
	return list
}

// reading begins a new Retrieve.
func (c *Control) reading(descriptor string) {
	if c.breaches.over(descriptor) && c.opts.Breaches != nil {
		c.opts.Breaches(c.breaches.list())
	}
}

// retrieveBreach is told what is wrong with the result of a Retrieve.
func (c *Control) retrieveBreach(descriptor, problem string) {
	c.breach(Breach{Descriptor: descriptor, Problem: problem})
}

// derivedBreach is told what is wrong with the derived values of a value.
func (c *Control) derivedBreach(descriptor, key, problem string) {
	if c.breach(Breach{descriptor, key, problem}) {
		c.log.Warn("descriptor breaks its contract", "descriptor", descriptor, "key", key, "problem", problem)
	}
}

func (c *Control) breach(b Breach) bool {
	if !c.breaches.note(b) {
		return false
	}
	if c.opts.Breaches != nil {
		c.opts.Breaches(c.breaches.list())
	}
	return true
}

// CountBreaches counts how often descriptors broke their contract, by
// descriptor.
func (c *Control) CountBreaches() map[string]uint64 {
	c.breaches.mu.Lock()
	defer c.breaches.mu.Unlock()
	return maps.Clone(c.breaches.count)
}
