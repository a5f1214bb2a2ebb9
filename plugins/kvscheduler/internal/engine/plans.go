package engine

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/exec"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/graph"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/plan"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/registry"
	"github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
)

// plans describes plans to clients. It belongs to the worker.
type plans struct{ *shared }

// planned describes a plan together with the state that it was made for.
func (p *plans) planned(values []api.RecordedKVPair, o *api.TxnOptions, pl *plan.Plan) *api.Plan {
	out := &api.Plan{
		Created: p.clock.Now().UTC(), Description: o.Description, Resync: o.Resync, KeepFound: o.KeepFound,
		Values: values, Operations: recordPlan(pl), Reasons: p.reasons(pl), Forced: p.forced(pl, len(pl.Ops)), Conflicts: p.conflicts(pl), Digest: api.ValuesDigest(values),
	}
	keys := make([]string, 0, len(values)+len(pl.Ops))
	for i := range values {
		keys = append(keys, values[i].Key)
	}
	for i := range pl.Ops {
		switch op := &pl.Ops[i]; {
		case op.Base == "":
			keys = append(keys, op.Key)
		case len(keys) == 0 || keys[len(keys)-1] != op.Base: // values derived from one base are often adjacent
			keys = append(keys, op.Base)
		}
	}
	slices.Sort(keys)
	keys = slices.Compact(keys)
	out.Base = make([]api.PlanBase, 0, len(keys))
	for _, key := range keys {
		out.Base = append(out.Base, p.base(key))
	}
	return out
}

// base describes the state of a value that a plan was made for.
func (p *plans) base(key string) api.PlanBase {
	b := api.PlanBase{Key: key}
	if n := p.state.graph.Node(key); n != nil {
		if n.Want != nil && !n.Want.Unwanted {
			b.Wanted = api.ValueDigest(n.Want.Msg)
		}
		switch {
		case n.Have == nil:
		case n.Have == n.Want && b.Wanted != "":
			b.Exists = b.Wanted
		default:
			b.Exists = api.ValueDigest(n.Have.Msg)
		}
	}
	return b
}

// reasons explains why values stay PENDING, INVALID or unchanged.
func (p *plans) reasons(pl *plan.Plan) []api.PlanReason {
	after, own := pl.After(p.state.graph), pendingOf(pl)
	list := p.sharedObjects(pl)
	for i := range pl.Ops {
		op := &pl.Ops[i]
		if op.Kind == plan.Note && op.Held != nil {
			if n := p.state.graph.Node(op.Key); n != nil {
				list = append(list, api.PlanReason{Key: op.Key, Base: op.Base, Reason: exec.Held(op, n).Error()})
			}
			continue
		}
		if op.Want == nil || op.Kind == plan.Down && op.Recreate {
			continue
		}
		if n := p.state.graph.Node(op.Key); givenBack(op, n) {
			list = append(list, api.PlanReason{Key: op.Key, Base: op.Base, Reason: "no longer configured; kept, because the agent did not create it"})
			continue
		}
		switch op.After {
		case kvscheduler.ValueState_INVALID:
			if err := cmp.Or(op.Want.Invalid, op.Refused); err != nil {
				list = append(list, api.PlanReason{Key: op.Key, Base: op.Base, Reason: err.Error()})
			}
		case kvscheduler.ValueState_UNIMPLEMENTED:
			list = append(list, api.PlanReason{Key: op.Key, Base: op.Base, Reason: api.Reason(&api.ValueStatus{State: op.After})})
		case kvscheduler.ValueState_PENDING:
			reason := api.PlanReason{Key: op.Key, Base: op.Base}
			reason.Reason, reason.Own = p.waitsFor(op, after, own)
			list = append(list, reason)
		case kvscheduler.ValueState_CONFIGURED:
			if op.Want.Observed {
				list = append(list, api.PlanReason{Key: op.Key, Base: op.Base, Reason: "the value of another process (ownership policy observe)"})
			}
		}
	}
	list = slices.DeleteFunc(list, func(r api.PlanReason) bool { return r.Reason == "" })
	slices.SortStableFunc(list, func(a, b api.PlanReason) int { return strings.Compare(a.Key, b.Key) })
	return slices.Compact(list)
}

// remaining explains why values that a transaction concerned are not CONFIGURED after it, sorted
// by key; of the first limit of them. Failed operations have their errors.
func (p *plans) remaining(executed []api.RecordedTxnOp, limit int) (list []api.PlanReason) {
	now := &plan.Plan{}
	known := map[string]bool{}
	for i := range executed {
		op := &executed[i]
		if op.NewErrMsg != "" || op.NewState != kvscheduler.ValueState_PENDING && op.NewState != kvscheduler.ValueState_UNIMPLEMENTED || known[op.Key] {
			continue
		}
		if len(now.Ops) == limit {
			break
		}
		known[op.Key] = true
		// A later operation of the transaction may have changed the state.
		if n := p.state.graph.Node(op.Key); n != nil && n.Want != nil && plan.State(n) == op.NewState {
			now.Ops = append(now.Ops, plan.Op{Kind: plan.Note, Key: op.Key, Base: op.Base, Desc: n.Desc, Want: n.Want, After: op.NewState})
		}
	}
	if len(now.Ops) == 0 {
		return nil
	}
	return p.reasons(now)
}

// conflicts lists the values that get an identity which another one keeps or gets, too.
func (p *plans) conflicts(pl *plan.Plan) (list []api.PlanConflict) {
	planned := make(map[string]bool, len(pl.Ops))
	for i := range pl.Ops {
		planned[pl.Ops[i].Key] = planned[pl.Ops[i].Key] || pl.Ops[i].Kind != plan.Note
	}
	owners := map[registry.Claim]string{} // keys of base values
	for i := range pl.Ops {
		op := &pl.Ops[i]
		if op.Kind != plan.Up && op.Kind != plan.Update || op.Desc == nil {
			continue
		}
		key := cmp.Or(op.Base, op.Key)
		for _, c := range op.Desc.Claims(op.Key, op.Target) {
			other := owners[c]
			for _, n := range p.state.graph.Claimants(c) {
				if !planned[n.Key] {
					other = n.Root().Key
				}
			}
			if owners[c] = key; other != "" && other != key {
				list = append(list, api.PlanConflict{Key: key, Other: other})
			}
		}
	}
	slices.SortFunc(list, func(a, b api.PlanConflict) int {
		return cmp.Or(strings.Compare(a.Key, b.Key), strings.Compare(a.Other, b.Other))
	})
	return slices.Compact(list)
}

// givenBack reports whether a foreign value is no longer desired and stays unchanged.
func givenBack(op *plan.Op, n *graph.Node) bool {
	executed := op.Kind != plan.Note && op.Kind != plan.Adopt
	return op.Base == "" && op.Want.FromSB && !executed && n != nil && n.Desired() != nil
}

// waitsFor returns why a value will be PENDING; empty for one that is removed and then created
// again. It reports whether the value only waits for others of its item.
func (p *plans) waitsFor(op *plan.Op, after graph.Projection, pending *pendingValues) (reason string, own bool) {
	if op.Want.Observed {
		return "waits for another process to create it (ownership policy observe)", false
	}
	if problem := p.sessions.problem(op.Desc.Session()); problem != "" {
		return problem, false
	}
	if problem := p.unreadable.notRead(op.Key, op.Desc); problem != "" && op.Base == "" {
		return "waits for " + problem, false
	}
	var unmet []string
	own = true
	graph.Lacks(after, op.Want, func(_ int, dep *api.Dependency) bool {
		unmet = append(unmet, dep.String())
		own = own && pending.own(op, dep)
		return true
	})
	if len(unmet) == 0 && op.Kind == plan.Down {
		return "", false
	}
	if len(unmet) == 0 {
		return "waits for what does not exist yet", false
	}
	return "waits for " + strings.Join(unmet, ", "), own
}

// pendingValues are the derived values that will be PENDING after a plan.
type pendingValues struct {
	base  map[string]string   // of a value
	keys  map[string][]string // by base
	known map[pendingPattern]bool
}

type pendingPattern struct {
	base    string
	pattern graph.KeyPattern
}

func pendingOf(pl *plan.Plan) *pendingValues {
	p := &pendingValues{map[string]string{}, map[string][]string{}, map[pendingPattern]bool{}}
	for i := range pl.Ops {
		if op := &pl.Ops[i]; op.Base != "" && op.Want != nil && op.After == kvscheduler.ValueState_PENDING {
			p.base[op.Key] = op.Base
			p.keys[op.Base] = append(p.keys[op.Base], op.Key)
		}
	}
	return p
}

// own reports whether another of the values, derived from the same base, would meet a dependency.
func (p *pendingValues) own(op *plan.Op, dep *api.Dependency) bool {
	if op.Base == "" {
		return false
	}
	if dep.Key != "" {
		return p.base[dep.Key] == op.Base
	}
	return slices.ContainsFunc(graph.Prefixes(dep), func(prefix string) bool {
		at := pendingPattern{op.Base, graph.NewKeyPattern(prefix, dep.AnyOf.KeySelector)}
		met, known := p.known[at]
		if !known {
			met = slices.ContainsFunc(p.keys[op.Base], func(key string) bool {
				return key != op.Key && strings.HasPrefix(key, prefix) && at.pattern.Selects(key)
			})
			p.known[at] = met
		}
		return met
	})
}

// stale returns an error if a plan differs from the plan that the client expects.
func (p *plans) stale(expected *api.Plan, now *plan.Plan) error {
	if expected == nil {
		return nil
	}
	var moved []string
	for _, b := range expected.Base {
		if p.base(b.Key) != b {
			moved = append(moved, b.Key)
		}
	}
	if len(moved) == 0 {
		moved = differing(expected.Operations, recordPlan(now))
	}
	if len(moved) == 0 {
		return nil
	}
	return fmt.Errorf("%w: changed since then: %s", api.ErrPlanStale, abbreviated(moved))
}

// differing lists the keys with different operations, sorted.
func differing(planned, now []api.RecordedTxnOp) []string {
	keys := map[string]bool{}
	for i := range max(len(planned), len(now)) {
		switch {
		case i >= len(planned):
			keys[now[i].Key] = true
		case i >= len(now):
			keys[planned[i].Key] = true
		case !sameOp(&planned[i], &now[i]):
			keys[planned[i].Key], keys[now[i].Key] = true, true
		}
	}
	return slices.Sorted(maps.Keys(keys))
}

func sameOp(a, b *api.RecordedTxnOp) bool {
	sameKind := a.Operation == b.Operation && a.NOOP == b.NOOP && a.IsRecreate == b.IsRecreate
	sameStates := a.NewState == b.NewState && a.PrevState == b.PrevState
	return a.Key == b.Key && sameKind && sameStates &&
		proto.Equal(a.NewValue, b.NewValue) && proto.Equal(a.PrevValue, b.PrevValue)
}
