package engine

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
)

// WaitFor implements api.Watcher. It reads the state of all values once, on the worker
// and so between two transactions, and then follows the changes.
func (ws *watches) WaitFor(ctx context.Context, req api.WaitRequest) error {
	w := ws.watch(api.WatchRequest{NoSnapshot: true})
	defer w.Close()
	begun := make(chan *wait, 1)
	err := ws.admission.push(call(func() {
		w.reset()
		begun <- ws.newWait(req)
	}))
	var x *wait
	if err == nil {
		x, err = await(ctx, ws.admission, begun)
	}
	if err != nil {
		return &api.WaitError{Unmet: ws.newWait(req).report(), Cause: err}
	}
	for {
		over, err := x.over()
		if over || err != nil {
			return err
		}
		ev, err := w.Next(ctx)
		if err != nil {
			return &api.WaitError{Unmet: ws.unmetNow(req, x), Cause: err}
		}
		x.apply(ev)
	}
}

// unmetNow returns the unmet values of a wait that is canceled. It reads their status
// again, since dependencies may be met without a change of the status of the dependent.
func (ws *watches) unmetNow(req api.WaitRequest, x *wait) []api.UnmetValue {
	if now := ws.newWait(req).report(); len(now) > 0 {
		return now
	}
	return x.report() // the state before the running transaction
}

// target is the state that a wait requires of one value.
type target struct {
	states []api.ValueState
	// settled reports that the transaction with the value has been executed. The value
	// can then reach its state by a retry or when its dependencies are met, but not by
	// being configured.
	settled bool
}

// wait is the state of one WaitFor.
type wait struct {
	req      api.WaitRequest
	err      error // why the request cannot succeed
	revision api.StatusRevision
	keys     map[string]target
	bases    map[string]string           // the bases of the derived keys
	members  []map[string]bool           // by prefix: the values that the wait includes
	unmet    map[string][]api.UnmetValue // by key of the target
}

func (ws *watches) newWait(req api.WaitRequest) *wait {
	if len(req.States) == 0 {
		req.States = []api.ValueState{kvscheduler.ValueState_CONFIGURED}
	}
	x := &wait{
		req: req, revision: ws.Revision(), keys: map[string]target{}, bases: map[string]string{},
		members: make([]map[string]bool, len(req.Prefixes)), unmet: map[string][]api.UnmetValue{},
	}
	for _, key := range req.Keys {
		x.keys[key] = target{states: req.States}
	}
	if req.Txn != nil {
		x.addTxn(ws.history.Get(*req.Txn))
	}
	for key := range x.keys {
		x.judge(key, ws.statuses.of(key))
		if base := ws.state.baseOf(key); base != "" {
			x.bases[key] = base
		}
	}
	for i, prefix := range req.Prefixes {
		x.members[i] = map[string]bool{}
		for _, s := range ws.statuses.list(prefix, nil) {
			x.judgeMember(i, s)
		}
	}
	return x
}

func (x *wait) addTxn(txn *api.RecordedTxn) {
	if txn == nil {
		x.err = fmt.Errorf("transaction %d: %w", *x.req.Txn, api.ErrNoSuchTransaction)
		return
	}
	if txn.OmittedValues > 0 {
		x.err = fmt.Errorf("transaction %d: its list of values is no longer complete, because the history has reached its size limit (transaction-history-max-bytes)", txn.SeqNum)
		return
	}
	for _, kv := range txn.Values {
		state := kvscheduler.ValueState_CONFIGURED
		switch {
		case kv.Value == nil:
			state = kvscheduler.ValueState_NONEXISTENT
		case txn.TxnType == api.SBNotification:
			state = kvscheduler.ValueState_OBTAINED
		}
		x.keys[kv.Key] = target{[]api.ValueState{state}, !txn.PreRecord}
	}
}

// over reports whether all values have the requested state. It returns an error if they
// cannot reach it.
func (x *wait) over() (bool, error) {
	if x.err != nil {
		return false, &api.WaitError{Cause: x.err}
	}
	for _, list := range x.unmet {
		if slices.ContainsFunc(list, func(u api.UnmetValue) bool { return u.Final }) {
			return false, &api.WaitError{Unmet: x.report(), Cause: api.ErrWaitHopeless}
		}
	}
	reached := x.req.Revision == api.StatusRevision{} || x.revision.Incarnation != x.req.Revision.Incarnation ||
		x.revision.Number >= x.req.Revision.Number // a revision of an earlier run is reached
	return reached && len(x.unmet) == 0 && len(x.emptyPrefixes()) == 0, nil
}

// emptyPrefixes returns the prefixes that require a value and have none.
func (x *wait) emptyPrefixes() (prefixes []string) {
	if slices.Contains(x.req.States, kvscheduler.ValueState_NONEXISTENT) {
		return nil
	}
	for i, prefix := range x.req.Prefixes {
		if len(x.members[i]) == 0 {
			prefixes = append(prefixes, prefix)
		}
	}
	return prefixes
}

// report lists the values that do not have the requested state.
func (x *wait) report() []api.UnmetValue {
	var all []api.UnmetValue
	for _, key := range slices.Sorted(maps.Keys(x.unmet)) {
		all = append(all, x.unmet[key]...)
	}
	for _, prefix := range x.emptyPrefixes() {
		all = append(all, api.UnmetValue{Key: prefix + "*", Reason: "no value with this prefix is configured"})
	}
	return all
}

// apply applies the changes of an event.
func (x *wait) apply(ev *api.WatchEvent) {
	x.revision = ev.Revision
	for _, s := range ev.Values {
		base := s.GetValue().GetKey()
		if _, ok := x.keys[base]; ok {
			x.judge(base, s)
		}
		for key, of := range x.bases {
			if of == base {
				delete(x.bases, key)
				x.judge(key, &api.BaseValueStatus{Value: &api.ValueStatus{Key: key}}) // replaced below if it still exists
			}
		}
		for _, d := range s.GetDerivedValues() {
			if _, ok := x.keys[d.GetKey()]; ok {
				x.bases[d.GetKey()] = base
				x.judge(d.GetKey(), &api.BaseValueStatus{Value: d})
			}
		}
		for i, prefix := range x.req.Prefixes {
			if strings.HasPrefix(base, prefix) {
				x.judgeMember(i, s)
			}
		}
	}
}

// judge compares a value with its target.
func (x *wait) judge(key string, s *api.BaseValueStatus) {
	x.set(key, x.keys[key].unmet(s))
}

func (x *wait) set(key string, unmet []api.UnmetValue) {
	if len(unmet) == 0 {
		delete(x.unmet, key)
	} else {
		x.unmet[key] = unmet
	}
}

// judgeMember compares a value with the states required for prefix i. It ignores values
// of the southbound unless the request names their state.
func (x *wait) judgeMember(i int, s *api.BaseValueStatus) {
	key := s.GetValue().GetKey()
	if _, ok := x.keys[key]; ok {
		x.members[i][key] = true
		return // compared by its key
	}
	t := target{states: x.req.States}
	counts := true
	switch state := s.GetValue().GetState(); state {
	case kvscheduler.ValueState_NONEXISTENT:
		counts = len(s.GetDerivedValues()) > 0
	case kvscheduler.ValueState_OBTAINED, kvscheduler.ValueState_DISCOVERED:
		counts = slices.Contains(t.states, state)
	}
	if !counts {
		delete(x.members[i], key)
		x.set(key, nil)
		return
	}
	x.members[i][key] = true
	x.set(key, t.unmet(s))
}

// unmet returns the value, or the values derived from it, that do not have the required
// state.
func (t target) unmet(s *api.BaseValueStatus) (list []api.UnmetValue) {
	state := s.GetValue().GetState()
	if !slices.Contains(t.states, state) {
		return []api.UnmetValue{t.describe(s.GetValue())}
	}
	if state != kvscheduler.ValueState_CONFIGURED && state != kvscheduler.ValueState_NONEXISTENT {
		return nil
	}
	for _, d := range s.GetDerivedValues() {
		if d.GetState() != state {
			list = append(list, t.describe(d))
		}
	}
	return list
}

func (t target) describe(s *api.ValueStatus) api.UnmetValue {
	u := api.UnmetValue{Key: s.GetKey(), State: s.GetState(), Reason: api.Reason(s)}
	absent := slices.Contains(t.states, kvscheduler.ValueState_NONEXISTENT)
	switch u.State {
	case kvscheduler.ValueState_NONEXISTENT:
		u.Reason, u.Final = "not configured", t.settled
	case kvscheduler.ValueState_FAILED:
		u.Final = !absent || t.settled || s.GetLastOperation() == kvscheduler.TxnOperation_DELETE
	case kvscheduler.ValueState_INVALID, kvscheduler.ValueState_UNIMPLEMENTED:
		u.Final = !absent || t.settled
	case kvscheduler.ValueState_RETRYING:
	default:
		if absent && t.settled {
			u.Reason, u.Final = "it was asked for again or the transaction was reverted", true
		}
	}
	return u
}
