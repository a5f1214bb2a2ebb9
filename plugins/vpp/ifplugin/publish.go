package ifplugin

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/tenuto-dev/tenuto/infra/kv"
	"github.com/tenuto-dev/tenuto/infra/logging"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/model"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

// StatusStore is a data store that the state of interfaces can be published to.
type StatusStore interface {
	kv.Writer
	// String is the name that status-publishers calls it by.
	fmt.Stringer
	// Disabled tells that the store is not configured.
	Disabled() bool
}

// publishRetry is how long after a failure a store is tried again.
const publishRetry = 5 * time.Second

// publisher writes the states of interfaces to one store, the latest of each:
// what a store is too slow for is left out. It begins by removing what an
// agent before it has left there.
type publisher struct {
	store  StatusStore
	states *States
	prefix string // of the agent
	log    logging.Logger
	retry  time.Duration

	mu      sync.Mutex
	pending map[string]*interfaces.InterfaceState // nil: gone
	kick    chan struct{}
	clean   bool // nothing of another agent is left; used by run only
	failing bool // used by run only
}

func (p *publisher) run(ctx context.Context) {
	cancel := p.states.Watch(p.note)
	defer cancel()
	for {
		var again <-chan time.Time
		if err := p.publish(); err != nil {
			if !p.failing {
				p.log.Warn("the state of interfaces was not published; it is tried again", "store", p.store.String(), "error", err)
			}
			p.failing = true
			again = time.After(p.retry)
		} else {
			p.failing = false
		}
		select {
		case <-ctx.Done():
			return
		case <-p.kick:
		case <-again:
		}
	}
}

// note remembers what to publish.
func (p *publisher) note(n *interfaces.InterfaceNotification) {
	p.mu.Lock()
	defer p.mu.Unlock()
	state := n.GetState()
	if state.GetOperStatus() == interfaces.InterfaceState_DELETED {
		state = nil
	}
	p.pending[n.GetState().GetName()] = state
	select {
	case p.kick <- struct{}{}:
	default: // it will look anyway
	}
}

func (p *publisher) take() map[string]*interfaces.InterfaceState {
	p.mu.Lock()
	defer p.mu.Unlock()
	taken := p.pending
	p.pending = map[string]*interfaces.InterfaceState{}
	return taken
}

// putBack remembers what was not published, unless there is something newer.
func (p *publisher) putBack(states map[string]*interfaces.InterfaceState) {
	p.mu.Lock()
	defer p.mu.Unlock()
	maps.Copy(states, p.pending)
	p.pending = states
}

func (p *publisher) publish() error {
	if !p.clean {
		if _, err := p.store.Delete(p.prefix+model.StateKey.Prefix(), kv.WithPrefix()); err != nil {
			return fmt.Errorf("remove old states: %w", err)
		}
		p.clean = true
	}
	states := p.take()
	for _, name := range slices.Sorted(maps.Keys(states)) {
		if err := p.put(name, states[name]); err != nil {
			p.putBack(states)
			return err
		}
		delete(states, name)
	}
	return nil
}

func (p *publisher) put(name string, state *interfaces.InterfaceState) error {
	key := p.prefix + model.StateKey.Key(name)
	if state == nil {
		_, err := p.store.Delete(key)
		return err
	}
	return p.store.Put(key, state)
}

// newPublishers returns the publishers to the stores of the names.
func newPublishers(names []string, stores []StatusStore, states *States, prefix string, log logging.Logger) ([]*publisher, error) {
	var out []*publisher
	for _, name := range names {
		at := slices.IndexFunc(stores, func(s StatusStore) bool { return s.String() == name })
		if at < 0 {
			return nil, fmt.Errorf("status-publishers: %q is no data store of this agent, expected one of %q", name, stores)
		}
		if stores[at].Disabled() {
			log.Warn("the state of interfaces is not published", "store", name, "reason", "the store is not configured")
			continue
		}
		out = append(out, &publisher{
			store: stores[at], states: states, prefix: prefix, log: log, retry: publishRetry,
			pending: map[string]*interfaces.InterfaceState{}, kick: make(chan struct{}, 1),
		})
	}
	return out, nil
}
