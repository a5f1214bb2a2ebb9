package control

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/graph"
)

// orphaned tells that the scheduler made the value and that nobody wants it.
func orphaned(n *graph.Node) bool {
	return n != nil && !n.Gone() && n.Base == nil && n.Want == nil && n.Have != nil && !n.Have.FromSB && !n.Adopted && !n.Desc.IsProperty()
}

func foreign(n *graph.Node) bool {
	return n.Base == nil && n.Have != nil && n.Have.FromSB && (n.Want == nil || n.Want.FromSB) && !n.Desc.IsProperty()
}

// Orphans implements api.OrphanFinder.
func (c *Control) Orphans() []api.Orphan {
	out := c.orphans()
	for i := range out {
		o := &out[i]
		if o.Ours && c.keeper.journal != nil {
			if rec, ok := c.keeper.journal.Lookup(o.Key); ok {
				o.Txn, o.Since = rec.Txn, rec.Time
			}
		}
	}
	slices.SortFunc(out, func(a, b api.Orphan) int { return strings.Compare(a.Key, b.Key) })
	return out
}

func (c *Control) orphans() (out []api.Orphan) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	c.graph.Nodes(func(n *graph.Node) bool {
		ours := orphaned(n)
		if !ours && !foreign(n) {
			return true
		}
		o := api.Orphan{Key: n.Key, Descriptor: n.Desc.Name, Ours: ours, Value: n.Have.Msg}
		if ours {
			o.Txn, o.Since = n.LastTxn, c.txnStart(n.LastTxn)
		}
		if n.Err != nil {
			o.Problem = n.Err.Error()
		}
		out = append(out, o)
		return true
	})
	reg := c.registry.Load()
	for _, rec := range c.keeper.past.All() {
		if n := c.graph.Node(rec.Key); n != nil && n.Want != nil && !n.Want.FromSB {
			continue // somebody's wish
		}
		o := api.Orphan{Key: rec.Key, Descriptor: rec.Descriptor, Ours: true, Txn: rec.Txn, Since: rec.Time, Unread: true, Value: rec.Message()}
		o.Problem = c.sessionProblem(rec.Southbound)
		switch {
		case reg.ByName(rec.Descriptor) == nil:
			o.Problem = fmt.Sprintf("no plugin of this agent registered descriptor %q", rec.Descriptor)
		case o.Problem == "":
			o.Problem = "the southbound was not read since the start"
			if f := c.reads.Of(rec.Key, reg.ByName(rec.Descriptor)); f != nil {
				o.Problem = "it could not be read: " + f.Err.Error()
			}
		}
		out = append(out, o)
	}
	return out
}

// RemoveOrphans implements api.OrphanFinder.
func (c *Control) RemoveOrphans(ctx context.Context, keys []string, opts ...api.TxnOption) (seqNum uint64, err error) {
	known := map[string]api.Orphan{}
	for _, o := range c.orphans() {
		known[o.Key] = o
	}
	keys = slices.Compact(slices.Sorted(slices.Values(keys)))
	values := make([]api.RecordedKVPair, len(keys))
	for i, key := range keys {
		o, ok := known[key]
		switch {
		case !ok:
			return api.NoSeqNum, fmt.Errorf("key %q: %w: it does not exist, or somebody asks for it", key, api.ErrNoOrphan)
		case !o.Ours:
			return api.NoSeqNum, fmt.Errorf("key %q: %w: it is foreign", key, api.ErrNoOrphan)
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
	t := &txn{c: c, values: values}
	return t.commit(ctx, &job{typ: api.NBTransaction, values: values, orphans: true, opts: o})
}
