// Package timeline computes former states of values: it undoes the recorded
// transactions, newest first, from the present graph. A transaction counts at its
// end. A change that a refresh found between two transactions appears at the next
// operation on the value.
//
// If the clock was set back, times refer to the present clock: a transaction
// happened no later than those that follow it.
package timeline

import (
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	pb "github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
)

// Revision is one value during some time.
type Revision struct {
	// Since and Until bound the time; a zero Since is before the history, a zero
	// Until is now.
	Since, Until time.Time
	// Node is the value with its relations as they were.
	Node api.GraphNode
	// Current reports whether this is how the value is now.
	Current bool
}

// Source is what the past is computed from.
type Source struct {
	// Nodes is the graph now.
	Nodes []api.GraphNode
	// History is all that is recorded, oldest first.
	History []*api.RecordedTxn
	// Descriptors report the relations of former values.
	Descriptors []*api.KVDescriptor
	// Now is the present; zero: it is not known, and the clock was not set back
	// since the last transaction.
	Now time.Time
}

// Timeline answers questions about one Source.
type Timeline struct {
	src   Source
	nodes map[string]*api.GraphNode
	steps map[string][]step // by key, oldest first
	keys  []string          // of both, sorted
	last  time.Time         // of the last step
	ends  []time.Time       // of the transactions of the history
}

// step is what one transaction did to one value.
type step struct {
	at          time.Time
	seq         uint64
	first, last *api.RecordedTxnOp
}

// New indexes the source, in time proportional to its size.
func New(src Source) *Timeline {
	src.History = complete(src.History)
	t := &Timeline{src: src, nodes: make(map[string]*api.GraphNode, len(src.Nodes)), steps: map[string][]step{}}
	for i := range src.Nodes {
		t.nodes[src.Nodes[i].Key] = &src.Nodes[i]
	}
	t.ends = ends(src.History, src.Now)
	for at, txn := range src.History {
		if txn.PreRecord {
			continue // still running
		}
		for i := range txn.Executed {
			op := &txn.Executed[i]
			steps := t.steps[op.Key]
			if n := len(steps); n > 0 && steps[n-1].seq == txn.SeqNum {
				steps[n-1].last = op
				continue
			}
			t.steps[op.Key] = append(steps, step{t.ends[at], txn.SeqNum, op, op})
			t.last = t.ends[at]
		}
	}
	for key := range t.nodes {
		t.keys = append(t.keys, key)
	}
	for key := range t.steps {
		if t.nodes[key] == nil {
			t.keys = append(t.keys, key)
		}
	}
	slices.Sort(t.keys)
	return t
}

// complete returns the end of the history from which no operation is missing.
func complete(history []*api.RecordedTxn) []*api.RecordedTxn {
	for i, txn := range slices.Backward(history) {
		if txn.OmittedOps > 0 {
			return history[i+1:]
		}
	}
	return history
}

// ends reports when transactions ended, a running one when it began; later ones
// never earlier. The times are wall-clock times, like the requested moments.
func ends(history []*api.RecordedTxn, now time.Time) []time.Time {
	list := make([]time.Time, len(history))
	next := now.Round(0)
	for i := len(history) - 1; i >= 0; i-- {
		end := history[i].Stop.Round(0)
		if history[i].PreRecord {
			end = history[i].Start.Round(0)
		}
		if !next.IsZero() && end.After(next) { // the clock was set back
			end = next.Add(-1)
		}
		list[i], next = end, end
	}
	return list
}

// End reports when a transaction of the history ended; zero if it is not in it.
func (t *Timeline) End(seq uint64) time.Time {
	for i, txn := range t.src.History {
		if txn.SeqNum == seq {
			return t.ends[i]
		}
	}
	return time.Time{}
}

// Reaches reports, as an error, that the history does not reach back to the
// moment, so that nothing can be said about it.
func (t *Timeline) Reaches(at time.Time) error {
	h := t.src.History
	if len(h) == 0 && len(t.nodes) > 0 {
		return fmt.Errorf("time %s: there is no history", rfc(at))
	}
	for i := len(h) - 1; i > 0 && t.ends[i].After(at); i-- {
		if h[i-1].SeqNum+1 != h[i].SeqNum {
			return fmt.Errorf("time %s: transactions %d to %d are no longer in the history; expected a time after %s",
				rfc(at), h[i-1].SeqNum+1, h[i].SeqNum-1, rfc(h[i].Start))
		}
	}
	if len(h) > 0 && h[0].SeqNum != 0 && at.Before(h[0].Start) && at.Before(t.ends[0]) {
		return fmt.Errorf("time %s: the history reaches back to %s", rfc(at), rfc(h[0].Start))
	}
	return nil
}

func rfc(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

// Of returns the revisions of a value, oldest first.
func (t *Timeline) Of(key string) []Revision {
	var revisions []Revision
	steps := t.steps[key]
	for i := range len(steps) + 1 {
		r := t.revision(key, i)
		if !r.Current {
			t.describe(&r.Node, r.Since)
		}
		if r.Node.State != pb.ValueState_NONEXISTENT && r.Node.State != pb.ValueState_REMOVED {
			revisions = append(revisions, r)
		}
	}
	return revisions
}

// At returns the value at the moment; false if it was not known then.
func (t *Timeline) At(key string, at time.Time) (Revision, bool) {
	r := t.revision(key, t.stepsUntil(key, at))
	if !r.Current || at.Before(t.last) {
		t.describe(&r.Node, at)
	}
	return r, r.Node.State != pb.ValueState_NONEXISTENT && r.Node.State != pb.ValueState_REMOVED
}

// Snapshot returns all values known at the moment, sorted by key.
func (t *Timeline) Snapshot(at time.Time) []Revision {
	var revisions []Revision
	for _, key := range t.keys {
		if r, ok := t.At(key, at); ok {
			revisions = append(revisions, r)
		}
	}
	return revisions
}

func (t *Timeline) stepsUntil(key string, at time.Time) int {
	steps := t.steps[key]
	return sort.Search(len(steps), func(i int) bool { return steps[i].at.After(at) })
}

// revision returns the value after its first n steps.
func (t *Timeline) revision(key string, n int) Revision {
	steps := t.steps[key]
	var r Revision
	if n > 0 {
		r.Since = steps[n-1].at
		r.Node.LastTxn = steps[n-1].seq
	}
	if n == len(steps) {
		r.Current = true
		last := r.Node.LastTxn
		if now := t.nodes[key]; now != nil {
			r.Node = *now
			r.Node.LastTxn = max(r.Node.LastTxn, last)
		}
		return r
	}
	next := steps[n].first
	r.Until = steps[n].at
	r.Node.Key, r.Node.State, r.Node.Value, r.Node.Error = key, next.PrevState, next.PrevValue, next.PrevErrMsg
	if r.Node.Value == nil && n > 0 {
		r.Node.Value = steps[n-1].last.NewValue
	}
	r.Node.Exists = exists(next.PrevState)
	return r
}

func exists(s api.ValueState) bool {
	return s == pb.ValueState_CONFIGURED || s == pb.ValueState_OBTAINED || s == pb.ValueState_DISCOVERED
}

// describe fills in what the value itself reports: descriptor, label, relations
// as they were at the moment. What does not depend on time is taken from the
// value as it is now.
func (t *Timeline) describe(n *api.GraphNode, at time.Time) {
	d := t.descriptor(n.Key)
	n.Label, n.Targets = n.Key, nil
	if d != nil {
		n.Descriptor = d.Name
		if d.KeyLabel != nil {
			n.Label = d.KeyLabel(n.Key)
		}
	}
	if now := t.nodes[n.Key]; now != nil {
		n.Label, n.Descriptor, n.Base, n.Origin = now.Label, now.Descriptor, now.Base, now.Origin
	}
	if d == nil || n.Value == nil {
		return
	}
	if d.Dependencies != nil && n.State != pb.ValueState_OBTAINED {
		for _, dep := range d.Dependencies(n.Key, n.Value) {
			n.Targets = append(n.Targets, t.dependency(dep, at))
		}
	}
	if d.DerivedValues != nil {
		for _, derived := range d.DerivedValues(n.Key, n.Value) {
			n.Targets = append(n.Targets, api.GraphEdge{
				Relation: api.RelationDerives, Label: derived.Key, Keys: []string{derived.Key}, Satisfied: true})
		}
	}
}

func (t *Timeline) descriptor(key string) *api.KVDescriptor {
	name := ""
	if now := t.nodes[key]; now != nil {
		name = now.Descriptor
	}
	for _, d := range t.src.Descriptors {
		if d.Name == name || name == "" && d.KeySelector != nil && d.KeySelector(key) {
			return d
		}
	}
	return nil
}

func (t *Timeline) dependency(dep api.Dependency, at time.Time) api.GraphEdge {
	edge := api.GraphEdge{Relation: api.RelationDependsOn, Label: dep.Label}
	if dep.Key != "" {
		edge.Keys = []string{dep.Key}
		edge.Satisfied = t.existed(dep.Key, at)
		return edge
	}
	edge.AnyOf = dep.AnyOf.KeyPrefixes
	for _, key := range t.candidates(dep.AnyOf) {
		if t.existed(key, at) {
			edge.Keys = append(edge.Keys, key)
		}
	}
	edge.Satisfied = len(edge.Keys) > 0
	return edge
}

// candidates are the keys that meet the dependency if they exist.
func (t *Timeline) candidates(any api.AnyOfDependency) (keys []string) {
	prefixes := any.KeyPrefixes
	if len(prefixes) == 0 {
		prefixes = []string{""}
	}
	for _, prefix := range prefixes {
		i, _ := slices.BinarySearch(t.keys, prefix)
		for ; i < len(t.keys) && strings.HasPrefix(t.keys[i], prefix); i++ {
			if any.KeySelector.Selects(t.keys[i]) {
				keys = append(keys, t.keys[i])
			}
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

func (t *Timeline) existed(key string, at time.Time) bool {
	n := t.stepsUntil(key, at)
	steps := t.steps[key]
	if n == len(steps) {
		now := t.nodes[key]
		return now != nil && now.Exists
	}
	return exists(steps[n].first.PrevState)
}
