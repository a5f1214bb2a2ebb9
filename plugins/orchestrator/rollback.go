package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
)

// PlanRollback plans the return to the desired state after a transaction, as
// far as the history of the scheduler reaches. The values then belong to the
// source of remote clients. Plan.Left lists the values that it cannot restore,
// because another source has a higher priority or the history is too short.
func (p *Plugin) PlanRollback(ctx context.Context, to uint64, caller Caller) (*Plan, error) {
	what := fmt.Sprintf("rollback to transaction %d", to)
	turn, err := p.begin(ctx, GRPC, what, caller)
	if err != nil {
		return nil, err
	}
	defer turn.End()
	then, err := wantedAfter(p.Scheduler.GetTransactionHistory(time.Time{}, time.Time{}), to)
	if err != nil {
		return nil, err
	}
	items, left := p.restore(then)
	plan, err := p.plan(ctx, GRPC, items, what)
	if plan != nil {
		plan.Left, plan.rollback = left, true
	}
	return plan, err
}

// ErrNotRestored is returned by a rollback that cannot restore some values. All
// others are restored.
var ErrNotRestored = errors.New("not restored")

// maxNotRestored is the maximum number of values that notRestored names.
const maxNotRestored = 10

// notRestored returns the error of a rollback that leaves values as they are.
func notRestored(left []api.PlanReason) error {
	if len(left) == 0 {
		return nil
	}
	var texts []string
	for _, l := range left[:min(len(left), maxNotRestored)] {
		texts = append(texts, l.Key+": "+l.Reason)
	}
	if n := len(left) - maxNotRestored; n > 0 {
		texts = append(texts, fmt.Sprintf("and %d more", n))
	}
	return fmt.Errorf("%w: %s: %s", ErrNotRestored, count(len(left), "value"), strings.Join(texts, "; "))
}

// past is the desired state at one moment.
type past struct {
	values   map[string]proto.Message // nil: not desired
	complete bool                     // keys that are not in values were not desired
	touched  map[string]bool          // changed later
	all      bool                     // everything may have changed later
}

// wantedAfter replays the history.
func wantedAfter(history []*api.RecordedTxn, to uint64) (*past, error) {
	if len(history) == 0 {
		return nil, fmt.Errorf("transaction %d: the history is empty", to)
	}
	first, last := history[0].SeqNum, history[len(history)-1].SeqNum
	if to < first || to > last {
		return nil, fmt.Errorf("transaction %d: not in the history, which has %d to %d", to, first, last)
	}
	then := &past{values: map[string]proto.Message{}, complete: first == 0, touched: map[string]bool{}}
	next, there := first, false
	for _, txn := range history {
		if txn.SeqNum != next { // the history keeps the first and the last transactions
			then.forget(txn.SeqNum > to)
		}
		next, there = txn.SeqNum+1, there || txn.SeqNum == to
		if txn.TxnType != api.NBTransaction || txn.Reverted || txn.PreRecord {
			continue
		}
		all := txn.ResyncType == api.FullResync || txn.ResyncType == api.UpstreamResync
		if txn.OmittedValues > 0 {
			then.forget(txn.SeqNum > to)
			continue
		}
		if txn.SeqNum > to {
			then.all = then.all || all
			for _, kv := range txn.Values {
				then.touched[kv.Key] = true
			}
			continue
		}
		if all {
			clear(then.values)
			then.complete = true
		}
		for _, kv := range txn.Values {
			then.values[kv.Key] = kv.Value
		}
	}
	if !there {
		return nil, fmt.Errorf("transaction %d: no longer in the history, which has the first ones and the last", to)
	}
	return then, nil
}

// forget accounts for transactions that are no longer in the history.
func (p *past) forget(later bool) {
	if later {
		p.all = true
		return
	}
	clear(p.values)
	p.complete = false
}

// restore returns the items of the source of remote clients that restore the
// values of that time.
func (p *Plugin) restore(then *past) (items []KeyVal, left []api.PlanReason) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := map[string]proto.Message{}
	for _, kv := range p.store.all() {
		now[kv.Key] = kv.Val
	}
	keys := maps.Clone(then.touched)
	for key := range now {
		if then.complete || then.all {
			keys[key] = true
		}
	}
	for key := range then.values {
		keys[key] = true
	}
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		want, known := then.values[key]
		switch {
		case !known && !then.complete:
			left = append(left, api.PlanReason{Key: key, Reason: "unknown: the value is not in the history"})
		case proto.Equal(want, now[key]):
		case want != nil && p.checkItem(key, want) != nil:
			left = append(left, api.PlanReason{Key: key, Reason: "it does not belong to the configuration"})
		default:
			item, reason := p.itemFor(key, want)
			if reason != "" {
				left = append(left, api.PlanReason{Key: key, Reason: reason})
				continue
			}
			items = append(items, item)
		}
	}
	return items, left
}

// itemFor returns the item of the source of remote clients that puts a value
// into effect (nil: none), or the reason why there is no such item.
func (p *Plugin) itemFor(key string, want proto.Message) (item KeyVal, reason string) {
	_, now := p.store.effective(key)
	for _, val := range []proto.Message{nil, want} {
		item = KeyVal{Key: key, Val: val}
		_, undo := p.store.edit(GRPC, []KeyVal{item}, false)
		got, owner := p.store.effective(key)
		undo()
		if proto.Equal(got.Val, want) {
			return item, ""
		}
		if owner != nil && owner.name != GRPC {
			reason = "source " + owner.name + " has a higher priority"
			if want == nil {
				reason = "source " + owner.name + " configures it; remove it there"
				if now != nil && now.name == GRPC {
					reason = "source " + owner.name + " has an item for the key too, which would take effect; remove it there first"
				}
			}
		}
	}
	return item, reason
}
