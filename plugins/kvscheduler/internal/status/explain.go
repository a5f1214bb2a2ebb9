package status

import (
	"slices"
	"strings"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/graph"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/plan"
	"github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
)

// Explain returns the tree of dependencies of a value, met or not, and the values
// derived from it that have a problem. A value that occurs twice is explained at its
// first occurrence only.
func (r *Reader) Explain(key string) *api.Explanation {
	r.cycles.thorough = true
	seen := map[string]bool{}
	e := r.explain(key, "", seen)
	n := r.Graph.Node(key)
	if n == nil {
		return e
	}
	for _, child := range slices.SortedFunc(n.Derived, func(a, b *graph.Node) int { return strings.Compare(a.Key, b.Key) }) {
		switch plan.State(child) {
		case kvscheduler.ValueState_CONFIGURED, kvscheduler.ValueState_OBTAINED, kvscheduler.ValueState_DISCOVERED:
		default:
			d := r.explain(child.Key, "derived from it", seen)
			if len(d.Children) > 0 {
				d.Children = d.Children[1:] // the value itself
			}
			e.Children = append(e.Children, d)
		}
	}
	return e
}

func (r *Reader) explain(key, label string, seen map[string]bool) *api.Explanation {
	e := &api.Explanation{Key: key, Label: label}
	n := r.Graph.Node(key)
	if n == nil {
		e.Reason = "not configured"
		e.Undescribed = r.Facts.Undescribed(key)
		if base := r.comesWith(key); base != nil {
			e.Reason = "comes with " + base.Key
		} else if southbound := r.Facts.SouthboundOnly(key); southbound != "" {
			e.Reason = southbound
		} else {
			e.NotConfigured = true
		}
		return e
	}
	e.State = plan.State(n)
	e.Since = r.Facts.TxnStart(n.LastTxn).UTC()
	e.Reason = api.Reason(r.value(n))
	if seen[key] {
		return e
	}
	seen[key] = true
	if n.Base != nil {
		e.Children = append(e.Children, r.explain(n.Base.Key, "derived from", seen))
	}
	v := n.Want
	if v == nil {
		v = n.Have
	}
	if v != nil {
		for i := range v.Deps {
			e.Children = append(e.Children, r.dependency(&v.Deps[i], seen)...)
		}
	}
	return e
}

// maxCandidates limits the values shown for one unmet AnyOf dependency.
const maxCandidates = 10

func (r *Reader) dependency(dep *api.Dependency, seen map[string]bool) []*api.Explanation {
	if dep.Key != "" {
		return []*api.Explanation{r.explain(dep.Key, label(dep), seen)}
	}
	if w := r.provider(dep); w != nil {
		return []*api.Explanation{r.explain(w.Key, label(dep), seen)}
	}
	prefixes := graph.Prefixes(dep)
	var out []*api.Explanation
	for _, prefix := range prefixes {
		for n := range r.Graph.Ascend(prefix) {
			if graph.Meets(dep, n.Key) {
				out = append(out, r.explain(n.Key, label(dep), seen))
			}
			if len(out) >= maxCandidates {
				break
			}
		}
	}
	if len(out) == 0 {
		out = append(out, &api.Explanation{
			Key: strings.Join(prefixes, " or ") + "*", Label: label(dep), Reason: "nothing like this exists or is asked for",
		})
	}
	return out
}
