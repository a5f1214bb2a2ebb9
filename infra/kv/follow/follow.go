// Package follow implements the Watch of a kv.Store by the sessions of a
// connector. A session lasts as long as one connection: it lists the entries,
// or continues where the last one ended, and reports changes until an error
// occurs. Run repeats sessions, with growing delays after failures, and passes
// the differences to the receiver: a lost connection causes neither lost nor
// repeated changes.
//
// A receiver that is slower than the store gets fewer and larger updates: of
// several changes to a key that happened while it was busy, it gets the last
// one. So it is at most one update behind, and pending changes are limited by
// the number of keys.
package follow

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/tenuto-dev/tenuto/infra/health"
	"github.com/tenuto-dev/tenuto/infra/kv"
	"github.com/tenuto-dev/tenuto/infra/logging"
)

// minPause is the delay after the first failed session; it doubles up to
// Options.MaxPause.
const minPause = 50 * time.Millisecond

// Options are the settings of Run.
type Options struct {
	Store  string // name of the store, for logs
	Prefix string // the prefix to follow; reported keys do not include it
	// MaxPause is the maximum delay between two attempts to connect.
	MaxPause time.Duration
	// Remembered is the identity of the store that the receiver has recorded before a restart.
	Remembered kv.Identity
	// Resync passes the whole content again after every reconnect.
	Resync bool
	// Value converts bytes to a value; nil: kv.Encoded.
	Value  func([]byte) kv.Value
	Log    logging.Logger
	Health health.Reporter
}

// Session follows the store until ctx ends or an error occurs, which it
// returns. It reports changes to the view, from one goroutine at a time.
type Session func(ctx context.Context, v *View) error

// Run follows a store with sessions until ctx ends, and then returns nil.
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
	lost := false // whether the loss of the connection was logged
	for {
		v.connected = false
		v.onConnected = func() {
			pause = minPause
			if lost {
				v.o.Log.Info("reconnected to the store", "store", v.o.Store)
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
			v.o.Log.Warn("lost the connection to the store; its values stay in effect, reconnecting",
				"store", v.o.Store, "error", err)
		}
		v.o.Health.Degraded("not connected; the values read before stay in effect", err)
		select {
		case <-time.After(jitter(pause)):
		case <-ctx.Done():
			return
		}
		pause = min(2*pause, max(v.o.MaxPause, minPause))
	}
}

// jitter prevents many agents from reconnecting at the same time.
func jitter(d time.Duration) time.Duration { return d - time.Duration(rand.Int64N(int64(d)/4)) }

// ListAndWatch returns the session of a DB whose features include revisions.
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
