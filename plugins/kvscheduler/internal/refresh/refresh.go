// Package refresh reads the southbound into the graph.
package refresh

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/graph"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/registry"
)

// Refresher reads values through the Retrieve callbacks of descriptors.
type Refresher struct {
	Graph    *graph.Graph
	Registry *registry.Registry
	// Lock is held while the graph changes, never while a callback runs.
	Lock sync.Locker
	// Closed are the southbounds that cannot be reached; they are not read.
	Closed map[string]bool
	// Only restricts All to some descriptors; nil: all of them.
	Only func(d *registry.Descriptor) bool
	// Unconfirmed is the scheduler's own work that may still exist, and that the graph
	// does not have. What is read leaves it.
	Unconfirmed *Unconfirmed
	// Complete reports that the desired state is known, be it from the
	// graph or from what All was given.
	Complete bool
	// Reads records which descriptors were read by All, and which could not be.
	Reads *Reads
	// Calls runs the callbacks.
	Calls Calls
	asked map[string]proto.Message // the requested values that do not exist, by key

	// Marked counts the values that All found to have the mark of the agent although
	// they are neither desired nor on record.
	Marked int

	// Policies say what is not read, and what belongs to others.
	Policies registry.Policies

	// Observer receives what is read.
	Observer Observer
}

// Calls runs callbacks that read, within their time limits.
type Calls interface {
	// Read runs f, which reads one value, or all values of the descriptor if key is
	// empty. The result of f is ignored after an error.
	Read(d *registry.Descriptor, key string, f func(context.Context) error) error
	// Holds reports that an operation on the value timed out and may still take effect:
	// whether the value exists is not decided yet.
	Holds(key string) bool
}

// Observer receives what a Refresher reads.
type Observer interface {
	// Reading is called before the values of a descriptor are read.
	Reading(descriptor string)
	// Retrieved receives the values that a Retrieve returned, before they change the graph.
	Retrieved(descriptor string, values []api.KVWithMetadata)
	// Changed receives the key of a base value whose status has changed.
	Changed(key string)
	// Problem receives what is wrong with the results of a descriptor, and whether that
	// violates its contract.
	Problem(descriptor, problem string, violation bool)
}

// All reads everything. requested are values that the northbound is about to
// ask for; they help descriptors to recognise what is theirs. It returns the
// descriptors that could not be read.
func (r *Refresher) All(requested []api.RecordedKVPair) (unread []api.DriftUnread) {
	r.Graph.NextRound()
	expecting := r.request(requested)
	nodes := map[*registry.Descriptor][]*graph.Node{}
	for n := range r.Graph.Nodes {
		if n.Desc != nil && n.Base == nil {
			nodes[n.Desc] = append(nodes[n.Desc], n)
		}
	}
	for _, d := range r.Registry.RetrieveOrder {
		if r.Only != nil && !r.Only(d) || r.skips(d) {
			continue
		}
		expected, err := expecting[d], error(nil)
		delete(expecting, d) // not needed while what was found comes into the graph
		switch closed := r.Closed[d.Session()]; {
		case closed && d.Retrieve != nil:
			err = Disconnected(d)
		case closed:
		case d.Retrieve == nil:
			r.assume(d)
		default:
			err = r.readAll(d, nodes[d], expected)
		}
		if err != nil {
			unread = append(unread, api.DriftUnread{Descriptor: d.Name, Reason: err.Error()})
		}
	}
	return unread
}

// request notes what the northbound is about to ask for. It returns what may exist of
// that, by descriptor: what the scheduler made of the values, then the values.
func (r *Refresher) request(requested []api.RecordedKVPair) map[*registry.Descriptor][]api.KVWithMetadata {
	wanted := map[*registry.Descriptor][]api.KVWithMetadata{}
	existing := map[*registry.Descriptor][]api.KVWithMetadata{}
	r.asked = map[string]proto.Message{}
	cursor := r.Graph.Cursor(len(requested))
	for _, asked := range requested {
		if asked.Value == nil {
			continue
		}
		kv := api.KVWithMetadata{Key: asked.Key, Value: asked.Value, Origin: api.FromNB}
		n := cursor.Node(kv.Key)
		if n != nil && n.Desc != nil {
			r.Graph.Mark(n, graph.Asked)
			kv.Metadata = n.Meta
			wanted[n.Desc] = append(wanted[n.Desc], kv)
			if have := other(n, kv.Value); have != nil {
				existing[n.Desc] = append(existing[n.Desc], *have)
			}
			if n.Have == nil {
				r.asked[kv.Key] = kv.Value
			}
		} else if d, _ := r.Registry.Lookup(kv.Key); d != nil {
			r.asked[kv.Key] = kv.Value
			wanted[d] = append(wanted[d], kv)
		}
	}
	for d, made := range existing {
		wanted[d] = slices.Insert(wanted[d], 0, made...)
	}
	return wanted
}

// readAll reads the values of one descriptor and takes over what it says. expected are
// values besides the known ones that may exist.
func (r *Refresher) readAll(d *registry.Descriptor, known []*graph.Node, expected []api.KVWithMetadata) error {
	err := r.Reads.blocked(d, r.Registry)
	var found []api.KVWithMetadata
	if err == nil {
		found, err = r.retrieve(d, r.Unconfirmed.correlateAll(d, r.correlate(known, expected)))
	}
	switch {
	case err == nil:
		without := r.withoutValue(found)
		r.apply(d, known, found)
		r.forgetAbsent(d, without)
		r.Reads.done(d, without)
	case r.Reads.fail(d, err):
		r.Observer.Problem(d.Name, "retrieve: "+err.Error()+"; nothing is known of its values, and none is created until it answers", false)
	default:
		r.Observer.Problem(d.Name, "retrieve: "+err.Error()+"; its values are assumed to be unchanged", false)
	}
	return err
}

// Descriptor reads all values of one descriptor, without changing the graph.
func (r *Refresher) Descriptor(d *registry.Descriptor) ([]api.KVWithMetadata, error) {
	if d.Retrieve == nil {
		return nil, fmt.Errorf("descriptor %q has no Retrieve: the southbound state cannot be read", d.Name)
	}
	if r.Closed[d.Session()] {
		return nil, Disconnected(d)
	}
	var known []*graph.Node
	for n := range r.Graph.Nodes {
		if n.Desc == d && n.Base == nil {
			known = append(known, n)
		}
	}
	return r.expect(d, known)
}

// expect retrieves what is known of a descriptor.
func (r *Refresher) expect(d *registry.Descriptor, known []*graph.Node) ([]api.KVWithMetadata, error) {
	r.Graph.NextRound()
	return r.retrieve(d, r.Unconfirmed.correlate(d, r.correlate(known, nil)))
}

func (r *Refresher) retrieve(d *registry.Descriptor, correlate []api.KVWithMetadata) ([]api.KVWithMetadata, error) {
	r.Observer.Reading(d.Name)
	return r.call(d, correlate)
}

// call runs Retrieve.
func (r *Refresher) call(d *registry.Descriptor, correlate []api.KVWithMetadata) ([]api.KVWithMetadata, error) {
	var found []api.KVWithMetadata
	err := r.run(d, "", func(ctx context.Context) (err error) {
		found, err = d.Retrieve(ctx, correlate)
		return err
	})
	if err != nil {
		return nil, err // found may still change
	}
	return found, nil
}

// correlate lists what may exist in the southbound.
func (r *Refresher) correlate(known []*graph.Node, requested []api.KVWithMetadata) []api.KVWithMetadata {
	out := slices.Grow(requested, len(known))
	for _, n := range known {
		if r.Graph.Marked(n, graph.Asked) {
			continue
		}
		out = Expect(out, n)
	}
	return out
}

// Expect appends the possible actual values of a base value: the created one, if it
// differs from the desired one, then the desired one.
func Expect(out []api.KVWithMetadata, n *graph.Node) []api.KVWithMetadata {
	v := expected(n)
	if _, part := api.ForeignTo(n.Key); v == nil || part && n.Owner == graph.Foreign {
		return out
	}
	if have := other(n, v.Msg); have != nil {
		out = append(out, *have)
	}
	return append(out, api.KVWithMetadata{Key: n.Key, Value: v.Msg, Metadata: n.Meta, Origin: origin(v.FromSB)})
}

// other returns the value that the scheduler created, if it differs from the expected one.
func other(n *graph.Node, expected proto.Message) *api.KVWithMetadata {
	if n.Have == nil || n.Have.FromSB || n.Have.Msg == expected || proto.Equal(n.Have.Msg, expected) {
		return nil
	}
	return &api.KVWithMetadata{Key: n.Key, Value: n.Have.Msg, Metadata: n.Meta, Origin: api.FromNB}
}

func expected(n *graph.Node) *registry.Value {
	if v := n.Want.InForce(); v != nil {
		return v
	}
	return n.Have
}

func origin(fromSB bool) api.ValueOrigin {
	if fromSB {
		return api.FromSB
	}
	return api.FromNB
}

// apply brings what was found into the graph. What is lost leaves it first: something that is
// found under another key than before may have the same derived values.
func (r *Refresher) apply(d *registry.Descriptor, known []*graph.Node, found []api.KVWithMetadata) {
	r.Observer.Retrieved(d.Name, found)
	r.Lock.Lock()
	defer r.Lock.Unlock()
	found = r.without(d, found)
	cursor := r.Graph.Cursor(len(found))
	nodes := make([]*graph.Node, len(found)) // nil: unusable
	for i, kv := range found {
		n := cursor.Node(kv.Key)
		if problem := r.unusable(d, n, kv); problem != "" {
			r.complain(d, problem)
			continue
		}
		if n == nil || n.Desc == nil {
			n = r.Graph.Ensure(kv.Key, d, nil)
		}
		r.Graph.Mark(n, graph.Seen)
		nodes[i] = n
	}
	for _, n := range known {
		if !r.Graph.Marked(n, graph.Seen) {
			r.lost(n)
		}
	}
	for i, n := range nodes {
		if n != nil {
			r.found(n, found[i])
		}
	}
}

// complain reports a violation of the contract of a descriptor.
func (r *Refresher) complain(d *registry.Descriptor, problem string) {
	r.Observer.Problem(d.Name, problem, true)
}

func (r *Refresher) unusable(d *registry.Descriptor, n *graph.Node, kv api.KVWithMetadata) string {
	switch {
	case kv.Value == nil:
		return fmt.Sprintf("retrieved key %q without a value", kv.Key)
	case !d.KeySelector(kv.Key):
		return fmt.Sprintf("retrieved key %q, which it does not select", kv.Key)
	case n != nil && r.Graph.Marked(n, graph.Seen):
		return fmt.Sprintf("retrieved key %q twice", kv.Key)
	case n != nil && n.IsDerived():
		return fmt.Sprintf("retrieved key %q, which is derived from %q", kv.Key, n.Base.Key)
	}
	return ""
}

// found brings one value into the graph.
func (r *Refresher) found(n *graph.Node, kv api.KVWithMetadata) {
	defer r.compare(n, look(n))
	made, here := r.claim(n.Desc, kv.Key)
	asked := r.Graph.Marked(n, graph.Asked) || r.asked[kv.Key] != nil
	// A descriptor may take any value in correlate for the agent's.
	expected := n.Have != nil || n.Want != nil || made != nil || asked
	n.Marked = kv.Origin.Marked() && (n.Marked || !expected)
	still := made == nil && n.Have == nil && kv.Origin != api.FromSB && r.still(n.Desc, kv)
	event := r.ownership(n, kv, made != nil || still || kv.Origin == api.Recorded, asked)
	have, same := r.value(n, kv, event.Owner(n))
	r.link(n, made, have)
	n.Missing = false
	r.desire(n, have, here)
	r.exists(n, have, kv.Metadata, event)
	if still {
		giveUp(n, errStill)
	} else if here && !have.FromSB {
		giveUp(n, errLeft)
	}
	r.derived(n, same)
}

// giveUp notes why a value is to be removed, if it is not desired.
func giveUp(n *graph.Node, err error) {
	if n.Want == nil && n.Err == nil {
		n.Err = err
	}
}

// desire adapts the desired state of a value to what was found of it, where the northbound
// asks for nothing or never asked for anything valid. here: it was made in this life.
func (r *Refresher) desire(n *graph.Node, have *registry.Value, here bool) {
	if n.NeverValid() && n.Want.Last != have && (have.FromSB || r.Reads.unknown(n)) {
		r.Graph.SetWant(n, n.Want.Alone().Instead(have)) // what is in force stays
	}
	switch unasked := n.Desired() == nil; {
	case unasked && have.FromSB:
		r.Graph.SetWant(n, have)
		if n.Marked {
			r.Marked++
		}
	case unasked && here: // what was known of it as another agent's is obsolete
		r.Graph.SetWant(n, nil)
	}
}

// exists sets what exists of a value.
func (r *Refresher) exists(n *graph.Node, have *registry.Value, meta api.Metadata, event graph.Event) {
	if n.Desc != nil && !n.Desc.WithMetadata {
		meta = nil
	}
	if err := r.Graph.SetHave(n, have, meta, event); err != nil {
		r.complain(n.Desc, err.Error())
	}
}

// value describes what was found, reusing what is known already. same reports
// that the southbound has just what it was believed to have.
func (r *Refresher) value(n *graph.Node, kv api.KVWithMetadata, owner graph.Owner) (v *registry.Value, same bool) {
	fromSB := owner == graph.Foreign || owner == graph.Observed
	if describes(n.Have, kv.Value, fromSB) {
		return n.Have, true
	}
	if describes(n.Want, kv.Value, fromSB) {
		return n.Want, false
	}
	if n.Have != nil && n.Have == n.Want && n.Have.FromSB == fromSB && n.Desc.Lacking(kv.Key, kv.Value, n.Have.Msg, r.waiting(n)) {
		return n.Have, true
	}
	if r.Policies.Of(n.Desc, kv.Key) == registry.Observe || owner != graph.Ours && !completed(n) {
		return r.Registry.Watched(kv.Key, n.Desc, kv.Value, fromSB), false
	}
	return r.Registry.Found(kv.Key, n.Desc, kv.Value, fromSB), false
}

// describes reports whether v is the description of a message that was read.
func describes(v *registry.Value, msg proto.Message, fromSB bool) bool {
	return v != nil && v.Invalid == nil && !v.Assembled && v.FromSB == fromSB && proto.Equal(v.Msg, msg)
}

// lost takes a value that was not found out of the graph.
func (r *Refresher) lost(n *graph.Node) {
	defer r.compare(n, look(n))
	for _, child := range slices.Collect(n.Derived) {
		r.Graph.SetWant(child, nil)
		r.absent(child)
	}
	switch {
	case n.Obtained():
		r.Graph.SetWant(n, nil)
	case n.Want.KeepsFound():
		r.Graph.SetWant(n, n.Want.Alone())
	}
	r.absent(n)
}

// absent: the southbound does not have the value.
func (r *Refresher) absent(n *graph.Node) {
	n.Missing = n.Have != nil && n.Want != nil && !n.Want.Observed
	r.Graph.Remove(n, graph.Lost)
	if n.Want == nil && (n.Err == nil || !r.Calls.Holds(n.Key)) {
		n.Err, n.Retrying = nil, false
	}
	r.Graph.Forget(n)
}
