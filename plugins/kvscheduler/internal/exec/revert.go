package exec

import (
	"maps"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/plan"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/registry"
)

// remember keeps the wishes from before the transaction.
func (r *run) remember() {
	for _, c := range r.txn.Request.Changes {
		var want *registry.Value
		adopted := false
		if n := r.Graph.Node(c.Key); n != nil {
			want, adopted = n.Want, n.Adopted
			if want == nil && n.Have != nil {
				kept := *n.Have
				kept.Unwanted = true
				want = &kept
			}
		}
		r.before = append(r.before, plan.Change{Key: c.Key, Desc: c.Desc, Want: want, Adopt: adopted})
	}
}

func (r *run) revertRequest() plan.Request {
	req := plan.Request{
		Changes: r.before, Closed: r.txn.Request.Closed, Unread: r.txn.Request.Unread, Pinned: r.txn.Request.Pinned,
	}
	r.Overdue.Pin(&req)
	maps.Copy(r.pinned, req.Pinned)
	for key := range r.touched {
		req.Touch = append(req.Touch, key)
	}
	return req
}

func (r *run) startRevert() {
	r.reverted = true
	r.res.Reverted = true
	r.takeFailures() // the causes
}

// disown makes the values that existed without being wanted before the
// transaction the same again.
func (r *run) disown() {
	r.Lock.Lock()
	defer r.Lock.Unlock()
	for _, c := range r.before {
		if n := r.Graph.Node(c.Key); n != nil && c.Want != nil && c.Want.Unwanted && n.Want == c.Want {
			r.Graph.SetWant(n, nil)
		}
	}
}
