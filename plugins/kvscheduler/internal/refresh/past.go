package refresh

import (
	"errors"
	"maps"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/graph"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/ownership"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/registry"
)

// Past is what the scheduler made, in this life or in an earlier one, and has
// lost sight of: its southbound could not be read since then. What of it is
// found belongs to the scheduler, whatever the origin that its descriptor
// tells; descriptors also get it to recognise what is theirs. A nil Past is
// empty. It has no lock.
type Past struct {
	// Interrupted: the process before this one ended during a transaction.
	Interrupted bool

	made map[string]map[string]*ownership.Record // by descriptor and key
	lost map[string]bool                         // keys: made in this life
	gone []string

	doubted map[string]bool              // keys; see Doubt
	former  map[string]*ownership.Record // by key; see Former
	fresh   []*ownership.Record
	derived map[string]map[string]bool // by descriptor and key; see DoubtDerived

	removed map[string]map[string]*ownership.Record // by descriptor and key
	count   int                                     // of removed
}

// maxRemoved bounds what is remembered of removals that no reading has confirmed.
const maxRemoved = 10_000

// Remove remembers one value that was removed, for as long as nothing was read
// of its descriptor: if it is still there then, just so, its Delete did not do
// what it said, and the value is the scheduler's own.
func (p *Past) Remove(rec *ownership.Record) {
	if p.count >= maxRemoved {
		return
	}
	if p.removed == nil {
		p.removed = map[string]map[string]*ownership.Record{}
	}
	if p.removed[rec.Descriptor] == nil {
		p.removed[rec.Descriptor] = map[string]*ownership.Record{}
	}
	if p.removed[rec.Descriptor][rec.Key] == nil {
		p.count++
	}
	p.removed[rec.Descriptor][rec.Key] = rec
}

// confirm forgets the removals of a descriptor, or of one of its keys.
func (p *Past) confirm(descriptor, key string) {
	switch of := p.removed[descriptor]; {
	case key == "":
		p.count -= len(of)
		delete(p.removed, descriptor)
	case of[key] != nil:
		p.count--
		delete(of, key)
	}
}

// errStill is the error of a value that should have been removed.
var errStill = errors.New("was removed, as its descriptor said, and is still there")

// still reports whether a found value is one that should have been removed.
func (r *Refresher) still(d *registry.Descriptor, kv api.KVWithMetadata) bool {
	if r.Past == nil || r.Past.count == 0 {
		return false
	}
	rec := r.Past.removed[d.Name][kv.Key]
	r.Past.confirm(d.Name, kv.Key)
	return rec != nil && d.Equivalent(kv.Key, kv.Value, rec.Value)
}

// Add remembers one value.
func (p *Past) Add(rec *ownership.Record) {
	if p.made == nil {
		p.made = map[string]map[string]*ownership.Record{}
	}
	if p.made[rec.Descriptor] == nil {
		p.made[rec.Descriptor] = map[string]*ownership.Record{}
	}
	p.made[rec.Descriptor][rec.Key] = rec
}

// Lose remembers one value that was made in this life. If it is no longer desired
// when it is found, it is to be removed: what the northbound wanted of it is known.
func (p *Past) Lose(rec *ownership.Record) {
	p.Add(rec)
	if p.lost == nil {
		p.lost = map[string]bool{}
	}
	p.lost[rec.Key] = true
}

// Doubt remembers what an operation of unknown outcome was to create, change or
// remove, whether or not it is still desired: it may exist until a reading that
// follows the end of the operation decides.
func (p *Past) Doubt(rec *ownership.Record) {
	p.Lose(rec)
	p.fresh = append(p.fresh, rec)
	p.doubt(rec.Key)
}

// DoubtDerived remembers that the outcome of an operation on a derived value is unknown,
// until the descriptor of its base is read.
func (p *Past) DoubtDerived(descriptor, base string) {
	if p.derived == nil {
		p.derived = map[string]map[string]bool{}
	}
	if p.derived[descriptor] == nil {
		p.derived[descriptor] = map[string]bool{}
	}
	p.derived[descriptor][base] = true
}

// DoubtEarlier is the same for an operation of an earlier life.
func (p *Past) DoubtEarlier(rec *ownership.Record) {
	p.Add(rec)
	p.doubt(rec.Key)
}

// Former remembers what a value was before an operation of unknown outcome that replaced
// it, by removing and creating it. Add has what it was to be.
func (p *Past) Former(rec *ownership.Record) {
	if p.former == nil {
		p.former = map[string]*ownership.Record{}
	}
	p.former[rec.Key] = rec
}

// Formers returns what Former was called with, as far as it is not decided, in no order.
func (p *Past) Formers() (all []ownership.Record) {
	for _, rec := range p.former {
		all = append(all, *rec)
	}
	return all
}

func (p *Past) doubt(key string) {
	if p.doubted == nil {
		p.doubted = map[string]bool{}
	}
	p.doubted[key] = true
}

// Doubted reports whether an operation of unknown outcome was about the key.
func (p *Past) Doubted(key string) bool { return p.doubted[key] }

// doubts is Doubted of a Past that may be nil.
func (p *Past) doubts(key string) bool { return p != nil && p.doubted[key] }

// TakeDoubts returns what Doubt was called with since TakeDoubts was last called, as far
// as it is not decided.
func (p *Past) TakeDoubts() (recs []ownership.Record) {
	for _, rec := range p.fresh {
		if p.doubted[rec.Key] && p.made[rec.Descriptor][rec.Key] == rec {
			recs = append(recs, *rec)
		}
	}
	p.fresh = nil
	return recs
}

// Doubts returns the keys that operations of unknown outcome were about, in no order,
// and the bases of those that were about derived values.
func (p *Past) Doubts() map[string]bool {
	if len(p.derived) == 0 {
		return p.doubted
	}
	all := make(map[string]bool, len(p.doubted))
	maps.Copy(all, p.doubted)
	for _, bases := range p.derived {
		maps.Copy(all, bases)
	}
	return all
}

// Decide forgets the doubt about a value, whose operation said what it did.
func (p *Past) Decide(descriptor, key string, exists bool) {
	if p.of(descriptor)[key] == nil {
		return
	}
	p.Drop(descriptor, key)
	if !exists {
		p.gone = append(p.gone, key)
	}
}

// Drop forgets one value.
func (p *Past) Drop(descriptor, key string) {
	delete(p.lost, key)
	delete(p.doubted, key)
	delete(p.former, key)
	if of := p.made[descriptor]; of != nil {
		delete(of, key)
		if len(of) == 0 {
			delete(p.made, descriptor)
		}
	}
}

// All returns what is remembered, in no order.
func (p *Past) All() (all []*ownership.Record) {
	for _, of := range p.made {
		for _, rec := range of {
			all = append(all, rec)
		}
	}
	return all
}

// TakeGone returns the keys of the values that were looked for since it was
// last called, and are not the scheduler's (any more).
func (p *Past) TakeGone() []string {
	gone := p.gone
	p.gone = nil
	return gone
}

func (p *Past) of(descriptor string) map[string]*ownership.Record {
	if p == nil {
		return nil
	}
	return p.made[descriptor]
}

// take removes a value that was found; nil if it is none of the past. here tells
// that it was made in this life.
func (p *Past) take(descriptor, key string) (rec *ownership.Record, here bool) {
	rec = p.of(descriptor)[key]
	if rec != nil {
		here = p.lost[key]
		p.Drop(descriptor, key)
	}
	return rec, here
}

// errLeft makes plans remove a value; others that are not desired are left alone
// until it is known what the northbound wants.
var errLeft = errors.New("was given up while it was out of reach")

// correlate adds to what is expected in the southbound.
func (p *Past) correlate(d *registry.Descriptor, expected []api.KVWithMetadata) []api.KVWithMetadata {
	of := p.of(d.Name)
	if p != nil && len(p.derived[d.Name]) > 0 {
		for i := range expected {
			expected[i].Unconfirmed = p.derived[d.Name][expected[i].Key]
		}
	}
	if len(of) == 0 {
		return expected
	}
	tried, listed := p.tried(d, expected)
	keys := slices.Sorted(maps.Keys(of))
	for _, key := range keys {
		if v := p.former[key].Message(); v != nil {
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
			expected = append(expected, api.KVWithMetadata{Key: key, Value: v, Origin: api.FromNB, Unconfirmed: p.unconfirmed(d, key)})
		}
	}
	return expected
}

// tried marks the expected values that an operation of unknown outcome was to create, and
// returns those that such operations were to create where something else is desired by
// now, and the keys of all expected values.
func (p *Past) tried(d *registry.Descriptor, expected []api.KVWithMetadata) (tried []api.KVWithMetadata, listed map[string]bool) {
	of := p.of(d.Name)
	listed = make(map[string]bool, len(expected))
	for i := range expected {
		key := expected[i].Key
		if p.unconfirmed(d, key) && !listed[key] {
			switch v := of[key].Message(); {
			case v != nil && proto.Equal(v, expected[i].Value):
				expected[i].Unconfirmed = true
			case v != nil:
				tried = append(tried, api.KVWithMetadata{
					Key: key, Value: v, Metadata: expected[i].Metadata, Origin: api.FromNB, Unconfirmed: true,
				})
			}
		}
		listed[key] = true
	}
	return tried, listed
}

// unconfirmed reports that an operation of unknown outcome may have been about the key.
// Of a process that ended during a transaction that is everything on record: removals
// are not written ahead.
func (p *Past) unconfirmed(d *registry.Descriptor, key string) bool {
	return p.made[d.Name][key] != nil && (p.doubted[key] || p.derived[d.Name][key] || p.Interrupted && !p.lost[key])
}

// late reports that an operation on the key may still take effect.
func (r *Refresher) late(key string) bool { return r.Late != nil && r.Late(key) }

// claim returns what is remembered of a value that was found, as take does. It stays
// remembered while an operation may still take effect.
func (r *Refresher) claim(d *registry.Descriptor, key string) (made *ownership.Record, here bool) {
	if r.late(key) {
		return r.Past.of(d.Name)[key], false
	}
	return r.Past.take(d.Name, key)
}

// recall links a value of the past that was found with the graph.
func (r *Refresher) recall(n *graph.Node, made *ownership.Record, have *registry.Value) {
	if made == nil {
		return
	}
	if have.FromSB { // the descriptor knows better
		if !r.late(n.Key) {
			r.Past.gone = append(r.Past.gone, n.Key)
		}
		return
	}
	kept := &registry.Value{Msg: made.Message()}
	if proto.Equal(kept.Msg, have.Msg) {
		kept = have
	}
	r.Graph.Keep(n, kept)
}

// bury forgets what a complete reading of a descriptor did not find, except
// what was found without a value.
func (r *Refresher) bury(d *registry.Descriptor, without []string) {
	if r.Past != nil && len(without) == 0 {
		delete(r.Past.derived, d.Name)
		r.Past.confirm(d.Name, "")
	}
	of := r.Past.of(d.Name)
	if len(of) == 0 {
		return
	}
	r.Lock.Lock()
	defer r.Lock.Unlock()
	for key := range of {
		if r.Policies.Of(d, key) != registry.Ignore && !slices.Contains(without, key) && !r.late(key) { // which was not looked for
			r.Past.gone = append(r.Past.gone, key)
			r.Past.Drop(d.Name, key)
		}
	}
}

// assume decides about the past of a descriptor that cannot read anything. Its
// values exist as they were made, because there is no other source, unless they live
// in a session, which may have lost them: then those that are wanted are made
// again, and the others are taken for existing so that they are removed. Where
// metadata is needed, which is lost, they are made again as well. Until
// the desired state is known nothing is decided.
func (r *Refresher) assume(d *registry.Descriptor) {
	of := r.Past.of(d.Name)
	if len(of) == 0 || !r.Complete {
		return
	}
	r.Lock.Lock()
	defer r.Lock.Unlock()
	for _, key := range slices.Sorted(maps.Keys(of)) {
		rec := of[key]
		if r.Policies.Of(d, key) == registry.Ignore || r.late(key) {
			continue
		}
		n, msg := r.Graph.Node(key), rec.Message()
		if msg == nil || d.WithMetadata || !r.assumable(d, key, n) {
			r.Past.Drop(d.Name, key)
			r.Past.gone = append(r.Past.gone, key)
			continue
		}
		if n == nil || n.Desc == nil {
			n = r.Graph.Ensure(key, d, nil)
		}
		r.found(n, api.KVWithMetadata{Key: key, Value: msg, Origin: api.FromNB})
	}
}

// assumable reports whether a value of the past may be assumed to exist: it is not known
// otherwise, and is not created again.
func (r *Refresher) assumable(d *registry.Descriptor, key string, n *graph.Node) bool {
	if n == nil {
		return !r.asked[key] || d.Southbound == ""
	}
	if n.IsDerived() || n.Have != nil {
		return false
	}
	desired := r.asked[key] || n.Want != nil || r.Graph.Marked(n, graph.Asked)
	return !desired || d.Southbound == ""
}
