package gnmi

import (
	"context"
	"crypto/sha256"
	"fmt"
	"math"
	"sync"
	"time"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/apierr"
)

// subscription is a part of what a client subscribes to.
type subscription struct {
	sel      *selection
	onChange bool // otherwise samples, or as the client asks

	sample    time.Duration // interval of samples
	changes   bool          // samples that have not changed are left out
	heartbeat time.Duration // interval at which everything is sent; 0: never

	nextSample, nextBeat time.Time

	sent map[sentKey]sent // what the client has
}

// sentKey is the key of a node in a tree.
type sentKey struct {
	tree *tree
	key  string
}

// sent is what a client has of a node.
type sent struct {
	model *model
	item  proto.Message
	sum   [sha256.Size]byte
}

func keyOfNode(n *node) sentKey { return sentKey{n.tree, n.key} }

func sum(v *gpb.TypedValue) [sha256.Size]byte {
	wire, _ := proto.MarshalOptions{Deterministic: true}.Marshal(v) // it is sent in this form, too
	return sha256.Sum256(wire)
}

// intervals reads the intervals of a subscription; field is its name in the request.
func (s *subscription) intervals(of *gpb.Subscription, cfg Config, field string) (wrong apierr.Violations) {
	read := func(name string, ns uint64, otherwise time.Duration) time.Duration {
		if ns == 0 {
			return otherwise
		}
		if ns < uint64(cfg.MinSampleInterval) || ns > math.MaxInt64 {
			wrong = append(wrong, apierr.Violation{Field: field + "." + name, Text: fmt.Sprintf(
				"%d ns: expected at least %v (min-sample-interval in gnmi.conf)", ns, cfg.MinSampleInterval)})
		}
		return time.Duration(ns)
	}
	s.heartbeat = read("heartbeat_interval", of.GetHeartbeatInterval(), 0)
	switch of.GetMode() {
	case gpb.SubscriptionMode_ON_CHANGE:
		if s.sel.trees[0].node == nil {
			wrong = append(wrong, apierr.Violation{Field: field + ".mode", Text: "/" + s.sel.trees[0].name + " has no ON_CHANGE: expected SAMPLE or TARGET_DEFINED"})
		}
	case gpb.SubscriptionMode_SAMPLE:
		s.sample, s.changes = read("sample_interval", of.GetSampleInterval(), cfg.MinSampleInterval), of.GetSuppressRedundant()
	case gpb.SubscriptionMode_TARGET_DEFINED:
		s.sample = cfg.SampleInterval
	default:
		wrong = append(wrong, apierr.Violation{Field: field + ".mode", Text: fmt.Sprintf("%d: expected TARGET_DEFINED, ON_CHANGE or SAMPLE", of.GetMode())})
	}
	return wrong
}

// due reports what is to be sent now: everything, or only what has changed. It sets the times
// of the next sample and the next heartbeat.
func (s *subscription) due(now time.Time) (some, all bool) {
	sample := !s.onChange && !s.nextSample.After(now)
	beat := s.heartbeat > 0 && !s.nextBeat.After(now)
	if sample {
		s.nextSample = now.Add(s.sample)
	}
	if beat {
		s.nextBeat = now.Add(s.heartbeat)
	}
	return beat || sample, beat || sample && !s.changes
}

// next returns the next time at which something is due; zero if there is none.
func (sub *subscriber) next() (at time.Time) {
	for _, s := range sub.subs {
		for _, t := range []time.Time{s.nextSample, s.nextBeat} {
			if !t.IsZero() && (at.IsZero() || t.Before(at)) {
				at = t
			}
		}
	}
	return at
}

// stream follows what the client subscribes to. The watches begin before the first snapshot,
// so that no change is missed. While a client does not receive, they keep the keys that
// change, and the client gets the latest of each.
func (sub *subscriber) stream(ctx context.Context) error {
	items := sub.Orchestrator.WatchItems()
	defer items.Close()
	states := sub.watchStates(ctx)
	defer states.close()
	links := sub.watchLinks()
	defer links.cancel()
	if err := sub.begin(ctx); err != nil {
		return err
	}
	for _, s := range sub.subs {
		s.due(time.Now()) // it was just sent
	}
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		if at := sub.next(); !at.IsZero() {
			timer.Reset(time.Until(at))
		}
		var err error
		select {
		case <-ctx.Done():
			return ended(ctx)
		case <-states.ended:
			return ended(ctx)
		case <-items.Changed():
			err = sub.changed(ctx, items.Take())
		case <-links.wake:
			err = sub.changed(ctx, links.take())
		case keys := <-states.keys:
			err = sub.changed(ctx, keys)
		case <-timer.C:
		}
		if err == nil {
			err = sub.tick(ctx, time.Now())
		}
		if err != nil {
			return err
		}
	}
}

// tick sends what is due.
func (sub *subscriber) tick(ctx context.Context, now time.Time) error {
	for _, s := range sub.subs {
		if some, all := s.due(now); some {
			if err := sub.snapshot(ctx, []*subscription{s}, all); err != nil {
				return err
			}
		}
	}
	return nil
}

// stateKeys are the keys of values whose states change.
type stateKeys struct {
	keys  chan []string
	ended chan struct{} // closed when the scheduler is
	close func()
}

// watchStates begins to follow states, if there are subscriptions of them.
func (sub *subscriber) watchStates(ctx context.Context) *stateKeys {
	w := &stateKeys{keys: make(chan []string), ended: make(chan struct{}), close: func() {}}
	if !sub.follows(stateTree) {
		return w
	}
	watch := sub.Scheduler.Watch(api.WatchRequest{NoSnapshot: true, NoResync: true})
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() {
		defer close(w.ended)
		for {
			ev, err := watch.Next(ctx)
			if err != nil {
				return
			}
			keys := make([]string, len(ev.Values))
			for i, v := range ev.Values {
				keys[i] = v.GetValue().GetKey()
			}
			select {
			case w.keys <- keys:
			case <-ctx.Done():
				return
			}
		}
	})
	w.close = func() {
		cancel()
		running.Wait()
		watch.Close()
	}
	return w
}

// follows reports whether changes in a tree are followed.
func (sub *subscriber) follows(tree string) bool {
	for _, s := range sub.subs {
		for _, t := range s.sel.trees {
			if s.onChange && t.name == tree {
				return true
			}
		}
	}
	return false
}
