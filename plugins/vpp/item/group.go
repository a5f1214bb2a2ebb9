package item

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"go.fd.io/govpp/api"
	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/infra/models"
	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
)

// Group describes a type of item that VPP keeps as any number of parts: one request adds a
// part, one removes it, and a list has the parts of all items. A change adds and removes the
// parts that differ, and leaves the others alone. Unlike a Set it is for very many parts: they
// are read only to find the state of all items, and are changed in batches.
//
// V is the message of the item, P a part with everything that VPP has of it, K what VPP has
// once.
type Group[V proto.Message, P, K comparable] struct {
	// Name of the descriptor.
	Name string
	// Model places the values in the key space.
	Model models.Model[V]
	// Derived selects the keys of values that are derived from others, which have no model and
	// are read back with their base value. Default: the keys of the model.
	Derived func(key string) bool
	// Resolve translates a value into its parts, as in Entry. No two have the same ID.
	Resolve func(r *Resolver, v V) []P
	// Parts is how the VPP that is connected handles the parts. An error wraps
	// binding.ErrUnsupported if it cannot. A result of nil means that it can have none at present.
	Parts func() (*PartCalls[P], error)
	// ID returns what distinguishes a part from others.
	ID func(p P) K
	// Once returns what VPP has once of a part, whatever item it belongs to, where the key does not
	// contain it; parts are compared by it and its type. Default: nothing.
	Once func(p P) any
	// Listed returns a part as the list has it. Default: with all of its fields.
	Listed func(p P) P
	// Key returns the key of the value that a part belongs to if no value is expected to
	// have it; "" if it is none of the agent's.
	Key func(n *Names, p P) string
	// Nameless describes a part for which Key returns "" because the key needs a mark that the part
	// lacks. object is the key of its foreign part, whose text names it. Default: such parts are of no
	// interest.
	Nameless func(n *Names, p P) (object, text string)
	// Value translates the parts that VPP has of a value, all with the same Key or expected,
	// into a value.
	Value func(n *Names, parts []P) V
	// DerivedValues of a value; see kvs.Descriptor.
	DerivedValues func(key string, v V) []kvs.KeyValuePair
	// Recreate reports that a value is deleted and created again for a change. Default: its
	// parts are changed.
	Recreate func(old, v V) bool
	// AddFirst has the parts that a change adds added before the others are removed. If one of
	// them cannot be added, none is removed. Default: they are removed first, for they may be in
	// the way.
	AddFirst bool
	// PartName names a part in the error of its addition or removal. Optional.
	PartName func(p P) string
	// Around runs the changes of a batch, and may prepare VPP for them. Its error becomes the error of
	// each value. Default: it runs the changes.
	Around func(ctx context.Context, changes func()) error
	// Taken returns the error of a part that the value with another key has. If set, a part
	// that VPP has, but no value, is replaced. Default: VPP says whether it has the part.
	Taken func(p P, key string) error
	// Exists are the answers of VPP to the addition of a part that it has.
	Exists []api.VPPApiError
	// Gone, Explain and After are as in Entry.
	Gone    []api.VPPApiError
	Explain map[api.VPPApiError]string
	After   []string
}

// PartCalls is how VPP handles parts.
type PartCalls[P any] struct {
	// Change returns the request that adds or removes a part, and a message for the reply.
	Change func(p P, add bool) (request, reply api.Message)
	// Answer returns the error that a reply without an error retval reports. Optional.
	Answer func(reply api.Message) error
	// List returns the parts that VPP has.
	List func(ctx context.Context) ([]P, error)
}

// NewGroup returns the descriptor of a type. ifs may be nil if its values name no interfaces.
func NewGroup[V proto.Message, P, K comparable](vpp *session.VPP, ifs Interfaces, t Group[V, P, K]) *kvs.KVDescriptor {
	if t.Listed == nil {
		t.Listed = func(p P) P { return p }
	}
	d := &groups[V, P, K]{Group: t, resolver: translation[V, []P, K]{Resolution: Resolution[V, []P]{Interfaces: ifs, Resolve: t.Resolve}, vpp: vpp}, has: session.NewState(func() *owners[K] {
		return &owners[K]{of: map[K]string{}}
	})}
	out := kvs.Descriptor[V, kvs.Metadata]{
		Name:            t.Name,
		Southbound:      Southbound,
		Validate:        d.resolver.Validate,
		Dependencies:    d.resolver.Dependencies,
		Identities:      d.identities(),
		ValueComparator: d.same,
		CreateBatch:     d.change,
		UpdateBatch:     d.change,
		DeleteBatch:     d.change,
		Concurrency:     concurrency,
		DerivedValues:   t.DerivedValues,
		UpdateWithRecreate: func(_ string, old, v V, _ kvs.Metadata) bool {
			return t.Recreate != nil && t.Recreate(old, v)
		},
	}
	if t.Derived != nil {
		out.KeySelector = t.Derived
		return kvs.Adapt(&out)
	}
	out.RetrieveContext, out.ConcurrentRetrieve = d.retrieve, true
	out.RetrieveDependencies = d.resolver.after(t.After)
	return kvs.Adapt(kvs.Describe(t.Model, out))
}

// identities returns the Identities of the descriptor; nil without Once.
func (d *groups[V, P, K]) identities() func(key string, v V) []string {
	if d.Once == nil {
		return nil
	}
	return func(_ string, v V) (all []string) {
		r := &Resolver{hashes: true}
		for _, p := range d.Resolve(r, v) {
			once := d.Once(p)
			all = append(all, fmt.Sprintf("%T/%v", once, once))
		}
		return all
	}
}

// identitiesOf makes the Identities of a descriptor; nil stays nil.
func identitiesOf[V any](f func(v V) []string) func(key string, v V) []string {
	if f == nil {
		return nil
	}
	return func(_ string, v V) []string { return f(v) }
}

type groups[V proto.Message, P, K comparable] struct {
	Group[V, P, K]
	resolver translation[V, []P, K]
	has      *session.State[owners[K]]
}

// owners are the keys of the values that have the parts, where VPP does not report.
type owners[K comparable] struct {
	mu sync.Mutex
	of map[K]string
}

func (d *groups[V, P, K]) same(_ string, a, b V) bool {
	x, y, ok := d.resolver.Both(a, b)
	return ok && SameParts(x, y)
}

// SameParts reports that two lists have the same parts, each once, whatever their order.
func SameParts[P comparable](a, b []P) bool {
	return len(a) == len(b) && len(Without(a, b)) == 0
}

// Without returns the parts of a that b does not have.
func Without[P comparable](a, b []P) (out []P) {
	if len(b) == 0 {
		return a
	}
	in := make(map[P]bool, len(b))
	for _, p := range b {
		in[p] = true
	}
	for _, p := range a {
		if !in[p] {
			out = append(out, p)
		}
	}
	return out
}

// partsOf resolves a value into its parts; no value has none.
func partsOf[V proto.Message, P any](v V, resolve func(V) ([]P, error)) ([]P, error) {
	if !v.ProtoReflect().IsValid() {
		return nil, nil
	}
	return resolve(v)
}

// step is the addition or removal of a part, for one value of a batch.
type step[P any] struct {
	value int
	part  P
	add   bool
	err   error
}

// change turns the old value of each into the new one. The parts of all go to VPP together.
// What VPP did of a change that fails is reverted.
func (d *groups[V, P, K]) change(ctx context.Context, values []value[V]) []result {
	results := make([]result, len(values))
	do, err := d.Parts()
	owned, ownerErr := d.has.On(d.resolver.vpp)
	var steps []step[P]
	for i := range values {
		old, oldErr := partsOf(values[i].Old, d.resolver.Was)
		wanted, newErr := partsOf(values[i].New, d.resolver.Live)
		results[i].Err = errors.Join(err, ownerErr, oldErr, newErr)
		if do == nil && len(wanted) > 0 && results[i].Err == nil {
			results[i].Err = errors.New("VPP can have none at present")
		}
		if do == nil || results[i].Err != nil {
			continue
		}
		for _, p := range Without(old, wanted) {
			steps = append(steps, step[P]{value: i, part: p})
		}
		for _, p := range Without(wanted, old) {
			steps = append(steps, step[P]{value: i, part: p, add: true})
		}
	}
	if len(steps) == 0 {
		return results
	}
	run := func() { d.run(ctx, do, owned, values, steps, results) }
	if d.Around == nil {
		run()
		return results
	}
	if err := d.Around(ctx, run); err != nil {
		for i := range results {
			results[i].Err = errors.Join(results[i].Err, err)
		}
	}
	return results
}

// run makes the steps of a batch, and adds their errors to the results.
func (d *groups[V, P, K]) run(ctx context.Context, do *PartCalls[P], owned *owners[K], values []value[V], steps []step[P], results []result) {
	d.claim(owned, values, steps)
	steps = d.perform(ctx, do, steps)
	d.replace(ctx, do, steps)
	d.nameHolders(ctx, do, steps)
	failed := failedOf(steps)
	for _, s := range steps {
		results[s.value].Err = errors.Join(results[s.value].Err, s.err)
	}
	d.revert(ctx, do, steps, failed)
	d.release(owned, values, steps, failed)
}

// perform makes the steps, and returns those that it did not leave out.
func (d *groups[V, P, K]) perform(ctx context.Context, do *PartCalls[P], steps []step[P]) []step[P] {
	if !d.AddFirst {
		d.send(ctx, do, steps)
		return steps
	}
	var additions, removals []step[P]
	for _, s := range steps {
		if s.add {
			additions = append(additions, s)
		} else {
			removals = append(removals, s)
		}
	}
	d.send(ctx, do, additions)
	failed := failedOf(additions)
	removals = slices.DeleteFunc(removals, func(s step[P]) bool { return failed[s.value] })
	d.send(ctx, do, removals)
	return append(additions, removals...)
}

// failedOf returns the values that have a step with an error.
func failedOf[P any](steps []step[P]) map[int]bool {
	failed := map[int]bool{}
	for _, s := range steps {
		if s.err != nil {
			failed[s.value] = true
		}
	}
	return failed
}

// claim refuses the parts that other values have.
func (d *groups[V, P, K]) claim(owned *owners[K], values []value[V], steps []step[P]) {
	if d.Taken == nil {
		return
	}
	owned.mu.Lock()
	defer owned.mu.Unlock()
	for i := range steps {
		s := &steps[i]
		id, key := d.ID(s.part), values[s.value].Key
		switch other, has := owned.of[id]; {
		case !s.add:
		case has && other != key:
			s.err = d.Taken(s.part, other)
		default:
			owned.of[id] = key
		}
	}
}

// release gives back the parts that were removed or could not be added.
func (d *groups[V, P, K]) release(owned *owners[K], values []value[V], steps []step[P], failed map[int]bool) {
	if d.Taken == nil {
		return
	}
	owned.mu.Lock()
	defer owned.mu.Unlock()
	for _, s := range steps {
		if id := d.ID(s.part); s.add == failed[s.value] && owned.of[id] == values[s.value].Key {
			delete(owned.of, id)
		}
	}
	for _, s := range steps { // a part may be removed and added with other fields
		id := d.ID(s.part)
		if _, has := owned.of[id]; !has && s.add != failed[s.value] {
			owned.of[id] = values[s.value].Key
		}
	}
}

// send makes the steps that have no error yet.
func (d *groups[V, P, K]) send(ctx context.Context, do *PartCalls[P], steps []step[P]) {
	var requests, replies []api.Message
	var sent []int
	for i, s := range steps {
		if s.err == nil {
			req, reply := do.Change(s.part, s.add)
			requests, replies, sent = append(requests, req), append(replies, reply), append(sent, i)
		}
	}
	for n, err := range d.resolver.vpp.CallAll(ctx, requests, replies) {
		s := &steps[sent[n]]
		if err == nil && do.Answer != nil {
			err = do.Answer(replies[n])
		}
		if !s.add && session.Gone(err, d.Gone...) {
			err = nil
		}
		if s.err = explained(err, d.Explain); s.err != nil && d.PartName != nil {
			s.err = fmt.Errorf("%s: %w", d.PartName(s.part), s.err)
		}
	}
}

// replace removes conflicting parts that belong to no value, and adds the parts of the values.
func (d *groups[V, P, K]) replace(ctx context.Context, do *PartCalls[P], steps []step[P]) {
	if d.Taken == nil {
		return
	}
	for i := range steps {
		if s := &steps[i]; s.add && is(s.err, d.Exists) {
			again := []step[P]{{part: s.part}, {part: s.part, add: true}}
			d.send(ctx, do, again)
			s.err = errors.Join(again[0].err, again[1].err)
		}
	}
}

// nameHolders adds to the errors of additions which value has the part.
func (d *groups[V, P, K]) nameHolders(ctx context.Context, do *PartCalls[P], steps []step[P]) {
	refused := func(s step[P]) bool { return s.add && errors.As(s.err, new(api.VPPApiError)) }
	if d.Once == nil || d.Taken != nil || !slices.ContainsFunc(steps, refused) {
		return
	}
	all, err := do.List(ctx)
	if err != nil {
		return // the errors are complete without it
	}
	holders := make(map[any]P, len(all))
	for _, p := range all {
		holders[d.Once(p)] = p
	}
	n := d.resolver.names(ctx)
	for i := range steps {
		s := &steps[i]
		p, has := holders[d.Once(s.part)]
		if !has || !refused(*s) || d.ID(p) == d.ID(s.part) {
			continue
		}
		n.next()
		s.err = fmt.Errorf("%w: VPP has it for %s", s.err, cmp.Or(d.Key(n, p), "another client"))
	}
}

// revert undoes the steps of the values that failed. VPP may refuse that too; then the
// value is read back.
func (d *groups[V, P, K]) revert(ctx context.Context, do *PartCalls[P], steps []step[P], failed map[int]bool) {
	if len(failed) == 0 {
		return
	}
	var back []step[P]
	for i := len(steps) - 1; i >= 0; i-- {
		if s := steps[i]; failed[s.value] && s.err == nil {
			back = append(back, step[P]{part: s.part, add: !s.add})
		}
	}
	d.send(ctx, do, back)
}

func (d *groups[V, P, K]) retrieve(ctx context.Context, correlate []kvs.KV[V, kvs.Metadata]) ([]kvs.KV[V, kvs.Metadata], error) {
	do, err := d.Parts()
	if err != nil {
		return nil, IgnoreUnsupported(err)
	}
	if do == nil {
		return nil, nil
	}
	all, err := do.List(ctx)
	if err != nil {
		return nil, err
	}
	n := d.resolver.names(ctx)
	correlate = certainFirst(correlate)
	f := d.find(all, correlate)
	f.others(n)
	f.empty(correlate)
	d.note(f.owner)
	return f.values(n), n.err()
}

// note notes which values have parts.
func (d *groups[V, P, K]) note(owner map[K]string) {
	d.owners(func(of map[K]string) { maps.Copy(of, owner) })
}

// owners calls do with the keys of the values that are known to have parts.
func (d *groups[V, P, K]) owners(do func(of map[K]string)) {
	owned, err := d.has.On(d.resolver.vpp)
	if d.Taken == nil || err != nil {
		return
	}
	owned.mu.Lock()
	defer owned.mu.Unlock()
	do(owned.of)
}

// found is what VPP has, by the keys of the values.
type found[V proto.Message, P, K comparable] struct {
	d        *groups[V, P, K]
	left     map[K]P // parts of no value so far
	order    []K
	keys     []string
	parts    map[string][]P
	owner    map[K]string // of the parts of expected values
	known    map[K]string // owners of parts as they are known from before
	expected map[string][]candidate[V, P]
	foreign  Foreign[V, kvs.Metadata]
}

// candidate is a value that may exist, and its parts as they are listed.
type candidate[V proto.Message, P comparable] struct {
	value V
	parts []P
}

// find gives parts to the values that are expected to have them: first to those that VPP has
// completely, for others may want a part of theirs.
func (d *groups[V, P, K]) find(all []P, correlate []kvs.KV[V, kvs.Metadata]) *found[V, P, K] {
	f := &found[V, P, K]{
		d: d, left: make(map[K]P, len(all)), order: make([]K, 0, len(all)),
		parts: make(map[string][]P, len(correlate)), owner: map[K]string{}, expected: make(map[string][]candidate[V, P], len(correlate)),
	}
	for _, p := range all {
		f.left[d.ID(p)] = p
		f.order = append(f.order, d.ID(p))
	}
	d.owners(func(of map[K]string) { f.known = maps.Clone(of) })
	resolved := make([][]P, len(correlate))
	for i, c := range correlate {
		parts, err := partsOf(c.Value, d.resolver.Live)
		if err != nil {
			continue // what it names is not in VPP, so it is not either
		}
		for n := range parts {
			parts[n] = d.Listed(parts[n])
		}
		resolved[i] = parts
		f.expected[c.Key] = append(f.expected[c.Key], candidate[V, P]{kvs.WithoutUnmodeled(c.Value), parts})
		if f.complete(parts) {
			f.take(c.Key, parts)
		}
	}
	for i, c := range correlate {
		f.take(c.Key, resolved[i])
	}
	return f
}

// empty gives the values without parts their keys: they exist as soon as they are expected.
func (f *found[V, P, K]) empty(correlate []kvs.KV[V, kvs.Metadata]) {
	for _, c := range correlate {
		_, has := f.parts[c.Key]
		for _, e := range f.expected[c.Key] {
			if !has && len(e.parts) == 0 {
				f.parts[c.Key], has = []P{}, true
				f.keys = append(f.keys, c.Key)
			}
		}
	}
}

func (f *found[V, P, K]) complete(parts []P) bool {
	for _, p := range parts {
		if has, ok := f.left[f.d.ID(p)]; !ok || has != p {
			return false
		}
	}
	return len(parts) > 0
}

// take gives the parts that VPP has to the value with a key.
func (f *found[V, P, K]) take(key string, parts []P) {
	for _, p := range parts {
		id := f.d.ID(p)
		if has, ok := f.left[id]; ok && !f.ofAnother(id, key) {
			f.give(key, has)
			f.owner[id] = key
			delete(f.left, id)
		}
	}
}

// ofAnother reports that a part is of a value that is not looked for.
func (f *found[V, P, K]) ofAnother(id K, key string) bool {
	other, known := f.known[id]
	_, expected := f.expected[other]
	return known && other != key && !expected
}

func (f *found[V, P, K]) give(key string, p P) {
	if f.parts[key] == nil {
		f.keys = append(f.keys, key)
	}
	f.parts[key] = append(f.parts[key], p)
}

// others gives the rest to the values that it belongs to.
func (f *found[V, P, K]) others(n *Names) {
	for _, id := range f.order {
		p, ok := f.left[id]
		if !ok {
			continue
		}
		delete(f.left, id)
		if f.ofAnother(id, "") {
			continue
		}
		n.next()
		switch key := f.d.Key(n, p); {
		case n.unknown:
		case key != "":
			f.give(key, p)
		case f.d.Nameless != nil:
			object, text := f.d.Nameless(n, p)
			f.foreign.Add(object, f.d.Value(n, []P{p}), text)
		}
	}
}

// nameable returns the parts that refer to nothing without a name. The others are foreign parts, if
// they refer to an interface without a tag.
func (f *found[V, P, K]) nameable(n *Names, key string, parts []P) (named []P) {
	for _, p := range parts {
		n.next()
		v := f.d.Value(n, []P{p})
		if !n.unknown {
			named = append(named, p)
		} else if !n.gone {
			f.foreign.Add(key, v, strings.Join(n.untagged, ", "))
		}
	}
	return named
}

// values returns the values: in the spelling in which they are expected, if they are.
func (f *found[V, P, K]) values(n *Names) (out []kvs.KV[V, kvs.Metadata]) {
	for _, key := range f.keys {
		parts := f.parts[key]
		v, ok := f.as(n, key, parts)
		if !ok {
			if parts = f.nameable(n, key, parts); len(parts) == 0 {
				continue
			}
			v, _ = f.as(n, key, parts)
		}
		kv := kvs.KV[V, kvs.Metadata]{Key: key, Value: v, Origin: kvs.UnknownOrigin}
		if f.d.Nameless != nil || f.expected[key] != nil {
			kv.Origin = kvs.FromNB
		}
		out = append(out, kv)
	}
	return append(out, f.foreign.All...)
}

// as returns parts as a value, in the spelling in which it is expected, if it is; false if the parts
// refer to something without a name.
func (f *found[V, P, K]) as(n *Names, key string, parts []P) (v V, ok bool) {
	for _, c := range f.expected[key] {
		if SameParts(c.parts, parts) {
			return c.value, true
		}
	}
	n.next()
	if v = f.d.Value(n, parts); n.unknown {
		return v, false
	}
	if modeled, err := partsOf(v, f.d.resolver.Live); err == nil {
		for n := range modeled {
			modeled[n] = f.d.Listed(modeled[n])
		}
		markParts(v, parts, modeled, f.d.ID)
	}
	return v, true
}
