package control

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/infra/idxmap"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/graph"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/registry"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/status"
	"github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
)

// GetRegisteredNBKeyPrefixes implements api.Registrar.
func (c *Control) GetRegisteredNBKeyPrefixes() []string {
	var prefixes []string
	for _, d := range c.registry.Load().All() {
		if d.NBKeyPrefix != "" {
			prefixes = append(prefixes, d.NBKeyPrefix)
		}
	}
	slices.Sort(prefixes)
	return slices.Compact(prefixes)
}

// GetMetadataMap implements api.Registrar.
func (c *Control) GetMetadataMap(descriptor string) idxmap.Reader {
	return c.registry.Load().MetadataReader(descriptor)
}

// ListDescriptors implements api.Inspector.
func (c *Control) ListDescriptors() []*api.KVDescriptor {
	all := c.registry.Load().All()
	out := make([]*api.KVDescriptor, len(all))
	for i, d := range all {
		out[i] = d.KVDescriptor
	}
	return out
}

// reader reads the states of values. There may be one for each of a million.
func (c *Control) reader() *status.Reader {
	r := c.readers
	if unread := c.reads.Unread(c.registry.Load()); unread != nil {
		r.Unsure = unread.Meets
	}
	return &r
}

func (c *Control) newReaders() status.Reader {
	return status.Reader{
		Graph: c.graph, SessionProblem: c.sessionProblem, Limbo: c.limbo, Unread: c.unread,
		Breaches: c.breaches.of, TxnStart: c.txnStart,
		SouthboundOnly: func(key string) string {
			d, err := c.registry.Load().Lookup(key)
			if err != nil || d == nil || !d.IsProperty() || d.Retrieve == nil {
				return ""
			}
			return d.WhyAbsent(key)
		},
		Undescribed: func(key string) bool {
			d, err := c.registry.Load().Lookup(key)
			return err == nil && d == nil
		},
	}
}

func (c *Control) txnStart(seq uint64) time.Time { return c.history.Start(seq) }

// GetValueStatus implements api.Inspector.
func (c *Control) GetValueStatus(key string) *api.BaseValueStatus {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.reader().Base(key)
}

// ListValueStatus implements api.Inspector.
func (c *Control) ListValueStatus(keyPrefix string) []*api.BaseValueStatus {
	return c.listStatus(keyPrefix, nil)
}

func (c *Control) listStatus(keyPrefix string, selector api.KeySelector) []*api.BaseValueStatus {
	c.mu.RLock()
	defer c.mu.RUnlock()
	var out []*api.BaseValueStatus
	r := c.reader()
	c.graph.Ascend(keyPrefix, func(n *graph.Node) bool {
		if !n.IsDerived() && (selector == nil || selector(n.Key)) {
			out = append(out, r.BaseOf(n))
		}
		return true
	})
	return out
}

// GraphSnapshot implements api.Inspector.
func (c *Control) GraphSnapshot() []api.GraphNode {
	c.mu.RLock()
	defer c.mu.RUnlock()
	out := make([]api.GraphNode, 0, c.graph.Len())
	r := c.reader()
	c.graph.Ascend("", func(n *graph.Node) bool {
		out = append(out, r.Node(n))
		return true
	})
	return out
}

// Reason implements api.Inspector.
func (c *Control) Reason(key string) string {
	c.mu.RLock()
	defer c.mu.RUnlock()
	r := c.reader()
	r.Keys = true
	return api.Reason(r.Base(key).GetValue())
}

// Explain implements api.Inspector.
func (c *Control) Explain(key string) *api.Explanation {
	e := c.explain(key)
	if refusals := c.refusals.Load(); refusals != nil {
		addRefusals(e, *refusals)
	}
	return e
}

func (c *Control) explain(key string) *api.Explanation {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.reader().Explain(key)
}

// TellRefusals sets who tells, in explanations, what was refused before the
// scheduler heard of it.
func (c *Control) TellRefusals(r api.Refusals) { c.refusals.Store(&r) }

// addRefusals is called without locks: others are asked.
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

// GetTransactionHistory implements api.Inspector.
func (c *Control) GetTransactionHistory(since, until time.Time) []*api.RecordedTxn {
	return c.history.Window(since, until)
}

// GetRecordedTransaction implements api.Inspector.
func (c *Control) GetRecordedTransaction(seqNum uint64) *api.RecordedTxn {
	return c.history.Get(seqNum)
}

// DumpValuesByDescriptor implements api.Inspector.
func (c *Control) DumpValuesByDescriptor(descriptor string, view api.View) ([]api.KVWithMetadata, error) {
	d := c.registry.Load().ByName(descriptor)
	if d == nil {
		return nil, fmt.Errorf("descriptor %q: not registered", descriptor)
	}
	return c.dump(d, view)
}

// DumpValuesByKeyPrefix implements api.Inspector.
func (c *Control) DumpValuesByKeyPrefix(prefix string, view api.View) ([]api.KVWithMetadata, error) {
	d := c.registry.Load().ByNBKeyPrefix(prefix)
	if d == nil {
		return nil, fmt.Errorf("key prefix %q: no descriptor is registered for it", prefix)
	}
	return c.dump(d, view)
}

func (c *Control) dump(d *registry.Descriptor, view api.View) (kvs []api.KVWithMetadata, err error) {
	switch view {
	case api.SBView:
		// Callbacks run in the worker only, so that they never overlap.
		werr := c.onWorker(context.Background(), func() { kvs, err = c.refresher(c.closedSessions()).Descriptor(d) })
		slices.SortFunc(kvs, func(a, b api.KVWithMetadata) int { return strings.Compare(a.Key, b.Key) })
		return kvs, errors.Join(werr, err)
	case api.NBView, api.CachedView:
		c.mu.RLock()
		defer c.mu.RUnlock()
		return c.dumpGraph(d, view), nil
	}
	return nil, fmt.Errorf("view %q: expected SB, NB or cached", view)
}

func (c *Control) dumpGraph(d *registry.Descriptor, view api.View) []api.KVWithMetadata {
	var all parts[api.KVWithMetadata]
	c.graph.Batches(d.NBKeyPrefix, func(nodes []*graph.Node) {
		for _, n := range nodes {
			if n.Desc != d || n.IsDerived() {
				continue
			}
			v := n.Have
			if view == api.NBView {
				v = n.Desired()
			}
			if v != nil {
				all.add(api.KVWithMetadata{Key: n.Key, Value: v.Msg, Metadata: n.Meta, Origin: status.Origin(n)})
			}
		}
	})
	return all.joined()
}

// parts is a list of unknown length. What is appended to a slice is copied every
// time that this grows by a quarter; here it is once.
type parts[T any] struct {
	full [][]T
	last []T
}

const (
	firstPart = 64
	lastPart  = 8192
)

func (p *parts[T]) add(v T) {
	if len(p.last) == cap(p.last) {
		if len(p.last) > 0 {
			p.full = append(p.full, p.last)
		}
		p.last = make([]T, 0, min(max(firstPart, 2*len(p.last)), lastPart))
	}
	p.last = append(p.last, v)
}

func (p *parts[T]) joined() []T {
	if len(p.full) == 0 {
		return p.last
	}
	return slices.Concat(append(p.full, p.last)...)
}

// ValidateSemantically implements api.Inspector.
func (c *Control) ValidateSemantically(messages []proto.Message) error {
	reg := c.registry.Load()
	var invalid []*api.InvalidMessageError
	for _, msg := range messages {
		invalid = append(invalid, validate(reg, msg)...)
	}
	if len(invalid) == 0 {
		return nil
	}
	return &api.InvalidMessagesError{MessageErrors: invalid}
}

// validate finds the descriptor by the type of the message, and by its key if
// the descriptor can tell it.
func validate(reg *registry.Registry, msg proto.Message) (invalid []*api.InvalidMessageError) {
	name := string(msg.ProtoReflect().Descriptor().FullName())
	for _, d := range reg.All() {
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
