package publish

import (
	"context"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/infra"
)

// States publishes the states of named objects, such as interfaces, together with their
// counters. S is the message of a state, C the counters of an object. The methods may be
// called concurrently.
type States[S proto.Message, C any] struct {
	prefix string
	to     []*Publisher
	with   func(state S, counts C) S

	mu     sync.Mutex
	states map[string]S // those that exist
	counts map[string]C // as read last
}

// NewStates publishes states to stores while the plugin runs. The key of a state is the prefix and
// the name of the object; what describes the states for logs ("the state of interfaces"). with
// returns a state with counters and must not change its arguments.
func NewStates[S proto.Message, C any](
	plugin *infra.PluginDeps, stores []Store, prefix, what string, with func(state S, counts C) S,
) *States[S, C] {
	p := &States[S, C]{prefix: prefix, with: with, states: map[string]S{}}
	for _, s := range stores {
		to := New(Options{Store: s, Prefix: prefix, What: what, Log: plugin.Log, Health: plugin.Health.Scope("publish to " + s.String())})
		p.to = append(p.to, to)
		plugin.Go(to.Run)
	}
	return p
}

// Set publishes the state of an object.
func (p *States[S, C]) Set(name string, state S) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.states[name] = state
	p.set(name)
}

// Remove removes the state of an object that no longer exists.
func (p *States[S, C]) Remove(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.states, name)
	p.set(name)
}

// Count reads counters at the interval and publishes them with the states, until ctx ends. After
// a failed read, which read reports itself, states have no counters: the last ones may be outdated.
func (p *States[S, C]) Count(ctx context.Context, interval time.Duration, read func() (map[string]C, error)) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		counts, err := read()
		if err != nil {
			counts = nil
		}
		p.mu.Lock()
		p.counts = counts
		for name := range p.states {
			p.set(name)
		}
		p.mu.Unlock()
	}
}

// set publishes what is known of an object. The caller holds the mutex.
func (p *States[S, C]) set(name string) {
	var message proto.Message
	if state, exists := p.states[name]; exists {
		if counts, counted := p.counts[name]; counted {
			state = p.with(state, counts)
		}
		message = state
	}
	for _, to := range p.to {
		to.Set(p.prefix+name, message)
	}
}
