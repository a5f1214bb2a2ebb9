package refresh

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/graph"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/ownership"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/registry"
)

// Unconfirmed is what the scheduler made, in this life or in an earlier one, and has
// lost sight of: its southbound could not be read since then. What of it is
// found belongs to the scheduler, whatever the origin that its descriptor
// reports; descriptors also get it to recognise what is theirs. It has no lock.
type Unconfirmed struct {
	// Interrupted: the process before this one ended during a transaction.
	Interrupted bool

	made byDescriptor[*ownership.Record]
	lost map[string]bool // keys: made in this life
	gone []string

	doubted map[string]bool              // keys; see Doubt
	former  map[string]*ownership.Record // by key; see Former
	fresh   []*ownership.Record
	derived byDescriptor[bool] // see DoubtDerived

	removed byDescriptor[*ownership.Record]
	count   int // of removed
}

// NewUnconfirmed returns an empty Unconfirmed.
func NewUnconfirmed() *Unconfirmed {
	return &Unconfirmed{
		made: byDescriptor[*ownership.Record]{}, lost: map[string]bool{}, doubted: map[string]bool{},
		former: map[string]*ownership.Record{}, derived: byDescriptor[bool]{}, removed: byDescriptor[*ownership.Record]{},
	}
}

// byDescriptor has something for values, by the name of their descriptor and by key.
type byDescriptor[T any] map[string]map[string]T

func (all byDescriptor[T]) put(descriptor, key string, v T) {
	if all[descriptor] == nil {
		all[descriptor] = map[string]T{}
	}
	all[descriptor][key] = v
}

// maxRemoved limits the number of remembered removals that no reading has confirmed.
const maxRemoved = 10_000

// Remove remembers one value that was removed, for as long as nothing was read
// of its descriptor: if it is still there then, just so, its Delete did not do
// what it said, and the value is the scheduler's own.
func (u *Unconfirmed) Remove(rec *ownership.Record) {
	if u.count >= maxRemoved {
		return
	}
	if u.removed[rec.Descriptor][rec.Key] == nil {
		u.count++
	}
	u.removed.put(rec.Descriptor, rec.Key, rec)
}

// confirm forgets the removals of a descriptor, or of one of its keys.
func (u *Unconfirmed) confirm(descriptor, key string) {
	switch of := u.removed[descriptor]; {
	case key == "":
		u.count -= len(of)
		delete(u.removed, descriptor)
	case of[key] != nil:
		u.count--
		delete(of, key)
	}
}

// errStill is the error of a value that should have been removed.
var errStill = errors.New("was removed, as its descriptor said, and is still there")

// still reports whether a found value is one that should have been removed.
func (r *Refresher) still(d *registry.Descriptor, kv api.KVWithMetadata) bool {
	rec := r.Unconfirmed.removed[d.Name][kv.Key]
	r.Unconfirmed.confirm(d.Name, kv.Key)
	return rec != nil && d.Equivalent(kv.Key, kv.Value, rec.Value)
}

// Add remembers one value.
func (u *Unconfirmed) Add(rec *ownership.Record) { u.made.put(rec.Descriptor, rec.Key, rec) }

// Lose remembers one value that was made in this life. If it is no longer desired
// when it is found, it is to be removed: what the northbound wanted of it is known.
func (u *Unconfirmed) Lose(rec *ownership.Record) {
	u.Add(rec)
	u.lost[rec.Key] = true
}

// Doubt remembers what an operation of unknown outcome was to create, change or
// remove, whether or not it is still desired: it may exist until a reading that
// follows the end of the operation decides.
func (u *Unconfirmed) Doubt(rec *ownership.Record) {
	u.Lose(rec)
	u.fresh = append(u.fresh, rec)
	u.doubted[rec.Key] = true
}

// DoubtDerived remembers that the outcome of an operation on a derived value is unknown,
// until the descriptor of its base is read.
func (u *Unconfirmed) DoubtDerived(descriptor, base string) { u.derived.put(descriptor, base, true) }

// DoubtEarlier is the same for an operation of an earlier life.
func (u *Unconfirmed) DoubtEarlier(rec *ownership.Record) {
	u.Add(rec)
	u.doubted[rec.Key] = true
}

// Former remembers what a value was before an operation of unknown outcome that replaced
// it: an update, or a removal and creation. Add has what it was to be.
func (u *Unconfirmed) Former(rec *ownership.Record) { u.former[rec.Key] = rec }

// Formers returns what Former was called with, as far as it is not decided, in no order.
func (u *Unconfirmed) Formers() (all []ownership.Record) {
	for _, rec := range u.former {
		all = append(all, *rec)
	}
	return all
}

// Doubted reports whether an operation of unknown outcome was about the key.
func (u *Unconfirmed) Doubted(key string) bool { return u.doubted[key] }

// TakeDoubts returns what Doubt was called with since TakeDoubts was last called, as far
// as it is not decided.
func (u *Unconfirmed) TakeDoubts() (recs []ownership.Record) {
	for _, rec := range u.fresh {
		if u.doubted[rec.Key] && u.made[rec.Descriptor][rec.Key] == rec {
			recs = append(recs, *rec)
		}
	}
	u.fresh = nil
	return recs
}

// Doubts returns the keys that operations of unknown outcome were about, in no order,
// and the bases of those that were about derived values.
func (u *Unconfirmed) Doubts() map[string]bool {
	all := maps.Clone(u.doubted)
	for _, bases := range u.derived {
		maps.Copy(all, bases)
	}
	return all
}

// Decide forgets the doubt about a value, whose operation said what it did.
func (u *Unconfirmed) Decide(descriptor, key string, exists bool) {
	if u.made[descriptor][key] == nil {
		return
	}
	u.Drop(descriptor, key)
	if !exists {
		u.gone = append(u.gone, key)
	}
}

// Drop forgets one value.
func (u *Unconfirmed) Drop(descriptor, key string) {
	delete(u.lost, key)
	delete(u.doubted, key)
	delete(u.former, key)
	delete(u.made[descriptor], key)
}

// All returns all remembered records, in no order.
func (u *Unconfirmed) All() (all []*ownership.Record) {
	for _, of := range u.made {
		for _, rec := range of {
			all = append(all, rec)
		}
	}
	return all
}

// TakeGone returns the keys of the values that were looked for since its last call, and do not
// belong to the scheduler.
func (u *Unconfirmed) TakeGone() []string {
	gone := u.gone
	u.gone = nil
	return gone
}

// take removes a value that was found; nil if it is not unconfirmed. here reports
// that it was made in this life.
func (u *Unconfirmed) take(descriptor, key string) (rec *ownership.Record, here bool) {
	rec = u.made[descriptor][key]
	if rec != nil {
		here = u.lost[key]
		u.Drop(descriptor, key)
	}
	return rec, here
}

// errLeft makes plans remove a value; others that are not desired are left alone
// until it is known what the northbound wants.
var errLeft = errors.New("was given up while it was out of reach")

// correlateAll is correlate for a reading that also decides which derived values exist.
func (u *Unconfirmed) correlateAll(d *registry.Descriptor, expected []api.KVWithMetadata) []api.KVWithMetadata {
	expected = u.correlate(d, expected)
	for i := range expected {
		kv := &expected[i]
		kv.DerivedUnconfirmed = kv.Unconfirmed || u.derived[d.Name][kv.Key]
	}
	return expected
}

// correlate adds records to the expected values of the southbound.
func (u *Unconfirmed) correlate(d *registry.Descriptor, expected []api.KVWithMetadata) []api.KVWithMetadata {
	of := u.made[d.Name]
	if len(of) == 0 {
		return expected
	}
	tried, listed := u.tried(d, expected)
	keys := slices.Sorted(maps.Keys(of))
	for _, key := range keys {
		if v := u.former[key].Message(); v != nil {
			tried = append(tried, api.KVWithMetadata{Key: key, Value: v, Origin: api.FromNB, Unconfirmed: true})
		}
	}
	if len(tried) > 0 {
		expected = append(tried, expected...)
	}
	for _, key := range keys {
		if listed[key] {
			continue
		}
		if v := of[key].Message(); v != nil {
			expected = append(expected, api.KVWithMetadata{Key: key, Value: v, Origin: api.Recorded, Unconfirmed: u.uncertain(d, key)})
		}
	}
	return expected
}

// tried returns what was made where something else is desired by now, and the keys of all
// expected values. It marks what an operation of unknown outcome was to create.
func (u *Unconfirmed) tried(d *registry.Descriptor, expected []api.KVWithMetadata) (tried []api.KVWithMetadata, listed map[string]bool) {
	of := u.made[d.Name]
	listed = make(map[string]bool, len(expected))
	for i := range expected {
		key := expected[i].Key
		if !listed[key] {
			switch v := of[key].Message(); {
			case v == nil:
			case proto.Equal(v, expected[i].Value):
				expected[i].Origin = api.Recorded
				expected[i].Unconfirmed = expected[i].Unconfirmed || u.uncertain(d, key)
			default:
				tried = append(tried, api.KVWithMetadata{
					Key: key, Value: v, Metadata: expected[i].Metadata, Origin: api.Recorded, Unconfirmed: u.uncertain(d, key),
				})
			}
		}
		listed[key] = true
	}
	return tried, listed
}

// uncertain reports that an operation of unknown outcome may have been about the key.
// Of a process that ended during a transaction that is everything on record: removals
// are not written ahead.
func (u *Unconfirmed) uncertain(d *registry.Descriptor, key string) bool {
	return u.made[d.Name][key] != nil && (u.doubted[key] || u.Interrupted && !u.lost[key])
}

// claim is take, except while an operation may still take effect.
func (r *Refresher) claim(d *registry.Descriptor, key string) (made *ownership.Record, here bool) {
	if r.Calls.Holds(key) {
		return r.Unconfirmed.made[d.Name][key], false
	}
	return r.Unconfirmed.take(d.Name, key)
}

// link links an unconfirmed value that was found with the graph.
func (r *Refresher) link(n *graph.Node, made *ownership.Record, have *registry.Value) {
	if made == nil {
		return
	}
	if have.FromSB { // the descriptor knows better
		if !r.Calls.Holds(n.Key) {
			r.Unconfirmed.gone = append(r.Unconfirmed.gone, n.Key)
		}
		return
	}
	kept := &registry.Value{Msg: made.Message()}
	if proto.Equal(kept.Msg, have.Msg) {
		kept = have
	}
	n.Kept = kept
}

// forgetAbsent forgets what a complete reading of a descriptor did not find, except
// what was found without a value. If the southbound does not list the values, assume decides.
func (r *Refresher) forgetAbsent(d *registry.Descriptor, without []string) {
	if len(without) == 0 {
		delete(r.Unconfirmed.derived, d.Name)
		r.Unconfirmed.confirm(d.Name, "")
	}
	of := r.Unconfirmed.made[d.Name]
	if len(of) == 0 {
		return
	}
	if d.SessionOnly != nil && d.SessionOnly() {
		r.assume(d)
		return
	}
	r.Lock.Lock()
	defer r.Lock.Unlock()
	for key := range of {
		if r.Policies.Of(d, key) != registry.Ignore && !slices.Contains(without, key) && !r.Calls.Holds(key) { // which was not looked for
			r.Unconfirmed.gone = append(r.Unconfirmed.gone, key)
			r.Unconfirmed.Drop(d.Name, key)
		}
	}
}

// assume decides about the unconfirmed values of a descriptor that cannot read them. Until the
// desired state is known it decides nothing. Without a session the values exist as they were
// created. With a session, whose southbound may have been restarted:
//   - a value that is desired as it was created is created again, if what it depends on is desired;
//   - any other value is assumed to exist, so that it is deleted, and created if one is desired under
//     its key and can exist.
//
// A value whose metadata is lost is created again.
func (r *Refresher) assume(d *registry.Descriptor) {
	of := r.Unconfirmed.made[d.Name]
	if len(of) == 0 || !r.Complete {
		return
	}
	r.Lock.Lock()
	defer r.Lock.Unlock()
	for _, key := range slices.Sorted(maps.Keys(of)) {
		rec := of[key]
		if r.Policies.Of(d, key) == registry.Ignore || r.Calls.Holds(key) {
			continue
		}
		n, msg := r.Graph.Node(key), rec.Message()
		desired := r.desired(key, n)
		if msg == nil || d.WithMetadata || !r.assumable(d, key, msg, n, desired) {
			r.Unconfirmed.Drop(d.Name, key)
			r.Unconfirmed.gone = append(r.Unconfirmed.gone, key)
			continue
		}
		if n == nil || n.Desc == nil {
			n = r.Graph.Ensure(key, d, nil)
		}
		r.found(n, api.KVWithMetadata{Key: key, Value: msg, Origin: api.FromNB})
		if desired != nil && d.Southbound != "" {
			n.Have.Assumed = true
		}
	}
}

// desired returns what the northbound wants, or is about to want, of a value; nil: nothing. n is
// its node, or nil.
func (r *Refresher) desired(key string, n *graph.Node) proto.Message {
	if asked := r.asked[key]; asked != nil || n == nil {
		return asked
	}
	if v := n.Want.InForce(); v != nil && !v.Unwanted {
		return v.Msg
	}
	return nil
}

// assumable reports whether an unconfirmed value may be assumed to exist: it is not known
// otherwise, and is not created again as it was.
func (r *Refresher) assumable(d *registry.Descriptor, key string, made proto.Message, n *graph.Node, desired proto.Message) bool {
	if n != nil && (n.IsDerived() || n.Have != nil) {
		return false
	}
	return desired == nil || d.Southbound == "" || !proto.Equal(made, desired) || r.losesProvider(d, key, desired)
}

// losesProvider reports whether a value depends on a value of the northbound that is not desired and that
// no other process made: it is not going to exist.
func (r *Refresher) losesProvider(d *registry.Descriptor, key string, desired proto.Message) bool {
	v, err := r.Registry.Read(key, d, desired)
	if err != nil {
		return false
	}
	for i := range v.Deps {
		of, _ := r.Registry.Lookup(v.Deps[i].Key)
		if of == nil || of.NBKeyPrefix == "" || !strings.HasPrefix(v.Deps[i].Key, of.NBKeyPrefix) {
			continue // a derived value, or one of the southbound
		}
		n := r.Graph.Node(v.Deps[i].Key)
		if r.desired(v.Deps[i].Key, n) == nil && (n == nil || n.Owner != graph.Foreign) {
			return true
		}
	}
	return false
}
