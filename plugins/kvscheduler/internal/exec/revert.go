package exec

import (
	"maps"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/graph"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/plan"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/registry"
)

// remember saves the desired state from before the transaction.
func (r *run) remember() {
	for _, c := range r.txn.Request.Changes {
		var want *registry.Value
		adopted := false
		if n := r.Graph.Node(c.Key); n != nil {
			want, adopted = n.Want, n.Owner == graph.Adopted
			if want == nil && n.Have != nil {
				kept := *n.Have
				kept.Unwanted = true
				want = &kept
			}
		}
		r.before = append(r.before, plan.Change{Key: c.Key, Desc: c.Desc, Want: want, Adopt: adopted})
	}
	r.rememberLeft()
}

// leftAlone is an adopted value whose change was postponed before the transaction.
type leftAlone struct {
	node       *graph.Node
	want, have *registry.Value
	outcome    graph.Outcome
	again      *registry.Value // the desired value that restores it
}

// rememberLeft saves the actual state of the adopted values whose postponed change
// the plan makes now. A revert restores that state, which differs from the desired
// state.
func (r *run) rememberLeft() {
	changes := map[string]int{}
	for i := range r.before {
		if r.before[i].Adopt {
			changes[r.before[i].Key] = i
		}
	}
	for i := range r.txn.Plan.Ops {
		op := &r.txn.Plan.Ops[i]
		n := op.Self.Node
		if op.Kind == plan.Note || op.Base != "" || n == nil || !n.Left() {
			continue
		}
		left := leftAlone{n, n.Want, n.Have, n.Outcome, n.AsItIs()}
		if at, named := changes[op.Key]; named {
			r.before[at].Want = left.again
		} else {
			r.before = append(r.before, plan.Change{Key: op.Key, Desc: op.Desc, Want: left.again, Adopt: true})
		}
		r.left = append(r.left, left)
	}
}

func (r *run) revertRequest() plan.Request {
	req := plan.Request{
		Changes: r.before, Closed: r.txn.Request.Closed, Unread: r.txn.Request.Unread, Pinned: r.txn.Request.Pinned,
	}
	for i := range req.Changes {
		c := &req.Changes[i]
		if n := r.Graph.Node(c.Key); n != nil && c.Want == nil && n.Have != nil && !n.Ours() {
			c.Want = n.AsFound() // found in the southbound when its Create failed
		}
	}
	r.Overdue.Pin(&req)
	maps.Copy(r.pinned, req.Pinned)
	for key := range r.touched {
		req.Touch = append(req.Touch, key)
	}
	return req
}

// countReverted counts the values that the revert had to restore, and those that it
// could not restore.
func (r *run) countReverted() {
	keys := map[string]struct{}{}
	for i := range r.res.Executed {
		if r.res.Executed[i].IsRevert {
			keys[r.res.Executed[i].Key] = struct{}{}
		}
	}
	for key := range r.failures { // may be held by other values and not started
		keys[key] = struct{}{}
	}
	r.res.ToRevert, r.res.NotReverted = len(keys), len(r.failures)
}

// disown restores the desired state of values that existed before the transaction
// without being desired, or with another desired state.
func (r *run) disown() {
	r.Lock.Lock()
	defer r.Lock.Unlock()
	for _, c := range r.before {
		if n := r.Graph.Node(c.Key); n != nil && c.Want != nil && c.Want.Unwanted && n.Want == c.Want {
			r.Graph.SetWant(n, nil)
		}
	}
	for _, l := range r.left {
		n := l.node
		if n.Gone || n.Want != l.again {
			continue
		}
		r.Graph.SetWant(n, l.want)
		if n.Have != l.again {
			continue // the revert could not restore it, as its error says
		}
		_ = r.Graph.SetHave(n, l.have, n.Meta, graph.Unchanged) // known to be usable
		n.Err, n.Retry = l.outcome.Err, l.outcome.Retry
		r.Graph.SetHeld(n, true)
	}
}

// refuse reports whether a transaction with revert contains invalid values and so
// cannot succeed as a whole. Nothing of it is executed then.
func (r *run) refuse() bool {
	for i := range r.txn.Plan.Ops {
		op := &r.txn.Plan.Ops[i]
		err := op.Refused
		if op.SetWant && op.Want != nil && op.Want.Invalid != nil {
			err = op.Want.Invalid
		}
		if err == nil {
			continue
		}
		rec := Record(op)
		rec.NewErrMsg = text(err)
		r.res.Executed = append(r.res.Executed, rec)
		r.res.Invalid = append(r.res.Invalid, api.KeyWithError{Key: op.Key, TxnOperation: rec.Operation, Error: err})
	}
	r.res.Reverted = len(r.res.Invalid) > 0 || r.txn.Refused
	return r.res.Reverted
}
