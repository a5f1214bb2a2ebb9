package item

import (
	"context"
	"errors"
	"fmt"

	"go.fd.io/govpp/api"
	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/infra/models"
	"github.com/tenuto-dev/tenuto/plugins/govppmux/binding"
	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
)

// concurrency is how many entries may be in flight at a time: they are independent of
// each other.
const concurrency = 256

// Entry describes a type of item that VPP keeps as entries of a table: one request adds an
// entry, one removes it, a dump lists all, and a few fields tell entries apart. It says once
// how a value translates into an entry; the validation, the dependencies, the comparison,
// the operations and the reading back follow from that.
//
// V is the message of the item. E is the entry as the binary API has it, often a struct of
// the generated bindings. It has everything that VPP has of the item and nothing else, so
// that two values are equivalent exactly if their entries are equal.
type Entry[V proto.Message, E comparable] struct {
	// Name of the descriptor.
	Name string
	// Model places the values in the key space.
	Model models.Model[V]
	// Operation is how VPP handles the entries; see Declare.
	Operation *session.Operation[Variant[E]]
	// Resolve translates a value into its entry. It calls the methods of r for fields
	// that may be invalid or name something; r collects errors and dependencies. It must
	// be pure otherwise.
	Resolve func(r *Resolver, v V) E
	// ID returns the entry with only the fields that tell entries apart.
	ID func(e E) E
	// Value translates an entry that VPP has into a value, with the names of n.
	Value func(n *Names, e E) V
	// Changeable reports that VPP gives an entry new parameters when it is added again.
	// Default: an entry is removed before the changed one is added.
	Changeable func(old, e E) bool
	// Learned reports that VPP may have made the entry by itself, so that it is only of
	// interest if it is expected. If set, an entry that is not expected has an unknown
	// origin; otherwise all entries are those of the agent.
	Learned func(e E) bool
	// Exists are the answers of VPP to the addition of an entry when it has another one
	// with the same ID. That one is then removed.
	Exists []api.VPPApiError
	// Gone are the answers of VPP to the removal of an entry that does not exist.
	Gone []api.VPPApiError
	// After names the descriptors whose metadata Resolve and Value need, besides that of
	// interfaces.
	After []string
}

// NewEntry returns the descriptor of a type. ifs may be nil if its values name no interfaces.
func NewEntry[V proto.Message, E comparable](vpp *session.VPP, ifs Interfaces, t Entry[V, E]) *kvs.KVDescriptor {
	d := &entries[V, E]{Entry: t, vpp: vpp, ifs: ifs}
	out := kvs.Descriptor[V, kvs.Metadata]{
		Name:                 t.Name,
		Southbound:           Southbound,
		Validate:             d.validate,
		Dependencies:         d.dependencies,
		ValueComparator:      d.same,
		CreateBatch:          d.create,
		DeleteBatch:          d.remove,
		RetrieveContext:      d.retrieve,
		RetrieveDependencies: t.After,
		ConcurrentRetrieve:   true,
		Concurrency:          concurrency,
	}
	if ifs != nil {
		out.RetrieveDependencies = append([]string{InterfaceName}, t.After...)
	}
	if t.Changeable != nil {
		out.UpdateBatch, out.UpdateWithRecreate = d.create, d.recreate
	}
	return kvs.Adapt(kvs.Describe(t.Model, out))
}

type entries[V proto.Message, E comparable] struct {
	Entry[V, E]

	vpp *session.VPP
	ifs Interfaces
}

type (
	value[V proto.Message] = kvs.BatchValue[V, kvs.Metadata]
	result                 = kvs.BatchResult[kvs.Metadata]
	kv[V proto.Message]    = kvs.KV[V, kvs.Metadata]
)

func (d *entries[V, E]) validate(_ string, v V) error {
	r := &Resolver{}
	d.Resolve(r, v)
	return errors.Join(r.errs...)
}

func (d *entries[V, E]) dependencies(_ string, v V) []kvs.Dependency {
	r := &Resolver{}
	d.Resolve(r, v)
	return r.deps
}

// same compares entries for which equal names have equal numbers. A value that cannot be
// an entry equals none.
func (d *entries[V, E]) same(_ string, a, b V) bool {
	r := &Resolver{}
	x, y := d.Resolve(r, a), d.Resolve(r, b)
	return len(r.errs) == 0 && x == y
}

func (d *entries[V, E]) recreate(_ string, old, v V, _ kvs.Metadata) bool {
	r := &Resolver{}
	x, y := d.Resolve(r, old), d.Resolve(r, v)
	return d.ID(x) != d.ID(y) || !d.Changeable(x, y)
}

// resolve translates a value into its entry in VPP.
func (d *entries[V, E]) resolve(v V) (E, error) {
	r := &Resolver{vpp: true, ifs: d.ifs}
	e := d.Resolve(r, v)
	return e, errors.Join(r.errs...)
}

func (d *entries[V, E]) create(ctx context.Context, values []value[V]) []result {
	results, entries := d.change(ctx, values, true)
	for i := range results {
		if is(results[i].Err, d.Exists) {
			results[i].Err = d.replace(ctx, entries[i])
		}
	}
	return results
}

// replace adds an entry in the place of another one.
func (d *entries[V, E]) replace(ctx context.Context, e E) error {
	if err := d.send(ctx, e, false); err != nil && !session.Gone(err, d.Gone...) {
		return fmt.Errorf("remove the entry that exists: %w", err)
	}
	return d.send(ctx, e, true)
}

func (d *entries[V, E]) send(ctx context.Context, e E, add bool) error {
	do, err := d.Operation.On(d.vpp)
	if err != nil {
		return err
	}
	req, reply := do.Change(e, add)
	return d.vpp.Call(ctx, req, reply)
}

func (d *entries[V, E]) remove(ctx context.Context, values []value[V]) []result {
	results, _ := d.change(ctx, values, false)
	for i := range results {
		if session.Gone(results[i].Err, d.Gone...) {
			results[i].Err = nil
		}
	}
	return results
}

// change sends the entries of a batch that can be resolved.
func (d *entries[V, E]) change(ctx context.Context, values []value[V], add bool) ([]result, []E) {
	results, entries := make([]result, len(values)), make([]E, len(values))
	do, err := d.Operation.On(d.vpp)
	var requests, replies []api.Message
	var sent []int
	for i := range values {
		v := values[i].New
		if !add {
			v = values[i].Old
		}
		if results[i].Err = err; err != nil {
			continue
		}
		if entries[i], results[i].Err = d.resolve(v); results[i].Err != nil {
			continue
		}
		req, reply := do.Change(entries[i], add)
		requests, replies, sent = append(requests, req), append(replies, reply), append(sent, i)
	}
	for n, err := range d.vpp.CallAll(ctx, requests, replies) {
		results[sent[n]].Err = err
	}
	return results, entries
}

func is(err error, targets []api.VPPApiError) bool {
	for _, t := range targets {
		if errors.Is(err, t) {
			return true
		}
	}
	return false
}

func (d *entries[V, E]) retrieve(ctx context.Context, correlate []kv[V]) ([]kv[V], error) {
	all, err := d.dump(ctx)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	expected := d.expected(correlate)
	n := &Names{}
	if d.ifs != nil {
		n.snapshot = d.ifs.Snapshot(ctx)
	}
	var out []kv[V]
	for _, e := range all {
		w, ok := expected[d.ID(e)]
		if !ok && d.Learned != nil && d.Learned(e) {
			continue
		}
		n.unknown = false
		found := d.found(n, e)
		if n.unknown {
			continue
		}
		if ok {
			found.Key, found.Origin = w.Key, kvs.FromNB
			if w.entry == e {
				found.Value = w.Value // in its spelling
			}
		}
		out = append(out, found)
	}
	return out, n.err()
}

// found is what is read of an entry that is not expected.
func (d *entries[V, E]) found(n *Names, e E) (out kv[V]) {
	out.Value, out.Origin = d.Value(n, e), kvs.FromNB
	if d.Learned != nil {
		out.Origin = kvs.UnknownOrigin
	}
	if !n.unknown {
		out.Key = d.Model.Key(out.Value)
	}
	return out
}

type wanted[V proto.Message, E comparable] struct {
	kv[V]

	entry E
}

// expected returns the values to recognise, by the IDs of their entries. Of several values
// of one entry the first counts.
func (d *entries[V, E]) expected(correlate []kv[V]) map[E]wanted[V, E] {
	out := make(map[E]wanted[V, E], len(correlate))
	for _, c := range correlate {
		e, err := d.resolve(c.Value)
		if err != nil {
			continue // what it names is not in VPP, so it is not there either
		}
		if _, twice := out[d.ID(e)]; !twice {
			out[d.ID(e)] = wanted[V, E]{c, e}
		}
	}
	return out
}

// dump returns all entries; a VPP without the operation has none.
func (d *entries[V, E]) dump(ctx context.Context) ([]E, error) {
	do, err := d.Operation.On(d.vpp)
	switch {
	case errors.Is(err, binding.ErrUnsupported):
		return nil, nil
	case err != nil:
		return nil, err
	}
	var all []E
	for _, dump := range do.Dumps {
		found, err := dump.read(ctx, d.vpp)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}
