// Package publish publishes values of this process, such as the states and
// statistics of a plugin, to a data store. The store follows the values: a slow
// store gets the last of several changes to a key, removed values are deleted,
// and failed writes are retried.
//
// Values have the lifetime of the agent. In a store that does not support that
// (kv.WithClientLifetimeTTL) they are removed when the agent stops gracefully;
// after a crash they expire if the store supports that (Options.Expire), or the
// next agent removes them when it starts. If a store has
// lost the values, because it was emptied or replaced, all of them are
// published again.
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

	"golang.org/x/sync/errgroup"
	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/infra/health"
	"github.com/tenuto-dev/tenuto/infra/kv"
	"github.com/tenuto-dev/tenuto/infra/logging"
)

const (
	// firstRetry is the delay of the first retry after a failure; it doubles up
	// to maxRetry.
	firstRetry = 100 * time.Millisecond
	maxRetry   = 5 * time.Second
	// lookInterval is how often the publisher checks whether the store still has
	// one of the published values.
	lookInterval = 10 * time.Second
	// writers is the number of concurrent writes.
	writers = 16
)

// Store is a data store that values can be published to.
type Store interface {
	kv.Writer
	// String returns the name of the store in configuration files.
	fmt.Stringer
	// Disabled reports that the store is not configured.
	Disabled() bool
}

// Choose returns the stores with the given names. It omits stores that are not
// configured and logs a warning. field is the configuration key of the names,
// for errors.
func Choose(field string, names []string, stores []Store, log logging.Logger) ([]Store, error) {
	var chosen []Store
	for i, name := range names {
		at := slices.IndexFunc(stores, func(s Store) bool { return s.String() == name })
		switch {
		case at < 0:
			return nil, fmt.Errorf("%s[%d]: %q is not a data store of this agent, expected one of %q", field, i, name, stores)
		case slices.Contains(names[:i], name):
			return nil, fmt.Errorf("%s[%d]: duplicate %q", field, i, name)
		case stores[at].Disabled():
			log.Warn("cannot publish to a store that is not configured", "store", name, "key", field)
		default:
			chosen = append(chosen, stores[at])
		}
	}
	return chosen, nil
}

// Options are the settings of a Publisher.
type Options struct {
	Store Store
	// Prefix is the prefix of all keys. Other keys below it are removed.
	Prefix string
	// What describes the published values, for logs ("the state of
	// interfaces").
	What string
	Log  logging.Logger
	// Health gets the state of the store; nil disables reports.
	Health health.Reporter
	// Expire is how long after a crash the values remain in a store that has TTLs
	// but no lifetimes. The publisher renews them every lookInterval, so it must be
	// much longer than that. 0: they remain until an agent starts again.
	Expire time.Duration
}

// Publisher publishes values to one store. Set may be called concurrently,
// also before Run.
type Publisher struct {
	o Options

	mu      sync.Mutex
	values  map[string]proto.Message // all values to publish
	pending map[string]proto.Message // changes the store does not have yet; nil: deleted
	kick    chan struct{}

	plain   atomic.Bool // the store has no lifetimes
	forever atomic.Bool // and no TTLs either

	// Used by Run only.
	clean   bool // the values of previous agents have been removed
	failing bool
}

// New returns a publisher without values.
func New(o Options) *Publisher {
	if o.Health == nil {
		o.Health = health.Discard()
	}
	return &Publisher{o: o, values: map[string]proto.Message{}, pending: map[string]proto.Message{}, kick: make(chan struct{}, 1)}
}

// Set publishes the value of a key, which begins with the prefix, instead of
// the previous one; nil removes it. It does not block. The value must not be
// changed afterwards.
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

// Keys returns the keys of all values to publish, sorted.
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

// Run publishes until ctx ends.
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

// tell logs transitions between success and failure.
func (p *Publisher) tell(err error) {
	switch {
	case err != nil:
		if !p.failing {
			p.o.Log.Warn("cannot publish; retrying", "what", p.o.What, "store", p.o.Store.String(), "error", err)
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

// publish writes all pending changes.
func (p *Publisher) publish(ctx context.Context) error {
	if !p.clean {
		if _, err := p.o.Store.Delete(p.o.Prefix, kv.WithPrefix()); err != nil {
			return fmt.Errorf("remove the values of a previous agent: %w", err)
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

// writeEach writes the values until one cannot be written. failed are the values
// that were not written, err is the first error. The first value is written alone, so
// that a store that is down gives the same error each time: health is published
// whenever its text changes.
func (p *Publisher) writeEach(ctx context.Context, values map[string]proto.Message) (failed map[string]proto.Message, err error) {
	failed = map[string]proto.Message{}
	keys := slices.Sorted(maps.Keys(values))
	if len(keys) > 0 {
		if err := p.write(keys[0], values[keys[0]]); err != nil {
			return values, err
		}
		keys = keys[1:]
	}
	var mu sync.Mutex // guards failed
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(writers)
	for _, key := range keys {
		g.Go(func() error {
			err := ctx.Err()
			if err == nil {
				err = p.write(key, values[key])
			}
			if err != nil {
				mu.Lock()
				defer mu.Unlock()
				failed[key] = values[key]
			}
			return err
		})
	}
	return failed, g.Wait()
}

func (p *Publisher) take() map[string]proto.Message {
	p.mu.Lock()
	defer p.mu.Unlock()
	taken := p.pending
	p.pending = map[string]proto.Message{}
	return taken
}

// putBack adds values that were not written to the pending changes, unless
// there are newer ones.
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

// put puts something for the lifetime of the agent if the store can do that, else with a
// TTL if there is one.
func (p *Publisher) put(put func(...kv.PutOption) error) error {
	if !p.plain.Load() {
		err := put(kv.WithClientLifetimeTTL())
		if !errors.Is(err, kv.ErrNotSupported) {
			return err
		}
		p.plain.Store(true)
	}
	if p.o.Expire > 0 && !p.forever.Load() {
		err := put(kv.WithTTL(p.o.Expire))
		if !errors.Is(err, kv.ErrNotSupported) {
			return err
		}
		p.forever.Store(true)
	}
	return put()
}

// expiring reports whether the values have a TTL.
func (p *Publisher) expiring() bool { return p.o.Expire > 0 && p.plain.Load() && !p.forever.Load() }

// again publishes all values again.
func (p *Publisher) again() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for key, value := range p.values {
		p.pending[key] = value
	}
	p.wake()
}

// look renews the TTL of values that have one, and checks whether the store still has the
// published values. If not, it publishes all of them again. If the store does not
// respond, the next check repeats it.
func (p *Publisher) look(ctx context.Context) {
	readable, ok := p.o.Store.(interface{ DB() kv.DB })
	if p.expiring() && !(ok && p.renew(ctx, readable.DB())) {
		p.again()
		return
	}
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
	p.o.Log.Info("the store has lost the published values; publishing them again", "what", p.o.What, "store", p.o.Store.String())
	p.again()
}

// renew extends the TTL of all values without writing them. It returns false if that is not
// possible and the values have to be put again.
func (p *Publisher) renew(ctx context.Context, db kv.DB) bool {
	renewer, ok := db.(kv.Renewer)
	if !ok {
		return false
	}
	for _, key := range p.Keys() {
		ctx, cancel := context.WithTimeout(ctx, lookInterval)
		ok, err := renewer.Renew(ctx, key, p.o.Expire)
		cancel()
		if err != nil {
			p.o.Log.Debug("cannot renew a published value; trying again", "key", key, "error", err)
			return true
		}
		if !ok {
			return false
		}
	}
	return true
}

// written returns any key that has been published.
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

// leave removes all values from a store without lifetimes.
func (p *Publisher) leave() {
	if !p.plain.Load() || p.failing {
		return
	}
	if _, err := p.o.Store.Delete(p.o.Prefix, kv.WithPrefix()); err != nil {
		p.o.Log.Info("cannot remove the published values; they stay until an agent starts again", "what", p.o.What, "store", p.o.Store.String(), "error", err)
	}
}
