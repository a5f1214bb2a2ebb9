// Package publish keeps values of this process in a data store: what a plugin
// knows (states, statistics) for whoever reads the store. The store follows the
// values: of several changes to a key that it was too slow for it gets the last
// one, what is gone is removed, and what could not be written is tried again.
//
// Values are there for the lifetime of the agent. In a store that can not do
// that (kv.WithClientLifetimeTTL) they are removed when the agent stops in an
// orderly way; what is left of one that did not, the next one removes when it
// begins. If a store has lost what was written, because it was emptied or
// replaced, all is written again.
package publish

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/infra/health"
	"github.com/tenuto-dev/tenuto/infra/kv"
	"github.com/tenuto-dev/tenuto/infra/logging"
)

const (
	// firstRetry is how long after a failure it is tried again; it doubles up to
	// maxRetry.
	firstRetry = 100 * time.Millisecond
	maxRetry   = 5 * time.Second
	// lookInterval is how often it is looked whether the store still has what was
	// written: one value of all.
	lookInterval = 10 * time.Second
	// writers is how many values are written at once.
	writers = 16
)

// Store is a data store that values can be published to.
type Store interface {
	kv.Writer
	// String is the name that configuration files call it by.
	fmt.Stringer
	// Disabled tells that the store is not configured.
	Disabled() bool
}

// Choose returns the stores of the names, without those that are not
// configured, about which the log is told. field is the configuration key that
// the names come from, for errors.
func Choose(field string, names []string, stores []Store, log logging.Logger) ([]Store, error) {
	var chosen []Store
	for i, name := range names {
		at := slices.IndexFunc(stores, func(s Store) bool { return s.String() == name })
		switch {
		case at < 0:
			return nil, fmt.Errorf("%s[%d]: %q is no data store of this agent, expected one of %q", field, i, name, stores)
		case slices.Contains(names[:i], name):
			return nil, fmt.Errorf("%s[%d]: %q is there twice", field, i, name)
		case stores[at].Disabled():
			log.Warn("nothing is published to a store that is not configured", "store", name, "key", field)
		default:
			chosen = append(chosen, stores[at])
		}
	}
	return chosen, nil
}

// Options are the settings of a Publisher.
type Options struct {
	Store Store
	// Prefix is what all keys begin with. Whatever else is found there is
	// removed.
	Prefix string
	// What is published, for people ("the state of interfaces").
	What string
	Log  logging.Logger
	// Health tells whether the store takes the values; nil: nobody is told.
	Health health.Reporter
}

// Publisher writes values to one store. Set may be called concurrently, also
// before Run.
type Publisher struct {
	o Options

	mu      sync.Mutex
	values  map[string]proto.Message // all that shall be there
	pending map[string]proto.Message // what the store was not told yet; nil: gone
	kick    chan struct{}

	plain atomic.Bool // the store has no lifetimes

	// Used by Run only.
	clean   bool // nothing of another agent is left
	failing bool
}

// New returns a publisher that has nothing to publish yet.
func New(o Options) *Publisher {
	if o.Health == nil {
		o.Health = health.Discard()
	}
	return &Publisher{o: o, values: map[string]proto.Message{}, pending: map[string]proto.Message{}, kick: make(chan struct{}, 1)}
}

// Set publishes the value of a key, which begins with the prefix, in place of
// what was published before; nil removes it. It does not block. The value must
// not be changed any more.
func (p *Publisher) Set(key string, value proto.Message) {
	p.mu.Lock()
	defer p.mu.Unlock()
	before, had := p.values[key]
	switch {
	case value == nil && !had, had && value != nil && proto.Equal(before, value):
		return
	case value == nil:
		delete(p.values, key)
	default:
		p.values[key] = value
	}
	p.pending[key] = value
	p.wake()
}

// Keys returns the keys of all that shall be there, sorted.
func (p *Publisher) Keys() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Sorted(maps.Keys(p.values))
}

func (p *Publisher) wake() {
	select {
	case p.kick <- struct{}{}:
	default: // it will look anyway
	}
}

// Run writes until ctx ends.
func (p *Publisher) Run(ctx context.Context) {
	look := time.NewTicker(lookInterval)
	defer look.Stop()
	pause := firstRetry
	for {
		kick, again := p.kick, (<-chan time.Time)(nil)
		err := p.publish(ctx)
		if ctx.Err() == nil {
			p.tell(err)
		}
		if err == nil {
			pause = firstRetry
		} else {
			kick, again = nil, time.After(pause)
			pause = min(2*pause, maxRetry)
		}
		select {
		case <-ctx.Done():
			p.leave()
			return
		case <-kick:
		case <-again:
		case <-look.C:
			if err == nil {
				p.look(ctx)
			}
		}
	}
}

// tell tells changes between success and failure.
func (p *Publisher) tell(err error) {
	switch {
	case err != nil:
		if !p.failing {
			p.o.Log.Warn("not published; it is tried again", "what", p.o.What, "store", p.o.Store.String(), "error", err)
		}
		p.o.Health.Degraded(p.o.What+" is not published to "+p.o.Store.String(), err)
	case p.failing:
		p.o.Log.Info("published again", "what", p.o.What, "store", p.o.Store.String())
		fallthrough
	default:
		p.o.Health.OK("published to " + p.o.Store.String())
	}
	p.failing = err != nil
}

// publish writes all that waits.
func (p *Publisher) publish(ctx context.Context) error {
	if !p.clean {
		if _, err := p.o.Store.Delete(p.o.Prefix, kv.WithPrefix()); err != nil {
			return fmt.Errorf("remove what another agent has left: %w", err)
		}
		p.clean = true
	}
	values := p.take()
	if bulk, ok := p.o.Store.(kv.BulkWriter); ok && len(values) > 0 {
		err := p.put(func(opts ...kv.PutOption) error { return bulk.PutAll(values, opts...) })
		if err != nil {
			p.putBack(values)
		}
		return err
	}
	failed, err := p.writeEach(ctx, values)
	p.putBack(failed)
	return err
}

// writeEach writes the values, several at once; failed are those that were not
// written, err the first reason.
func (p *Publisher) writeEach(ctx context.Context, values map[string]proto.Message) (failed map[string]proto.Message, err error) {
	keys := slices.Sorted(maps.Keys(values))
	failed = map[string]proto.Message{}
	var (
		wg   sync.WaitGroup
		mu   sync.Mutex // over failed and err
		next atomic.Int64
		stop atomic.Bool
	)
	for range min(writers, len(keys)) {
		wg.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(keys)); i = next.Add(1) - 1 {
				key := keys[i]
				why := ctx.Err()
				if why == nil && !stop.Load() {
					if why = p.write(key, values[key]); why == nil {
						continue
					}
				}
				stop.Store(true)
				mu.Lock()
				failed[key] = values[key]
				if err == nil {
					err = why
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return failed, err
}

func (p *Publisher) take() map[string]proto.Message {
	p.mu.Lock()
	defer p.mu.Unlock()
	taken := p.pending
	p.pending = map[string]proto.Message{}
	return taken
}

// putBack remembers what was not written, unless there is something newer.
func (p *Publisher) putBack(failed map[string]proto.Message) {
	if len(failed) == 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	maps.Copy(failed, p.pending)
	p.pending = failed
}

func (p *Publisher) write(key string, value proto.Message) error {
	if value == nil {
		_, err := p.o.Store.Delete(key)
		return err
	}
	return p.put(func(opts ...kv.PutOption) error { return p.o.Store.Put(key, value, opts...) })
}

// put puts something for the lifetime of the agent, if the store can do that.
func (p *Publisher) put(put func(...kv.PutOption) error) error {
	if !p.plain.Load() {
		err := put(kv.WithClientLifetimeTTL())
		if !errors.Is(err, kv.ErrNotSupported) {
			return err
		}
		p.plain.Store(true)
	}
	return put()
}

// look looks whether the store still has what was written, and lets all be
// written again if not. A store that does not answer is asked again later.
func (p *Publisher) look(ctx context.Context) {
	readable, ok := p.o.Store.(interface{ DB() kv.DB })
	if !ok {
		return
	}
	key, ok := p.written()
	if !ok {
		return
	}
	if _, err := readable.DB().Get(ctx, key); !errors.Is(err, kv.ErrNotFound) {
		return
	}
	p.o.Log.Info("the store has lost what was published; all of it is published again", "what", p.o.What, "store", p.o.Store.String())
	p.mu.Lock()
	defer p.mu.Unlock()
	for key, value := range p.values {
		p.pending[key] = value
	}
	p.wake()
}

// written returns some key that the store has.
func (p *Publisher) written() (string, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for key := range p.values {
		if _, waits := p.pending[key]; !waits {
			return key, true
		}
	}
	return "", false
}

// leave removes everything from a store that does not do so itself.
func (p *Publisher) leave() {
	if !p.plain.Load() || p.failing {
		return
	}
	if _, err := p.o.Store.Delete(p.o.Prefix, kv.WithPrefix()); err != nil {
		p.o.Log.Info("what was published stays until an agent starts again", "what", p.o.What, "store", p.o.Store.String(), "error", err)
	}
}
