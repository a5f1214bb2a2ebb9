// Package follow makes the Watch of a kv.Store out of the sessions of a
// connector. A session is one connection's worth of following: it lists, or
// goes on where the last one ended, and tells what changes until something
// breaks. Run keeps sessions going, with growing pauses after failures, and
// gives the receiver what is different from what it was told before: a lost
// connection costs the receiver nothing, neither changes nor a second telling.
//
// A receiver that is slower than the store gets fewer and larger updates: of
// several changes to a key that happened while it was busy, the last one. So it
// never falls behind by more than one update, and what waits for it is bounded
// by the number of keys.
package follow

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/tenuto-dev/tenuto/infra/health"
	"github.com/tenuto-dev/tenuto/infra/kv"
	"github.com/tenuto-dev/tenuto/infra/logging"
)

// minPause is the pause after the first failed session; it doubles up to
// Options.MaxPause.
const minPause = 50 * time.Millisecond

// Options are the settings of Run.
type Options struct {
	Store  string // name of the store, for people
	Prefix string // what is followed; keys are told without it
	// MaxPause bounds the pause between two attempts to connect.
	MaxPause time.Duration
	// Resync tells the whole content again after every reconnect.
	Resync bool
	// Value makes a value of bytes; nil: kv.Encoded.
	Value  func([]byte) kv.Value
	Log    logging.Logger
	Health health.Reporter
}

// Session follows the store until ctx ends or something breaks, which it
// returns. It tells what it sees to the view, from one goroutine at a time.
type Session func(ctx context.Context, v *View) error

// Run follows a store with sessions until ctx ends; then it returns nil.
func Run(ctx context.Context, o Options, session Session, handle func(kv.Update) error) error {
	v := newView(o)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		v.keep(ctx, session)
	}()
	defer func() { <-ended }()
	for {
		select {
		case <-v.ready:
		case <-ctx.Done():
			return nil
		}
		for {
			u, ok := v.take()
			if !ok {
				break
			}
			if err := handle(u); err != nil && ctx.Err() == nil {
				o.Log.Debug("receiver could not apply all changes", "error", err)
			}
			if ctx.Err() != nil {
				return nil
			}
		}
	}
}

// keep runs one session after the other.
func (v *View) keep(ctx context.Context, session Session) {
	pause := minPause
	lost := false // and told
	for {
		v.connected = false
		v.onConnected = func() {
			pause = minPause
			if lost {
				v.o.Log.Info("the store is followed again", "store", v.o.Store)
			}
			lost = false
			v.o.Health.OK("connected")
		}
		err := session(ctx, v)
		if ctx.Err() != nil {
			return
		}
		if !lost {
			lost = true
			v.o.Log.Warn("the store cannot be followed; what it said before stays in effect, connecting again",
				"store", v.o.Store, "error", err)
		}
		v.o.Health.Degraded("not connected; what was read before stays in effect", err)
		select {
		case <-time.After(jitter(pause)):
		case <-ctx.Done():
			return
		}
		pause = min(2*pause, max(v.o.MaxPause, minPause))
	}
}

// jitter keeps many agents from coming back in step.
func jitter(d time.Duration) time.Duration { return d - time.Duration(rand.Int64N(int64(d)/4)) }

// ListAndWatch is the session of any DB whose features include revisions.
func ListAndWatch(db kv.DB) Session {
	return func(ctx context.Context, v *View) error {
		for {
			listing, err := db.List(ctx, v.Prefix())
			if err != nil {
				return err
			}
			v.Replace(listing)
			err = db.WatchFrom(ctx, v.Prefix(), listing.Revision, func(events []kv.Event) error {
				v.Apply(events)
				return nil
			})
			if !v.Compacted(err) {
				return err
			}
		}
	}
}
