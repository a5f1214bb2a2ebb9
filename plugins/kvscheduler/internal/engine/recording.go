package engine

import (
	"slices"
	"strings"
	"time"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/exec"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/plan"
)

// recorder writes the history and prints transactions. It belongs to the worker.
type recorder struct{ *shared }

// maxExplained limits how many reasons, and how many values with fields that force a re-creation, are
// recorded for a transaction. Clients show as many items.
const maxExplained = 1000

// preRecord records the transaction with its plan, before it is executed.
func (r *recorder) preRecord(txn *exec.Txn, p *transaction) *api.RecordedTxn {
	rec := &api.RecordedTxn{
		PreRecord: true, WithSimulation: p.opts.Simulation,
		Queued: p.entry.Queued, Taken: p.from, Prepared: p.at, Start: r.clock.Now(), SeqNum: txn.Seq, TxnType: p.entry.Task.(task).txnType(),
		ResyncType: p.opts.Resync, Description: p.opts.Description,
		RetryForTxn: p.ofTxn, RetryAttempt: p.attempt, Values: p.values, Unread: p.unread,
	}
	if o := &p.opts; !o.Turn.Before(o.Came) && !p.entry.Queued.Before(o.Turn) { // by the same clock
		rec.Came, rec.Turn = o.Came, o.Turn
	}
	if p.opts.Resync != api.NotResync && p.opts.KeepFound {
		rec.Description = strings.TrimPrefix(rec.Description+"; without removal", "; ")
	}
	if r.opts.Record {
		pl := txn.Plan
		rec.Forced = r.forced(pl)
		r.history.PreRecord(rec, func() []api.RecordedTxnOp { return recordPlan(pl) })
	}
	if r.opts.Print != nil {
		printed, more := *rec, 0
		if r.opts.PrintPlans > 0 {
			printed.Planned, more = recordPlanUpTo(txn.Plan, r.opts.PrintPlans)
		} else if rec.WithSimulation {
			printed.Planned = recordPlan(txn.Plan)
		}
		r.opts.Print(&printed, more)
	}
	return rec
}

// forced names the fields that force re-creations, before they are executed.
func (r *recorder) forced(pl *plan.Plan) map[string][]string {
	defer r.contracts.DryRun()()
	return (&plans{r.shared}).forced(pl, maxExplained)
}

func recordPlan(pl *plan.Plan) []api.RecordedTxnOp {
	ops, _ := recordPlanUpTo(pl, len(pl.Ops))
	return ops
}

// recordPlanUpTo returns the records of at most limit operations of a plan; more is the
// number of the remaining operations.
func recordPlanUpTo(pl *plan.Plan, limit int) (ops []api.RecordedTxnOp, more int) {
	ops = make([]api.RecordedTxnOp, 0, min(limit, len(pl.Ops)))
	for i := range pl.Ops {
		switch {
		case pl.Ops[i].Silent():
		case len(ops) < limit:
			ops = append(ops, exec.Record(&pl.Ops[i]))
		default:
			more++
		}
	}
	return ops, more
}

func (r *recorder) complete(pre *api.RecordedTxn, pl *plan.Plan, res *exec.Result) {
	rec := *pre
	rec.PreRecord = false
	rec.Stop = r.clock.Now()
	rec.Begun, rec.Executed = res.Begun, res.Executed
	rec.Reverted, rec.ToRevert, rec.NotReverted = res.Reverted, res.ToRevert, res.NotReverted
	if r.opts.Record {
		kept := rec
		kept.Values = fitted(rec.Values)
		kept.Reasons = (&plans{r.shared}).remaining(res.Executed, maxExplained)
		if wentAsPlanned(pl, res.Executed) {
			r.history.CompleteAsPlanned(&kept)
		} else {
			kept.Planned = recordPlan(pl)
			r.history.Complete(&kept)
		}
	}
	if r.opts.Print != nil {
		r.opts.Print(&rec, 0)
	}
}

// fitted returns a list without much spare capacity.
func fitted(values []api.RecordedKVPair) []api.RecordedKVPair {
	if cap(values) > len(values)+len(values)/8 {
		return slices.Clone(values)
	}
	return values
}

// wentAsPlanned reports whether exactly the operations of a plan were executed, with
// the planned outcomes.
func wentAsPlanned(pl *plan.Plan, executed []api.RecordedTxnOp) bool {
	next := 0
	for i := range pl.Ops {
		if pl.Ops[i].Silent() {
			continue
		}
		if next == len(executed) {
			return false
		}
		done := executed[next]
		done.Ran(time.Time{}, time.Time{})
		done.After, done.Waited = 0, api.OpWaitNone
		if done != exec.Record(&pl.Ops[i]) {
			return false
		}
		next++
	}
	return next == len(executed)
}
