package refresh

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/graph"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/ownership"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/registry"
)

// Keys reads single values again, after an operation on them failed with an
// unknown effect. A derived value is read through its base where its own
// descriptor cannot retrieve. What cannot be read is assumed to be unchanged
// by the failed operation; of a southbound that is gone no more is asked. It
// returns the keys of what could not be read now, sorted, but may be read later.
//
// Where much of a descriptor is to be read, it reads all of it at once: for some
// southbounds one value takes as long as all do.
func (r *Refresher) Keys(keys []string) (unread []string) {
	bad := troubles{lost: map[string]*trouble{}}
	defer func() {
		bad.tell(r.Observer)
		slices.Sort(unread)
	}()
	together := r.together(keys)
	groups := map[*registry.Descriptor][]*graph.Node{}
	for _, key := range slices.Sorted(slices.Values(keys)) {
		n := r.Graph.Node(key)
		switch d := reader(n); {
		case d == nil:
		case r.Closed[d.Session()]:
			unread = append(unread, key)
		case d.RetrieveValue != nil && d == n.Desc && !together[d] && !(r.Unconfirmed.Doubted(key) && d.Retrieve != nil):
			if !bad.note(d, n.Key, 1, func() error { return r.one(n) }) {
				unread = append(unread, key)
			}
		default:
			groups[d] = append(groups[d], n)
		}
	}
	return append(unread, bad.noteGroups(groups, r.some)...)
}

// reader returns the descriptor that reads a value: its own, or its base's; nil if neither
// can. A derived value is read with its base if the base can be read, because the base says which
// derived values exist. n may be nil.
func reader(n *graph.Node) *registry.Descriptor {
	if n == nil {
		return nil
	}
	d := n.Desc
	lists := func(d *registry.Descriptor) bool { return d != nil && d.Retrieve != nil }
	if n.IsDerived() && (d == nil || d.RetrieveValue == nil) && (lists(n.Base.Desc) || !lists(d)) {
		d = n.Base.Desc
	}
	if d == nil || d.Retrieve == nil && (d.RetrieveValue == nil || d != n.Desc) {
		return nil
	}
	return d
}

// How much of a descriptor is much: more than a few, and one for so many that exist.
const (
	fewValues = 32
	ofValues  = 10
)

// together are the descriptors that have to be read for much.
func (r *Refresher) together(keys []string) map[*registry.Descriptor]bool {
	if len(keys) <= fewValues {
		return nil
	}
	failed := map[*registry.Descriptor]int{}
	for _, key := range keys {
		if n := r.Graph.Node(key); n != nil && n.Desc != nil && n.Desc.Retrieve != nil && !n.IsDerived() {
			failed[n.Desc]++
		}
	}
	much := map[*registry.Descriptor]bool{}
	for d, count := range failed {
		if count <= fewValues {
			continue
		}
		existing := 0
		for n := range r.Graph.Ascend(d.NBKeyPrefix) {
			if n.Desc == d && n.Have != nil {
				existing++
			}
			if existing > ofValues*count {
				break
			}
		}
		much[d] = existing <= ofValues*count
	}
	return much
}

// troubles are the values that could not be read again.
type troubles struct {
	all  []*trouble
	lost map[string]*trouble // by southbound, those that nothing can be asked of
}

// trouble is what values of one descriptor, or what is left of a southbound, could
// not be read for.
type trouble struct {
	descriptor, key string // of the first
	err             error
	values          int
}

// note counts values that read fails for, and then returns false.
func (t *troubles) note(d *registry.Descriptor, key string, values int, read func() error) (ok bool) {
	if lost := t.lost[d.Session()]; lost != nil {
		lost.values += values
		return false
	}
	err := read()
	if err == nil {
		return true
	}
	var at *trouble
	if n := len(t.all); n > 0 && t.all[n-1].descriptor == d.Name {
		at = t.all[n-1]
	} else {
		at = &trouble{descriptor: d.Name, key: key, err: err}
		t.all = append(t.all, at)
	}
	at.values += values
	if errors.Is(err, api.ErrUnreached) {
		t.lost[d.Session()] = at
	}
	return false
}

// noteGroups reads the values of each descriptor together, in the order of names. It
// returns the keys of those that read fails for.
func (t *troubles) noteGroups(groups map[*registry.Descriptor][]*graph.Node, read func(*registry.Descriptor, []*graph.Node) error) (failed []string) {
	byName := func(a, b *registry.Descriptor) int { return strings.Compare(a.Name, b.Name) }
	for _, d := range slices.SortedFunc(maps.Keys(groups), byName) {
		nodes := groups[d]
		if !t.note(d, nodes[0].Key, len(nodes), func() error { return read(d, nodes) }) {
			for _, n := range nodes {
				failed = append(failed, n.Key)
			}
		}
	}
	return failed
}

// tell warns once of each trouble, however many values are in it.
func (t *troubles) tell(o Observer) {
	for _, at := range t.all {
		who := "assumed to be unchanged"
		if at.values > 1 {
			who = fmt.Sprintf("%d values are assumed to be unchanged", at.values)
		}
		o.Problem(at.descriptor, fmt.Sprintf("retrieve %s: %v; %s", at.key, at.err, who), false)
	}
}

// one reads a value with RetrieveValue.
func (r *Refresher) one(n *graph.Node) error {
	last := r.last(n)
	if last == nil {
		return nil
	}
	msg, meta, exists, err := r.retrieveValue(n, last)
	if err != nil {
		return err
	}
	r.Lock.Lock()
	defer r.Lock.Unlock()
	if exists {
		r.state(n, api.KVWithMetadata{Key: n.Key, Value: msg, Metadata: meta})
	} else {
		r.gone(n)
	}
	return nil
}

// last is what a value may be in the southbound: what an operation of unknown outcome was
// to make of it, what it is known to be, or what it is to become; nil: it does not exist.
func (r *Refresher) last(n *graph.Node) proto.Message {
	if r.Unconfirmed.Doubted(n.Key) && !n.IsDerived() {
		if msg := r.Unconfirmed.made[n.Desc.Name][n.Key].Message(); msg != nil {
			return msg
		}
	}
	if n.Have != nil {
		return n.Have.Msg
	}
	if v := expected(n); v != nil {
		return v.Msg
	}
	return nil
}

func (r *Refresher) retrieveValue(n *graph.Node, last proto.Message) (proto.Message, api.Metadata, bool, error) {
	var found struct {
		msg    proto.Message
		meta   api.Metadata
		exists bool
	}
	meta := n.Meta
	err := r.run(n.Desc, n.Key, func(ctx context.Context) (err error) {
		found.msg, found.meta, found.exists, err = n.Desc.RetrieveValue(ctx, n.Key, last, meta)
		return err
	})
	if err != nil {
		return nil, nil, false, err
	}
	return found.msg, found.meta, found.exists, nil
}

// run runs a callback; a panic is its error.
func (r *Refresher) run(d *registry.Descriptor, key string, f func(context.Context) error) error {
	return r.Calls.Read(d, key, func(ctx context.Context) (err error) {
		defer func() {
			if p := recover(); p != nil {
				err = fmt.Errorf("descriptor %q panicked: %v", d.Name, p)
			}
		}()
		return f(ctx)
	})
}

// some reads values of one descriptor with Retrieve.
func (r *Refresher) some(d *registry.Descriptor, nodes []*graph.Node) error {
	read := make([]*graph.Node, 0, len(nodes))
	expected := make(map[*graph.Node]bool, len(nodes))
	for _, n := range nodes {
		if of := readAs(n, d); !expected[of] {
			expected[of] = true
			read = append(read, of)
		}
	}
	found, err := r.expect(d, append(r.holders(d, read), read...))
	if err != nil {
		return err
	}
	byKey := make(map[string]api.KVWithMetadata, len(found))
	for _, kv := range found {
		byKey[kv.Key] = kv
	}
	r.Lock.Lock()
	defer r.Lock.Unlock()
	for _, n := range nodes {
		of := readAs(n, d)
		kv, ok := byKey[of.Key]
		switch {
		case ok && kv.Value == nil: // it exists, that is all
		case of != n:
			r.stateOfDerived(n, kv, ok)
		case ok:
			r.state(n, kv)
		default:
			r.gone(n)
		}
	}
	return nil
}

// readAs returns the value with which a descriptor reads a value: its base, or the value itself if the
// descriptor handles derived values.
func readAs(n *graph.Node, d *registry.Descriptor) *graph.Node {
	if root := n.Root(); root.Desc == d {
		return root
	}
	return n
}

// holders returns the other values of a descriptor that have the same identity as some values. Retrieve
// has to expect them, too: otherwise it would find their objects and report them as the values.
func (r *Refresher) holders(d *registry.Descriptor, values []*graph.Node) (others []*graph.Node) {
	known := make(map[*graph.Node]bool, len(values))
	for _, n := range values {
		known[n] = true
	}
	for _, n := range values {
		for _, c := range d.Claims(n.Key, n.Want) {
			for _, other := range r.Graph.Claimants(c) {
				if other.Desc == d && !known[other] {
					known[other], others = true, append(others, other)
				}
			}
		}
	}
	return others
}

// state sets what exists of a value whose derived values are not in question.
func (r *Refresher) state(n *graph.Node, kv api.KVWithMetadata) {
	made, here := r.claim(n.Desc, n.Key)
	event := r.readAgain(n, kv, made)
	v, _ := r.value(n, kv, event.Owner(n))
	r.exists(n, v, kv.Metadata, event)
	if event == graph.Adopt || event == graph.Found && !n.Obtained() { // with its derived values
		r.derived(n, false)
	}
	r.link(n, made, v)
	if here && !v.FromSB {
		giveUp(n, errLeft)
	}
}

// readAgain is how reading a value after an operation changes who it belongs to. made is
// what is on record of an operation of unknown outcome, or nil.
func (r *Refresher) readAgain(n *graph.Node, kv api.KVWithMetadata, made *ownership.Record) graph.Event {
	switch owner := n.Owner; {
	case n.Obtained():
		return graph.Found
	case n.Want != nil && n.Want.Observed:
		return graph.Observe
	case owner == graph.Foreign && n.IsDerived():
		return graph.TakenOver
	case owner != graph.None:
		return graph.Unchanged
	case !r.taken(n, kv, made):
		return graph.Created
	case r.Policies.Of(n.Desc, n.Key) == registry.Adopt:
		return graph.Adopt
	}
	return graph.Found
}

// taken reports whether the key of a value that could not be created belongs to another
// process. A Create that failed may have taken effect all the same, and then the value is
// the scheduler's own. The southbound decides that, by the mark. Without one the key has to
// be on record from before, or the value has to be what the operation was to create.
func (r *Refresher) taken(n *graph.Node, kv api.KVWithMetadata, made *ownership.Record) bool {
	switch {
	case n.IsDerived() || kv.Origin.Marked():
		return false
	case kv.Origin == api.FromSB:
		return true
	case n.Kept != nil:
		return false
	}
	tried := made.Message()
	if v := n.InForce(); tried == nil && v != nil {
		tried = v.Msg
	}
	return tried != nil && !n.Desc.Equivalent(n.Key, kv.Value, tried) && !n.Desc.Lacking(n.Key, kv.Value, tried, r.lacks(n, kv.Value, tried))
}

// lacks lists the keys of the values derived from what an operation was to create that are not derived
// from what was found: the operation may have failed before they were made.
func (r *Refresher) lacks(n *graph.Node, found, tried proto.Message) (keys []string) {
	if n.Desc.Without == nil {
		return nil
	}
	has := map[string]bool{}
	for _, dv := range r.Registry.Found(n.Key, n.Desc, found, false).Derived {
		has[dv.Key] = true
	}
	for _, dv := range r.Registry.Found(n.Key, n.Desc, tried, false).Derived {
		if !has[dv.Key] {
			keys = append(keys, dv.Key)
		}
	}
	return keys
}

// gone: the value does not exist, nor do its derived values.
func (r *Refresher) gone(n *graph.Node) {
	if !r.Calls.Holds(n.Key) {
		r.Unconfirmed.Decide(n.Desc.Name, n.Key, false)
	}
	for child := range n.Derived {
		r.Graph.Remove(child, graph.Lost)
	}
	r.Graph.Remove(n, graph.Lost)
}

// stateOfDerived looks for a derived value in its base as it was found.
func (r *Refresher) stateOfDerived(n *graph.Node, base api.KVWithMetadata, exists bool) {
	var have *registry.Value
	if exists {
		have = r.pieceOf(n, base)
	}
	if have == nil {
		r.Graph.Remove(n, graph.Lost)
		return
	}
	if n.Want != nil && proto.Equal(have.Msg, n.Want.Msg) {
		have = n.Want
	}
	_ = r.Graph.SetHave(n, have, nil, derivedFound(n, have)) // derived values have no metadata
}

// pieceOf is a derived value as it was found with its base; nil if it was not.
func (r *Refresher) pieceOf(n *graph.Node, base api.KVWithMetadata) *registry.Value {
	for _, dv := range r.Registry.Found(base.Key, n.Base.Desc, base.Value, false).Derived {
		if dv.Key == n.Key {
			return dv.Value
		}
	}
	return nil
}

// Losses is what has become of values that the graph believes to exist, by key.
type Losses struct {
	Lost    []string // the southbound does not have them
	Changed []string // it has other values
	Unread  []string // they could not be read
}

// Lost reads values that the graph believes to exist. The graph does not change. A
// value whose own descriptor cannot read it is never lost.
func (r *Refresher) Lost(keys []string) (l Losses) {
	bad := troubles{lost: map[string]*trouble{}}
	defer func() {
		bad.tell(r.Observer)
		slices.Sort(l.Lost)
		slices.Sort(l.Changed)
		slices.Sort(l.Unread)
	}()
	together := r.together(keys)
	groups := map[*registry.Descriptor][]*graph.Node{}
	for _, key := range keys {
		n := r.Graph.Node(key)
		switch d := n.Desc; {
		case d == nil || r.Closed[d.Session()]:
		case d.RetrieveValue != nil && !together[d]:
			if !bad.note(d, key, 1, func() error { return r.lookAt(n, &l) }) {
				l.Unread = append(l.Unread, key)
			}
		case d.Retrieve != nil && !n.IsDerived():
			groups[d] = append(groups[d], n)
		}
	}
	failed := bad.noteGroups(groups, func(d *registry.Descriptor, nodes []*graph.Node) error { return r.lookAmong(d, nodes, &l) })
	l.Unread = append(l.Unread, failed...)
	return l
}

// lookAt reads one value.
func (r *Refresher) lookAt(n *graph.Node, l *Losses) error {
	msg, _, exists, err := r.retrieveValue(n, n.Have.Msg)
	if err == nil {
		l.add(n, msg, exists)
	}
	return err
}

// lookAmong reads all values of a descriptor.
func (r *Refresher) lookAmong(d *registry.Descriptor, nodes []*graph.Node, l *Losses) error {
	found, err := r.Descriptor(d)
	if err != nil {
		return err
	}
	values := make(map[string]proto.Message, len(found))
	for _, kv := range found {
		values[kv.Key] = kv.Value
	}
	for _, n := range nodes {
		msg, exists := values[n.Key]
		l.add(n, msg, exists)
	}
	return nil
}

// add adds a value that was found, or was not.
func (l *Losses) add(n *graph.Node, found proto.Message, exists bool) {
	switch {
	case !exists:
		l.Lost = append(l.Lost, n.Key)
	case found != nil && !n.Desc.Equivalent(n.Key, found, n.Have.Msg):
		l.Changed = append(l.Changed, n.Key)
	}
}
