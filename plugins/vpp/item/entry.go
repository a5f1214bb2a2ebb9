package item

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

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
// entry, one removes it, a dump lists all, and a few fields distinguish entries. It says once
// how a value translates into an entry; the validation, the dependencies, the comparison,
// the operations and the reading back follow from that.
//
// V is the message of the item. E is the entry as the binary API has it, often a struct of
// the generated bindings. It has everything that VPP has of the item and nothing else, so
// that two values are equivalent exactly if their entries are equal (see Equal).
// K distinguishes entries.
type Entry[V proto.Message, E any, K comparable] struct {
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
	// ID returns what distinguishes an entry from others, usually the entry with a few of its fields.
	ID func(e E) K
	// Identities lists what VPP has once and the key does not contain; see kvs.Descriptor. Default:
	// none. Optional.
	Identities func(v V) []string
	// Value translates an entry that VPP has into a value, with the names of n.
	Value func(n *Names, e E) V
	// Equal reports that two entries are the same for VPP, or differ only in what it does not
	// list. Default: reflect.DeepEqual.
	Equal func(a, b E) bool
	// Changeable reports that VPP gives an entry new parameters when it is added again.
	// Default: an entry is removed before the changed one is added.
	Changeable func(old, e E) bool
	// Update changes entries in place and returns one error for each, where adding an entry
	// again does not; it needs Changeable.
	Update func(ctx context.Context, old, entries []E) []error
	// Set and All take the place of Operation where the entries need more than requests. Set turns
	// old into e, where nil is no entry, one entry at a time; All lists the entries. An update
	// needs Changeable.
	Set func(ctx context.Context, old, e *E) error
	All func(ctx context.Context) ([]E, error)
	// Complete finishes an entry with more requests after its addition. If it fails, it leaves
	// no entry.
	Complete func(ctx context.Context, e E) error
	// Check returns why an entry must not be added, where VPP would not refuse it or not
	// cleanly.
	Check func(ctx context.Context, v V, e E) error
	// Add adds an entry that VPP has no request for, after Check. It returns false for an entry that
	// Operation adds. Optional.
	Add func(ctx context.Context, e E) (added bool, err error)
	// Metadata returns the metadata of an entry. Default: values have none.
	Metadata func(e E) kvs.Metadata
	// Learned reports that VPP may have made the entry by itself, so that it is only of
	// interest if it is expected.
	Learned func(e E) bool
	// Implicit reports that VPP has the entry without a value, so that it is not reported
	// unless it is expected. Default: it has none.
	Implicit func(e E) bool
	// Assume takes the settings that VPP does not report from an expected entry.
	// Optional.
	Assume func(found, expected E) E
	// Layer2 returns the index of the interface whose feature of layer 2 an entry is; false if it is
	// none. It is set again when the interface leaves layer 2; see session.VPP.OnLeaveLayer2. Optional.
	Layer2 func(e E) (swIfIndex uint32, is bool)
	// Exists are the answers of VPP to the addition of an entry when it has another one
	// with the same ID. That one is then removed.
	Exists []api.VPPApiError
	// Gone are the answers of VPP to the removal of an entry that does not exist.
	Gone []api.VPPApiError
	// Explain says what answers of VPP to an addition or change mean: the field that is
	// wrong, and what is wrong with it.
	Explain map[api.VPPApiError]string
	// After names the descriptors whose metadata Resolve and Value need, in addition to the
	// metadata of interfaces.
	After []string
}

// NewEntry returns the descriptor of a type. ifs may be nil if its values name no interfaces.
func NewEntry[V proto.Message, E any, K comparable](vpp *session.VPP, ifs Interfaces, t Entry[V, E, K]) *kvs.KVDescriptor {
	d := &entries[V, E, K]{
		Entry: t, translation: translation[V, E, K]{Resolution[V, E]{Interfaces: ifs, Resolve: t.Resolve}, vpp, t.Model, t.ID, t.Value, t.Equal, t.Learned, t.Implicit, t.Assume},
		added: session.NewState(newAdditions[K, E]),
	}
	out := kvs.Descriptor[V, kvs.Metadata]{
		Name:                 t.Name,
		Southbound:           Southbound,
		WithMetadata:         t.Metadata != nil,
		Validate:             d.Validate,
		Dependencies:         d.Dependencies,
		Identities:           identitiesOf(t.Identities),
		ValueComparator:      d.same,
		CreateBatch:          d.create,
		DeleteBatch:          d.remove,
		RetrieveContext:      d.retrieve,
		RetrieveDependencies: d.after(t.After),
		ConcurrentRetrieve:   true,
		Concurrency:          concurrency,
	}
	if t.All == nil && t.Operation != nil {
		out.SessionOnly = d.unlisted
	}
	if t.Changeable != nil {
		out.UpdateBatch, out.UpdateWithRecreate = d.create, d.recreate
	}
	if t.Update != nil {
		out.UpdateBatch = d.update
	}
	if t.Set != nil {
		d.oneByOne(&out)
	}
	if t.Layer2 != nil {
		vpp.OnLeaveLayer2(d.restoreLayer2)
	}
	return kvs.Adapt(kvs.Describe(t.Model, out))
}

type entries[V proto.Message, E any, K comparable] struct {
	Entry[V, E, K]
	translation[V, E, K]
	added *session.State[additions[K, E]]

	layer2 sync.RWMutex // held for writing by restoreLayer2
	used   atomic.Bool  // there has been an entry
}

type (
	value[V proto.Message] = kvs.BatchValue[V, kvs.Metadata]
	result                 = kvs.BatchResult[kvs.Metadata]
)

func (d *entries[V, E, K]) recreate(_ string, old, v V, _ kvs.Metadata) bool {
	x, y, ok := d.Both(old, v)
	return !ok || d.id(x) != d.id(y) || !d.Changeable(x, y)
}

// oneByOne replaces the callbacks for batches.
func (d *entries[V, E, K]) oneByOne(out *kvs.Descriptor[V, kvs.Metadata]) {
	out.CreateBatch, out.DeleteBatch, out.Concurrency, out.ConcurrentRetrieve = nil, nil, 0, false
	out.CreateContext = func(ctx context.Context, key string, v V) (kvs.Metadata, error) { return d.set(ctx, key, nil, &v) }
	out.DeleteContext = func(ctx context.Context, key string, v V, _ kvs.Metadata) error {
		_, err := d.set(ctx, key, &v, nil)
		return err
	}
	if out.UpdateBatch != nil {
		out.UpdateBatch = nil
		out.UpdateContext = func(ctx context.Context, key string, old, v V, _ kvs.Metadata) (kvs.Metadata, error) {
			return d.set(ctx, key, &old, &v)
		}
	}
}

// set turns an old value into a new one; nil is none.
func (d *entries[V, E, K]) set(ctx context.Context, key string, old, v *V) (kvs.Metadata, error) {
	var from, to *E
	var r result
	if old != nil {
		e, err := d.found(key, *old, func() (E, error) { return d.Was(*old) })
		if err != nil {
			return nil, err
		}
		from = &e
	}
	if v != nil {
		e, err := d.Live(*v)
		if err != nil {
			return nil, err
		}
		to = &e
	}
	if r.Err = d.Set(ctx, from, to); to != nil {
		d.finish(&r, *to)
	}
	return r.Metadata, r.Err
}

func (d *entries[V, E, K]) create(ctx context.Context, values []value[V]) []result {
	results, entries := d.change(ctx, values, true)
	for i := range results {
		if is(results[i].Err, d.Exists) {
			results[i].Err = d.replace(ctx, entries[i])
		}
		if results[i].Err == nil && d.Complete != nil {
			results[i].Err = d.Complete(ctx, entries[i])
		}
		d.finish(&results[i], entries[i])
	}
	return results
}

// finish completes the result of an addition or change.
func (d *entries[V, E, K]) finish(r *result, e E) {
	if r.Err = explained(r.Err, d.Explain); r.Err == nil && d.Metadata != nil {
		r.Metadata = d.Metadata(e)
	}
}

// update changes the entries of a batch that can be resolved.
func (d *entries[V, E, K]) update(ctx context.Context, values []value[V]) []result {
	results := make([]result, len(values))
	var old, entries []E
	var sent []int
	for i := range values {
		from, err := d.Live(values[i].Old)
		if err == nil {
			var to E
			if to, err = d.Live(values[i].New); err == nil {
				old, entries, sent = append(old, from), append(entries, to), append(sent, i)
			}
		}
		results[i].Err = err
	}
	for n, err := range d.Update(ctx, old, entries) {
		results[sent[n]].Err = err
		d.note(entries[n], true, err)
		d.finish(&results[sent[n]], entries[n])
	}
	return results
}

// replace removes the entry that exists, and adds another one.
func (d *entries[V, E, K]) replace(ctx context.Context, e E) error {
	if err := d.send(ctx, e, false); err != nil && !session.Gone(err, d.Gone...) {
		return fmt.Errorf("remove the entry that exists: %w", err)
	}
	return d.send(ctx, e, true)
}

func (d *entries[V, E, K]) send(ctx context.Context, e E, add bool) error {
	do, err := d.Operation.On(d.vpp)
	if err != nil {
		return err
	}
	req, reply := do.Change(e, add)
	return d.vpp.Call(ctx, req, reply)
}

func (d *entries[V, E, K]) remove(ctx context.Context, values []value[V]) []result {
	results, _ := d.change(ctx, values, false)
	return results
}

// change sends the entries of a batch that can be resolved.
func (d *entries[V, E, K]) change(ctx context.Context, values []value[V], add bool) ([]result, []E) {
	d.layer2.RLock()
	defer d.layer2.RUnlock()
	d.used.Store(true)
	do, err := d.Operation.On(d.vpp)
	results, entries, ready := d.resolved(ctx, values, add, err)
	if add && do.Reset != nil {
		ready = d.reset(ctx, do, values, entries, ready, results)
	}
	requests, replies, sent := d.requests(do, values, entries, ready, add)
	for n, err := range d.vpp.CallAll(ctx, requests, replies) {
		i := sent[n]
		if !add && session.Gone(err, d.Gone...) {
			err = nil
		}
		if results[i].Err == nil {
			results[i].Err = err
		}
	}
	for _, i := range ready {
		if results[i].Err != nil && isCreated(values[i]) {
			undo, to := do.undo(entries[i])
			d.vpp.CallAll(ctx, undo, to) // as far as it was added
		}
		d.note(entries[i], add, results[i].Err)
	}
	return results, entries
}

// resolved returns the entries of a batch, and which of its values are to be sent if VPP has the
// operation; unsupported is the error if it has not.
func (d *entries[V, E, K]) resolved(ctx context.Context, values []value[V], add bool, unsupported error) (results []result, entries []E, ready []int) {
	results, entries = make([]result, len(values)), make([]E, len(values))
	for i := range values {
		v := values[i].New
		if !add {
			v = values[i].Old
		}
		if results[i].Err = unsupported; unsupported != nil {
			continue
		}
		if entries[i], results[i].Err = d.live(values[i].Key, v, add); results[i].Err != nil {
			if !add && d.unlisted() && isMissing(results[i].Err) {
				results[i].Err = nil // it was assumed to exist
			}
			continue
		}
		if add && d.Check != nil {
			results[i].Err = d.Check(ctx, v, entries[i])
		}
		added := false
		if add && d.Add != nil && results[i].Err == nil {
			added, results[i].Err = d.Add(ctx, entries[i])
		}
		if results[i].Err == nil && !added {
			ready = append(ready, i)
		}
	}
	return results, entries, ready
}

// live returns the entry of a value that is added or removed.
func (d *entries[V, E, K]) live(key string, v V, add bool) (E, error) {
	resolve := func() (E, error) { return d.Live(v) }
	if add {
		return resolve()
	}
	return d.found(key, v, resolve)
}

func isCreated[V proto.Message](v value[V]) bool { return !v.Old.ProtoReflect().IsValid() }

// requests returns the requests that add, change or remove the entries of the values that are
// ready, messages for the replies, and the value that each is for.
func (d *entries[V, E, K]) requests(do Variant[E], values []value[V], entries []E, ready []int, add bool) (requests, replies []api.Message, sent []int) {
	for _, i := range ready {
		if do.Requests == nil {
			request, reply := do.Change(entries[i], add)
			requests, replies, sent = append(requests, request), append(replies, reply), append(sent, i)
			continue
		}
		var several, to []api.Message
		switch {
		case !add:
			several, to = do.Requests(&entries[i], nil)
		case isCreated(values[i]):
			several, to = do.Requests(nil, &entries[i])
		default:
			old, _ := d.Live(values[i].Old) // VPP may have what no value may say
			several, to = do.Requests(&old, &entries[i])
		}
		requests, replies = append(requests, several...), append(replies, to...)
		sent = append(sent, slices.Repeat([]int{i}, len(several))...)
	}
	return requests, replies, sent
}

// reset removes existing entries of the values that are created from VPP, and returns the values
// that can be added then.
func (d *entries[V, E, K]) reset(ctx context.Context, do Variant[E], values []value[V], entries []E, ready []int, results []result) []int {
	var requests, replies []api.Message
	var sent []int
	for _, i := range ready {
		if isCreated(values[i]) {
			reqs, replyTo := do.Reset(entries[i])
			requests, replies = append(requests, reqs...), append(replies, replyTo...)
			sent = append(sent, slices.Repeat([]int{i}, len(reqs))...)
		}
	}
	for n, err := range d.vpp.CallAll(ctx, requests, replies) {
		if results[sent[n]].Err == nil && !session.Gone(err, d.Gone...) {
			results[sent[n]].Err = err
		}
	}
	return slices.DeleteFunc(ready, func(i int) bool { return results[i].Err != nil })
}

// explained adds to an error what it means.
func explained(err error, explain map[api.VPPApiError]string) error {
	var answer api.VPPApiError
	if errors.As(err, &answer) && explain[answer] != "" {
		return fmt.Errorf("%s: %w", explain[answer], err)
	}
	return err
}

func is(err error, targets []api.VPPApiError) bool {
	for _, t := range targets {
		if errors.Is(err, t) {
			return true
		}
	}
	return false
}

func (d *entries[V, E, K]) retrieve(ctx context.Context, correlate []kvs.KV[V, kvs.Metadata]) ([]kvs.KV[V, kvs.Metadata], error) {
	all, err := d.dump(ctx)
	if err != nil {
		return nil, err
	}
	if len(all) > 0 {
		d.used.Store(true)
	}
	expected := make(map[K]wanted[V, E], len(correlate))
	for _, c := range certainFirst(correlate) {
		d.expect(expected, c.Key, c.Value)
	}
	var out []kvs.KV[V, kvs.Metadata]
	err = d.recognized(ctx, all, expected, func(i int, key string, v V, origin kvs.ValueOrigin) {
		kv := kvs.KV[V, kvs.Metadata]{Key: key, Value: v, Origin: origin}
		if d.Metadata != nil {
			kv.Metadata = d.Metadata(all[i])
		}
		out = append(out, kv)
	})
	return out, err
}

// unlisted reports whether this VPP has the operation, and no request that lists the entries.
func (d *entries[V, E, K]) unlisted() bool {
	do, err := d.Operation.On(d.vpp)
	return err == nil && do.Unlisted
}

// dump returns all entries; a VPP without the operation has none.
func (d *entries[V, E, K]) dump(ctx context.Context) ([]E, error) {
	if d.All != nil {
		all, err := d.All(ctx)
		return all, IgnoreUnsupported(err)
	}
	do, err := d.Operation.On(d.vpp)
	if err != nil {
		return nil, IgnoreUnsupported(err)
	}
	if do.Unlisted {
		return d.listAdded()
	}
	return dumpAll(ctx, d.vpp, do.Dumps)
}

// IgnoreUnsupported returns nil for the error of an operation that VPP lacks: it has nothing
// to report.
func IgnoreUnsupported(err error) error {
	if errors.Is(err, binding.ErrUnsupported) {
		return nil
	}
	return err
}
