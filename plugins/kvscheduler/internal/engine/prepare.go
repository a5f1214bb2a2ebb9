package engine

import (
	"errors"
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/graph"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/plan"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/queue"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/registry"
	"github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
)

// readForNB reads the southbound for a transaction of the northbound, as far as that
// asks for it.
func (e *Engine) readForNB(p *transaction) {
	switch p.opts.Resync {
	case api.FullResync:
		r := e.southbound.verboseRefresher(p)
		r.Complete = r.Complete || !p.opts.KeepFound
		p.unread = r.All(p.values)
		clear(e.postponed)
		e.orphans.tellMarked(r.Marked)
		p.request.All, p.request.DropUnwanted = true, !p.opts.KeepFound
		e.retries.decideNow()
	case api.DownstreamResync:
		p.unread = e.southbound.verboseRefresher(p).All(nil)
		clear(e.postponed)
		// Before the first full resync the desired state is incomplete, so values
		// that were found are kept.
		p.request.All, p.request.DropUnwanted = true, e.state.fullResyncDone && !p.opts.KeepFound
		e.retries.decideNow()
	}
}

// prepareNB turns the values of a transaction of the northbound into changes, which
// changeOf makes of them.
func (e *Engine) prepareNB(p *transaction, changeOf func(n *graph.Node, kv api.RecordedKVPair) (plan.Change, error)) {
	e.named++
	p.request.Changes = make([]plan.Change, 0, len(p.values))
	cursor := e.state.graph.Cursor(len(p.values))
	for _, kv := range p.values {
		n := cursor.Node(kv.Key)
		if n != nil {
			n.Named = e.named
		}
		change, err := changeOf(n, kv)
		switch {
		case err != nil:
			p.rejected = append(p.rejected, api.KeyWithError{Key: kv.Key, TxnOperation: kvscheduler.TxnOperation_VALIDATE, Error: err})
		case change.Key == "":
		case !settled(n, &change):
			p.request.Changes = append(p.request.Changes, change)
			asked := &p.request.Changes[len(p.request.Changes)-1]
			e.retries.postpone(p, asked)
			e.trials.changing(p, asked)
			e.observer.observe(p, asked)
		case !p.dry: // only how failures are retried is new
			n.Retry = p.opts.Retry
		}
	}
	if p.opts.Resync == api.FullResync || p.opts.Resync == api.UpstreamResync {
		named := len(p.request.Changes)
		p.request.Changes = e.dropObsolete(p.request.Changes)
		for i := named; i < len(p.request.Changes); i++ {
			e.trials.changing(p, &p.request.Changes[i])
		}
	}
	if e.opts.Policies != nil && !p.dry {
		e.observer.lookAtNew(p, p.opts.Resync == api.FullResync)
	}
}

// settled reports whether the actual state of a value already equals its desired state,
// and no value derived from it has failed.
func settled(n *graph.Node, change *plan.Change) bool {
	if n == nil || change.Want == nil || n.Want != change.Want || n.Err != nil {
		return false
	}
	if n.Have != n.Want && !n.Want.Observed {
		return false
	}
	for child := range n.Derived {
		if child.Err != nil {
			return false // asked for again, what failed is tried again
		}
	}
	return true
}

// dropObsolete: what the northbound wanted before and no longer names
// is not wanted.
func (e *Engine) dropObsolete(changes []plan.Change) []plan.Change {
	for n := range e.state.graph.Nodes {
		if n.Base == nil && n.Desired() != nil && n.Named != e.named {
			changes = append(changes, e.owners.giveUp(n))
		}
	}
	return changes
}

// change describes what the northbound asks for; without key if that is no
// change.
func (e *Engine) change(n *graph.Node, kv api.RecordedKVPair) (change plan.Change, err error) {
	if kv.Key == "" {
		return change, errors.New("empty key")
	}
	if n != nil && n.IsDerived() {
		return change, fmt.Errorf("the value is derived from %s and cannot be set on its own", n.Base.Key)
	}
	if kv.Value == nil {
		// What belongs to the southbound is not the northbound's to delete.
		if n == nil || n.Obtained() {
			return change, nil
		}
		return e.owners.giveUp(n), nil
	}
	if desires(n, kv.Value) {
		return plan.Change{Key: kv.Key, Node: n, Desc: n.Desc, Want: n.Want}, nil
	}
	reg := e.state.registry.Load()
	d, err := reg.Lookup(kv.Key)
	var v *registry.Value
	if err != nil {
		v = &registry.Value{Msg: kv.Value, Invalid: err}
	} else {
		e.southbound.contracts.Forget(kv.Key)
		v = reg.Wanted(kv.Key, d, kv.Value)
	}
	change = plan.Change{Key: kv.Key, Node: n, Desc: d, Want: v}
	if e.owners.byPolicy(&change) {
		return change, nil
	}
	switch {
	case n != nil && n.Want == nil && n.Have != nil && n.Err == nil: // found, not given up
		v = e.owners.instead(v, n)
	case n != nil:
		v = v.Instead(n.Want)
	}
	change.Want = v
	return change, nil
}

// desires reports whether the northbound asks for just this already.
func desires(n *graph.Node, msg proto.Message) bool {
	if n == nil || n.Desc == nil || n.Desired() == nil || n.Want.Unwanted {
		return false
	}
	return proto.Equal(n.Want.Msg, msg)
}

// prepareNotification turns notifications into changes. It drops notifications without
// a descriptor, and those for values that the northbound manages.
func (e *Engine) prepareNotification(news *queue.News, p *transaction) bool {
	p.request.Notified = map[string]bool{}
	p.notified = map[string]api.Metadata{}
	var kept []api.RecordedKVPair
	reg := e.state.registry.Load()
	for _, kv := range news.Values {
		n := e.state.graph.Node(kv.Key)
		d, err := reg.Lookup(kv.Key)
		if err != nil || d == nil {
			e.log.Debug("notification ignored: no descriptor", "key", kv.Key)
			continue
		}
		if e.opts.Policies.Of(d, kv.Key) == registry.Ignore {
			continue
		}
		if n != nil && (n.IsDerived() || n.Desired() != nil) {
			e.log.Debug("notification ignored: the value is managed by the northbound", "key", kv.Key)
			continue
		}
		if !changedBy(kv, n, d) {
			continue
		}
		change := plan.Change{Key: kv.Key, Desc: d}
		if kv.Value != nil {
			change.Want = reg.Found(kv.Key, d, kv.Value, true)
		}
		p.request.Changes = append(p.request.Changes, change)
		p.request.Notified[kv.Key] = true
		p.notified[kv.Key] = news.Meta[kv.Key]
		kept = append(kept, kv)
	}
	p.values = kept
	return len(kept) > 0
}

// changedBy reports whether a notification is about something else than what the graph has.
func changedBy(kv api.RecordedKVPair, n *graph.Node, d *registry.Descriptor) bool {
	switch {
	case n == nil || n.Have == nil:
		return kv.Value != nil
	case kv.Value == nil || n.Want == nil || d.WithMetadata:
		return true
	}
	return !proto.Equal(kv.Value, n.Have.Msg)
}

type keySet map[string]struct{}

// needs reports whether the outcome of a plan may depend on notifications about some
// keys: a value stays pending, perhaps because of them, or has one of them as provider.
func needs(pl *plan.Plan, news keySet) bool {
	for i := range pl.Ops {
		op := &pl.Ops[i]
		switch {
		case op.Want == nil:
		case op.After == kvscheduler.ValueState_PENDING:
			return true
		case op.Kind == plan.Up || op.Kind == plan.Update:
			for j := range op.Want.Deps {
				if news.meet(&op.Want.Deps[j]) {
					return true
				}
			}
		}
	}
	return false
}

func (s keySet) meet(dep *api.Dependency) bool {
	if dep.Key != "" {
		_, named := s[dep.Key]
		return named
	}
	for key := range s {
		if graph.Meets(dep, key) {
			return true
		}
	}
	return false
}
