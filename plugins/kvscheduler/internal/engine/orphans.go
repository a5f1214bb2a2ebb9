package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/graph"
)

// orphaned reports whether the scheduler created the value and it is not desired.
func orphaned(n *graph.Node) bool { return n != nil && n.Want == nil && n.Made() }

// foreign reports whether the base value is foreign and could be removed.
func foreign(n *graph.Node) bool {
	return n.Base == nil && n.Owner == graph.Foreign && n.Desired() == nil && !n.Desc.IsProperty()
}

// orphanFinder lists and removes values that exist and are not desired. All methods
// except claim and tellMarked, which belong to the worker, may be called concurrently.
type orphanFinder struct {
	*shared

	marked int // used by the worker; see tellMarked
}

func (f *orphanFinder) Orphans() []api.Orphan {
	out := f.orphans()
	for i := range out {
		o := &out[i]
		if o.Ours && f.journal.store != nil {
			if rec, ok := f.journal.store.Lookup(o.Key); ok {
				o.Txn, o.Since = lastChange(rec.Txn, rec.Time())
			}
		}
	}
	slices.SortFunc(out, func(a, b api.Orphan) int { return strings.Compare(a.Key, b.Key) })
	return out
}

func (f *orphanFinder) ReadOrphans(ctx context.Context) error {
	done := make(chan struct{}, 1)
	err := f.admission.push(&work{typ: api.SBNotification, plan: func(p *transaction) bool {
		ok := f.readOthers(p)
		select {
		case done <- struct{}{}:
		default: // prepared again
		}
		return ok
	}})
	if err == nil {
		_, err = await(ctx, f.admission, done)
	}
	return err
}

// readOthers reads the values that are not desired and that no operation made, and plans for
// the values that depend on those which appeared or disappeared.
func (f *orphanFinder) readOthers(p *transaction) bool {
	p.retryLeft = patiently()
	r := f.southbound.refresher(p.request.Closed)
	for _, d := range f.state.registry.Load().RetrieveOrder {
		if d.Retrieve != nil && !d.IsProperty() && !p.request.Closed[d.Session()] {
			p.request.Touch = append(p.request.Touch, r.Others(d)...)
		}
	}
	slices.Sort(p.request.Touch)
	return len(p.request.Touch) > 0
}

func (f *orphanFinder) orphans() (out []api.Orphan) {
	f.state.mu.RLock()
	defer f.state.mu.RUnlock()
	for n := range f.state.graph.Nodes {
		ours := orphaned(n)
		if !ours && !foreign(n) {
			continue
		}
		o := api.Orphan{Key: n.Key, Descriptor: n.Desc.Name, Ours: ours, Marked: !ours && n.Marked, Value: api.JSONValue{Message: n.Have.Msg}}
		if ours {
			o.Txn, o.Since = lastChange(n.LastTxn, f.history.Start(n.LastTxn))
		}
		if n.Err != nil {
			o.Problem = n.Err.Error()
		}
		out = append(out, o)
	}
	reg := f.state.registry.Load()
	for _, rec := range f.journal.unconfirmed.All() {
		if n := f.state.graph.Node(rec.Key); n != nil && n.Desired() != nil {
			continue
		}
		o := api.Orphan{Key: rec.Key, Descriptor: rec.Descriptor, Ours: true, Unread: true, Value: api.JSONValue{Message: rec.Message()}}
		o.Txn, o.Since = lastChange(rec.Txn, rec.Time())
		o.Problem = f.sessions.problem(rec.Southbound)
		switch {
		case reg.ByName(rec.Descriptor) == nil:
			o.Problem = fmt.Sprintf("no plugin of this agent registered descriptor %q", rec.Descriptor)
		case o.Problem == "":
			o.Problem = "the southbound was not read since the start"
			if f := f.reads.Of(rec.Key, reg.ByName(rec.Descriptor)); f != nil {
				o.Problem = "it could not be read: " + f.Err.Error()
			}
		}
		out = append(out, o)
	}
	return out
}

// lastChange returns the transaction with its time; nil if the time is unknown.
func lastChange(txn uint64, at time.Time) (*uint64, time.Time) {
	if at.IsZero() {
		return nil, at
	}
	return &txn, at
}

func (f *orphanFinder) RemoveOrphans(ctx context.Context, keys []string, opts ...api.TxnOption) (seqNum uint64, err error) {
	known := map[string]api.Orphan{}
	for _, o := range f.orphans() {
		known[o.Key] = o
	}
	keys = slices.Compact(slices.Sorted(slices.Values(keys)))
	values := make([]api.RecordedKVPair, len(keys))
	for i, key := range keys {
		o, ok := known[key]
		switch {
		case !ok:
			return api.NoSeqNum, fmt.Errorf("key %q: %w: it does not exist, or it is desired", key, api.ErrNoOrphan)
		case !o.Ours && !o.Marked:
			return api.NoSeqNum, fmt.Errorf("key %q: %w: it is foreign and has no mark of an agent", key, api.ErrNoOrphan)
		case o.Unread:
			return api.NoSeqNum, fmt.Errorf("key %q: %w that is known to exist: %s", key, api.ErrNoOrphan, o.Problem)
		}
		values[i] = api.RecordedKVPair{Key: key, Origin: api.FromNB}
	}
	if len(keys) == 0 {
		return api.NoSeqNum, nil
	}
	o := api.ApplyTxnOptions(opts)
	if o.Description == "" {
		o.Description = "removal of " + counted(len(keys), "leftover")
	}
	return f.admission.submit(ctx, &orphanRemoval{commit{values: values, opts: o}})
}

// claim makes values ours that have the mark of the agent but no record, so that a
// client can remove them. It reads them again, and claims only those that still exist
// with the mark.
func (f *orphanFinder) claim(values []api.RecordedKVPair, closed map[string]bool, seqNum uint64) {
	var keys []string
	unconfirmed := f.journal.unconfirmed
	for _, kv := range values {
		if n := f.state.graph.Node(kv.Key); n != nil && foreign(n) && n.Marked {
			rec := f.journal.made(n.Key, n.Desc, n.Have, seqNum, f.clock.Now())
			unconfirmed.Lose(&rec)
			keys = append(keys, kv.Key)
		}
	}
	f.southbound.readAgain(keys, closed)
	for _, key := range keys {
		if d, _ := f.state.registry.Load().Lookup(key); d != nil {
			unconfirmed.Drop(d.Name, key)
		}
	}
}

// tellMarked logs how many values of the southbound have the mark of an agent but no
// record, whenever a resync finds a different number.
func (f *orphanFinder) tellMarked(found int) {
	if found > 0 && found != f.marked {
		f.log.Warn("objects are marked as an agent's (tag, alias), not configured and not on record: they are left alone; "+
			"'agentctl orphans' lists them, 'agentctl orphans --remove KEY' removes them", "objects", found)
	}
	f.marked = found
}
