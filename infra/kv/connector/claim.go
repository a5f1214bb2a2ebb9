package connector

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/tenuto-dev/tenuto/infra/announce/announced"
	"github.com/tenuto-dev/tenuto/infra/holder"
	"github.com/tenuto-dev/tenuto/infra/kv"
)

const (
	// claimKey is below the prefix of the agent.
	claimKey = announced.HolderKey
	// claimTTL is how long after a crash the key remains in a store without lifetimes. The agent
	// renews and checks it every claimInterval, and every retryInterval while another agent has it.
	claimTTL      = 15 * time.Second
	claimInterval = 5 * time.Second
	retryInterval = time.Second
)

// claim is the right of one agent to use the part of a store that belongs to its label.
type claim struct {
	db   kv.DB
	key  string
	mine []byte
	me   holder.Claim

	tried chan struct{} // closed after the first attempt

	mu      sync.Mutex
	other   *holder.HeldError // nil: no other agent is known to have the label
	owns    bool              // the key was this agent's at the last attempt
	changed context.Context   // ends, and is replaced, when other changes
	change  context.CancelFunc
}

func newClaim(db kv.DB, prefix string, id holder.Identity) (*claim, error) {
	me := holder.Claim{Identity: id, Process: holder.Process()}
	text, err := json.Marshal(me)
	c := &claim{db: db, key: prefix + claimKey, mine: text, me: me, tried: make(chan struct{})}
	c.changed, c.change = context.WithCancel(context.Background())
	return c, err
}

// try claims the label, or renews the claim. The error is a *holder.HeldError if another agent has it.
func (c *claim) try(ctx context.Context) error {
	item, err := c.db.Get(ctx, c.key)
	if err != nil && !errors.Is(err, kv.ErrNotFound) {
		return err
	}
	present := item.Value
	for range 2 { // the second attempt sees a change in between
		if bytes.Equal(present, c.mine) {
			renewed, err := c.renew(ctx)
			if err != nil || renewed {
				return err
			}
		}
		if present != nil {
			var other holder.Claim
			if json.Unmarshal(present, &other) == nil && !bytes.Equal(present, c.mine) && !other.ReplacedBy(c.me) {
				return &holder.HeldError{Label: c.me.Label, Holder: other.String()}
			}
		}
		if present, err = c.db.(kv.Claimer).Claim(ctx, c.key, present, c.mine, claimTTL); err != nil || present == nil {
			return err
		}
	}
	return errors.New("the label is being claimed by several agents")
}

// renew is true if the store keeps the key of this agent for a while.
func (c *claim) renew(ctx context.Context) (bool, error) {
	if renewer, ok := c.db.(kv.Renewer); ok {
		return renewer.Renew(ctx, c.key, claimTTL)
	}
	return true, nil // it has the lifetime of the agent
}

// record stores the result of an attempt. If the store does not respond, nothing changes.
func (c *claim) record(err error) (other *holder.HeldError) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.owns = err == nil
	if errors.As(err, &other) && c.other == nil || err == nil && c.other != nil {
		c.other = other
		c.change()
		c.changed, c.change = context.WithCancel(context.Background())
	}
	return c.other
}

// state returns the agent that has the label, if that is another one, and a context that ends
// when that changes. It waits for the first attempt.
func (c *claim) state(ctx context.Context) (*holder.HeldError, context.Context, error) {
	select {
	case <-c.tried:
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.other, c.changed, nil
}

// while calls f as long as no other agent has the label. The context of f ends when another agent has
// it; f is called again when this one has it again. It returns nil when ctx ends, or the error of f.
func (c *claim) while(ctx context.Context, f func(context.Context) error) error {
	for {
		other, changed, err := c.state(ctx)
		if err != nil {
			return nil
		}
		if other != nil {
			select {
			case <-changed.Done():
			case <-ctx.Done():
			}
			continue
		}
		if err := until(ctx, changed, f); err != nil || ctx.Err() != nil {
			return err
		}
	}
}

// until calls f with a context that ends with ctx, or with end.
func until(ctx, end context.Context, f func(context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(end, cancel)()
	return f(ctx)
}

// release removes the key if it is this agent's.
func (c *claim) release(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.owns {
		return nil
	}
	c.owns = false
	_, err := c.db.CompareAndSwap(ctx, c.key, c.mine, nil)
	return err
}

// hold keeps the claim until ctx ends, and reports another agent that has the label.
func (b *Base[C]) hold(ctx context.Context) {
	c, part, first, warned := b.claim, b.Health.Scope("label"), true, false
	for {
		err := func() error {
			ctx, cancel := context.WithTimeout(ctx, b.store.Timeout)
			defer cancel()
			return c.try(ctx)
		}()
		before := c.isOther()
		other := c.record(err)
		switch {
		case ctx.Err() != nil:
			return
		case other != nil && before == nil:
			b.Log.Error("another agent has the label in this store; this one neither reads its configuration there nor publishes", "store", b.String(), "error", other)
			part.Degraded("the configuration in this store is not used", other)
		case other == nil && before != nil:
			b.Log.Info("the label is free; using the store", "store", b.String())
			part.OK("")
		case err != nil && other == nil && !warned && c.readable(ctx, b.store.Timeout):
			warned = true
			b.Log.Warn("cannot claim the label in the store; a second agent with the same label is not noticed", "store", b.String(), "key", c.key, "error", err)
		}
		if first {
			first = false
			close(c.tried)
		}
		pause := claimInterval
		if err != nil {
			pause = retryInterval
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
	}
}

func (c *claim) isOther() *holder.HeldError {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.other
}

// readable reports whether the store responds.
func (c *claim) readable(ctx context.Context, timeout time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	_, err := c.db.Get(ctx, c.key)
	return err == nil || errors.Is(err, kv.ErrNotFound)
}
