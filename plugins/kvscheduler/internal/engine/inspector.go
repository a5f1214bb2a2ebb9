package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/registry"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/status"
	"github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
)

// inspector implements api.Inspector. All methods may be called concurrently.
type inspector struct {
	*shared

	refusals atomic.Pointer[api.Refusals] // nil: no source of refusals
}

func (in *inspector) GetValueStatus(key string) *api.BaseValueStatus { return in.statuses.of(key) }

func (in *inspector) ListValueStatus(keyPrefix string) []*api.BaseValueStatus {
	return in.statuses.list(keyPrefix, nil)
}

func (in *inspector) WatchValueStatus(channel chan<- *api.BaseValueStatus, selector api.KeySelector) (cancel func()) {
	return in.watches.channel(channel, selector)
}

func (in *inspector) ListDescriptors() []*api.KVDescriptor {
	all := in.state.registry.Load().All
	out := make([]*api.KVDescriptor, len(all))
	for i, d := range all {
		out[i] = d.KVDescriptor
	}
	return out
}

func (in *inspector) SummarizeStates(worst int) api.StateSummary {
	return in.SummarizeValues(api.ValueFilter{}, worst)
}

func (in *inspector) SummarizeValues(filter api.ValueFilter, worst int) api.StateSummary {
	in.state.mu.RLock()
	defer in.state.mu.RUnlock()
	return in.statuses.reader().Summary(filter, worst)
}

func (in *inspector) ListValues(page api.ValuePage) []api.ListedValue {
	in.state.mu.RLock()
	defer in.state.mu.RUnlock()
	return in.statuses.reader().Page(page)
}

func (in *inspector) DrawValues(req api.DrawingRequest) api.Drawing {
	in.state.mu.RLock()
	defer in.state.mu.RUnlock()
	return in.statuses.reader().Draw(req)
}

func (in *inspector) GraphSnapshot() []api.GraphNode {
	in.state.mu.RLock()
	defer in.state.mu.RUnlock()
	out := make([]api.GraphNode, 0, in.state.graph.Len())
	r := in.statuses.reader()
	for n := range in.state.graph.Nodes {
		out = append(out, r.Node(n))
	}
	return out
}

func (in *inspector) Explain(key string) *api.Explanation {
	e := in.explain(key)
	if refusals := in.refusals.Load(); refusals != nil {
		addRefusals(e, *refusals)
	}
	return e
}

func (in *inspector) explain(key string) *api.Explanation {
	in.state.mu.RLock()
	defer in.state.mu.RUnlock()
	return in.statuses.reader().Explain(key)
}

// addRefusals adds the refusals to an explanation. It must be called without locks,
// since it calls another component.
func addRefusals(e *api.Explanation, refusals api.Refusals) {
	asked := e.State != kvscheduler.ValueState_NONEXISTENT
	switch text := refusals(e.Key, asked); {
	case text == "":
	case !asked || e.Reason == "":
		e.Reason = text
	default:
		e.Reason += "; " + text
	}
	for _, child := range e.Children {
		addRefusals(child, refusals)
	}
}

func (in *inspector) GetTransactionHistory(since, until time.Time) []*api.RecordedTxn {
	return in.history.Window(since, until)
}

func (in *inspector) GetRecordedTransaction(seqNum uint64) *api.RecordedTxn {
	return in.history.Get(seqNum)
}

func (in *inspector) DumpValuesByDescriptor(descriptor string, view api.View) ([]api.KVWithMetadata, error) {
	d := in.state.registry.Load().ByName(descriptor)
	if d == nil {
		return nil, fmt.Errorf("descriptor %q: not registered", descriptor)
	}
	return in.dump(d, view)
}

func (in *inspector) DumpValuesByKeyPrefix(prefix string, view api.View) ([]api.KVWithMetadata, error) {
	d := in.state.registry.Load().ByNBKeyPrefix(prefix)
	if d == nil {
		return nil, fmt.Errorf("key prefix %q: no descriptor is registered for it", prefix)
	}
	return in.dump(d, view)
}

func (in *inspector) dump(d *registry.Descriptor, view api.View) (kvs []api.KVWithMetadata, err error) {
	switch view {
	case api.SBView:
		// Callbacks run on the worker only, so that they never overlap.
		werr := in.admission.onWorker(context.Background(), func() { kvs, err = in.southbound.refresher(in.southbound.closed()).Descriptor(d) })
		slices.SortFunc(kvs, func(a, b api.KVWithMetadata) int { return strings.Compare(a.Key, b.Key) })
		for i := range kvs {
			kvs[i].Value = api.WithoutDefaulted(kvs[i].Value)
		}
		return kvs, errors.Join(werr, err)
	case api.NBView, api.CachedView:
		in.state.mu.RLock()
		defer in.state.mu.RUnlock()
		return in.dumpGraph(d, view), nil
	}
	return nil, fmt.Errorf("view %q: expected SB, NB or cached", view)
}

func (in *inspector) dumpGraph(d *registry.Descriptor, view api.View) (all []api.KVWithMetadata) {
	for n := range in.state.graph.Ascend(d.NBKeyPrefix) {
		v := n.Have
		if view == api.NBView {
			v = n.Desired()
		}
		if n.Desc == d && !n.IsDerived() && v != nil {
			all = append(all, api.KVWithMetadata{Key: n.Key, Value: api.WithoutDefaulted(v.Msg), Metadata: n.Meta, Origin: status.Origin(n)})
		}
	}
	return all
}

func (in *inspector) ValidateSemantically(messages []proto.Message) error {
	reg := in.state.registry.Load()
	var invalid []*api.InvalidMessageError
	for _, msg := range messages {
		invalid = append(invalid, validate(reg, msg)...)
	}
	if len(invalid) == 0 {
		return nil
	}
	return &api.InvalidMessagesError{MessageErrors: invalid}
}

// validate validates a message with the descriptors of its type. If a descriptor
// can derive the key, it must also select that key.
func validate(reg *registry.Registry, msg proto.Message) (invalid []*api.InvalidMessageError) {
	name := string(msg.ProtoReflect().Descriptor().FullName())
	for _, d := range reg.All {
		if d.ValueTypeName != name || d.NBKeyPrefix == "" {
			continue
		}
		key, known := api.KeyOf(d.KVDescriptor, msg)
		switch {
		case !known:
			key = d.NBKeyPrefix
		case !d.KeySelector(key):
			continue // a value of another descriptor
		}
		v := reg.Wanted(key, d, msg)
		if v.Invalid != nil {
			invalid = append(invalid, invalidMessage(msg, nil, v.Invalid))
		}
		for _, dv := range v.Derived {
			if dv.Value.Invalid != nil {
				invalid = append(invalid, invalidMessage(dv.Value.Msg, msg, dv.Value.Invalid))
			}
		}
	}
	return invalid
}

func invalidMessage(msg, parent proto.Message, err error) *api.InvalidMessageError {
	e := &api.InvalidMessageError{Message: msg, ParentMessage: parent, Err: err}
	var fields *api.InvalidValueError
	if errors.As(err, &fields) {
		e.InvalidFields = fields.Fields()
	}
	return e
}
