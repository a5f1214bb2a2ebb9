package plan

import (
	"fmt"
	"slices"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/graph"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/registry"
)

// Keys contain addresses as they were written, so one item can have several keys. The southbound
// has it once. Only one of the values is applied: the one that exists, or else the one with the
// smallest key. The others are refused, and planned again when it is removed.

// spellings looks for values that are one item. A zero value finds none.
type spellings struct {
	p *planner
	// new are the values that the graph does not have yet, by the canonical key, if theirs is another one.
	new map[string][]*node
}

// spellingsIn looks for keys in the plan that are not canonical.
func spellingsIn(p *planner) spellings {
	found := spellings{new: map[string][]*node{}}
	for _, n := range p.list {
		if canonical := n.desc.Spelling(n.want); canonical != "" && n.desc.Spelling(n.oldWant) == "" {
			found.new[canonical] = append(found.new[canonical], n)
		}
	}
	if len(found.new) > 0 || p.g.HasSpellings() {
		found.p = p
	}
	return found
}

// each iterates over the other values that are the same item as n. w is nil for a value that is
// not in the plan.
func (s spellings) each(n *node, yield func(gn *graph.Node, w *node)) {
	if s.p == nil || n.desc == nil {
		return
	}
	key := n.key
	for _, v := range []*registry.Value{n.want, n.oldWant} {
		if canonical := n.desc.Spelling(v); canonical != "" {
			key = canonical
		}
	}
	for _, w := range append(slices.Clone(s.new[key]), s.p.newNodes[key]) {
		if w != nil && w != n {
			yield(nil, w)
		}
	}
	for _, gn := range append(slices.Clone(s.p.g.Spellings(key)), s.p.g.Node(key)) {
		if gn == nil || gn == n.node {
			continue
		}
		if w := s.p.of(gn); gn.Want != nil || w != nil && w.want != nil {
			yield(gn, w)
		}
	}
}

// refused returns an error if n is the same item as a value that is applied.
func (s spellings) refused(n *node) (err error) {
	s.each(n, func(gn *graph.Node, w *node) {
		key, exists := "", false
		switch {
		case w == nil:
			key, exists = gn.Key, gn.Have != nil
		case !w.in || w.target == nil:
			return
		default:
			key, exists = w.key, w.exists()
		}
		if exists && !n.exists() || exists == n.exists() && key < n.key {
			err = api.NewInvalidValueError(fmt.Errorf("it is the same item as %s, which is written in another way; remove one of the two", key))
		}
	})
	return err
}

// contend looks at the values that were refused for one which is to be removed.
func (s spellings) contend() {
	if s.p == nil {
		return
	}
	var found []*graph.Node
	for _, n := range s.p.list {
		if n.kind != Down {
			continue
		}
		s.each(n, func(gn *graph.Node, w *node) {
			if w == nil && gn.Have == nil {
				found = append(found, gn)
			}
		})
	}
	s.p.touchAll(found)
}

// follow orders the removal of a value before the creation of one that is the same item.
func (s spellings) follow(to *sorter) {
	if s.p == nil {
		return
	}
	for _, n := range s.p.list {
		if n.stepUp == none {
			continue
		}
		s.each(n, func(_ *graph.Node, w *node) {
			if w != nil && w.stepDown != none {
				to.handTo(w.stepDown, n.stepUp)
			}
		})
	}
}
