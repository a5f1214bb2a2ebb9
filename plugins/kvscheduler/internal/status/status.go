// Package status describes the values of the graph to users and clients: their
// public status, their relations, and the dependencies that they wait for.
package status

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/graph"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/plan"
	"github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
)

// Facts are what the status of values depends on besides the graph.
type Facts interface {
	// SessionProblem returns why a southbound is not available; empty if it is.
	SessionProblem(name string) string
	// Blocked returns why the scheduler cannot change a value now, and whether the value
	// may be in removal; empty if it can.
	Blocked(key string) (why string, leaving bool)
	// Unread returns why it is unknown whether a value exists; empty if that is known.
	Unread(n *graph.Node) string
	// Violations lists the contract violations of the descriptor for a value.
	Violations(key string) []string
	// SouthboundOnly returns why a key that only the southbound can provide has no
	// value; empty for keys that the northbound can configure.
	SouthboundOnly(key string) string
	// Undescribed reports whether no descriptor handles a key.
	Undescribed(key string) bool
	// TxnStart returns when a transaction started; zero if that is unknown.
	TxnStart(seqNum uint64) time.Time
}

// Reader describes the values of a graph. The graph must not change while the Reader
// is in use.
type Reader struct {
	Graph *graph.Graph
	Facts Facts
	// Unsure reports whether it is unknown if a dependency is met. It may be nil.
	Unsure func(dep *api.Dependency) bool

	cycles    cycles
	providers providers
}

// Origin returns whether the northbound or the southbound is the source of a value.
func Origin(n *graph.Node) api.ValueOrigin {
	v := n.Want
	if v == nil {
		v = n.Have
	}
	switch {
	case v == nil:
		return api.UnknownOrigin
	case v.FromSB:
		return api.FromSB
	}
	return api.FromNB
}

// Base returns the status of a base value and of its derived values.
func (r *Reader) Base(key string) *api.BaseValueStatus {
	n := r.Graph.Node(key)
	if n == nil {
		return &api.BaseValueStatus{Value: &api.ValueStatus{Key: key}}
	}
	return r.BaseOf(n)
}

// BaseOf returns the same as Base, for the node of a base value.
func (r *Reader) BaseOf(n *graph.Node) *api.BaseValueStatus {
	both := &struct { // one allocation
		base  api.BaseValueStatus
		value api.ValueStatus
	}{}
	out := &both.base
	out.Value = r.describe(&both.value, n)
	out.Value.Details = append(out.Value.Details, r.leftOut(n)...)
	for child := range n.Derived {
		if s := r.value(child); s.State != kvscheduler.ValueState_NONEXISTENT {
			out.DerivedValues = append(out.DerivedValues, s)
		}
	}
	slices.SortFunc(out.DerivedValues, func(a, b *api.ValueStatus) int { return strings.Compare(a.Key, b.Key) })
	return out
}

func (r *Reader) value(n *graph.Node) *api.ValueStatus { return r.describe(&api.ValueStatus{}, n) }

// describe fills in and returns the status of a value.
func (r *Reader) describe(s *api.ValueStatus, n *graph.Node) *api.ValueStatus {
	s.Key, s.State, s.LastOperation = n.Key, plan.State(n), n.LastOp
	switch s.State {
	case kvscheduler.ValueState_INVALID:
		invalid := n.Want.Invalid
		if invalid == nil {
			invalid = n.Err
		}
		s.Error = invalid.Error()
		var fields *api.InvalidValueError
		if errors.As(invalid, &fields) {
			s.Details = fields.Fields()
		}
	case kvscheduler.ValueState_PENDING:
		r.unmet(s, n)
		if circle := r.Circle(n); circle != "" {
			waitsFor(s, circle)
		}
		if err := r.Graph.LastError(n); err != nil {
			s.Error = err.Error()
		}
	default:
		if n.Err != nil {
			s.Error = n.Err.Error()
		} else if s.State == kvscheduler.ValueState_UNIMPLEMENTED {
			s.Error = api.Reason(s)
		}
	}
	return s
}

// leftOut lists the problems with the derived values of a value: contract
// violations of its descriptor, and keys that another value already uses.
func (r *Reader) leftOut(n *graph.Node) (problems []string) {
	if n.Base == nil && n.Want != nil {
		problems = r.Facts.Violations(n.Key)
	}
	if n.Have == nil {
		return problems
	}
	for i := range n.Have.Derived {
		key := n.Have.Derived[i].Key
		if n.Child(i, key) != nil {
			continue
		}
		switch other := r.Graph.Node(key); {
		case other == nil || other.Base == n:
		case other.Base == nil:
			problems = append(problems, fmt.Sprintf("derived %s is left out: there is a value of this key", key))
		default:
			problems = append(problems, fmt.Sprintf("derived %s is left out: it is derived from %s", key, other.Base.Key))
		}
	}
	return problems
}

// unmet adds what a pending value waits for to its status.
func (r *Reader) unmet(s *api.ValueStatus, n *graph.Node) {
	if n.Want != nil && n.Want.Observed {
		waitsFor(s, "another process to create it (ownership policy observe)")
		return
	}
	if problem := cmp.Or(r.Facts.SessionProblem(n.Desc.Session()), r.Facts.Unread(n)); problem != "" {
		waitsFor(s, problem)
		return
	}
	r.lacks(s, n)
	if why, _ := r.Facts.Blocked(n.Key); len(s.Details) == 0 && why != "" {
		waitsFor(s, why)
	}
}

// waitsFor adds what is not a dependency to the status of a pending value.
func waitsFor(s *api.ValueStatus, reason string) {
	s.Details = append(s.Details, reason)
	s.WaitsFor = append(s.WaitsFor, &kvscheduler.ValueStatus_Unmet{Text: reason})
}

func label(dep *api.Dependency) string { return cmp.Or(dep.Label, dep.Name()) }

// Node describes one node of a snapshot.
func (r *Reader) Node(n *graph.Node) api.GraphNode {
	out := api.GraphNode{
		Key: n.Key, Label: n.Desc.Label(n.Key), Descriptor: n.Desc.NameOf(), State: plan.State(n),
		Exists: n.Have != nil, Metadata: n.Meta, Origin: Origin(n), LastTxn: n.LastTxn,
	}
	if n.Base != nil {
		out.Base = n.Base.Key
	}
	if s := r.value(n); s.Error != "" {
		out.Error = s.Error
	}
	v := n.Have
	if v == nil {
		v = n.Want
	}
	if v != nil {
		out.Value = v.Msg
		for i := range v.Deps {
			out.Targets = append(out.Targets, r.edge(&v.Deps[i]))
		}
	}
	out.Targets = append(out.Targets, derivations(n)...)
	return out
}

// maxMatches limits the keys listed for one AnyOf dependency.
const maxMatches = 100

func (r *Reader) edge(dep *api.Dependency) api.GraphEdge {
	e := api.GraphEdge{Relation: api.RelationDependsOn, Label: label(dep), AnyOf: dep.AnyOf.KeyPrefixes}
	if dep.Key != "" {
		e.Keys, e.AnyOf = []string{dep.Key}, nil
		e.Satisfied = r.provider(dep) != nil
		return e
	}
	for _, prefix := range graph.Prefixes(dep) {
		keys := r.existing(dep, prefix)
		e.Keys = append(e.Keys, keys[:min(len(keys), maxMatches-len(e.Keys))]...)
	}
	e.Satisfied = len(e.Keys) > 0
	return e
}

func derivations(n *graph.Node) []api.GraphEdge {
	var edges []api.GraphEdge
	for child := range n.Derived {
		edges = append(edges, api.GraphEdge{
			Relation: api.RelationDerives, Label: child.Desc.Label(child.Key),
			Keys: []string{child.Key}, Satisfied: child.Have != nil,
		})
	}
	slices.SortFunc(edges, func(a, b api.GraphEdge) int { return strings.Compare(a.Keys[0], b.Keys[0]) })
	return edges
}
