package plan

import (
	"cmp"
	"slices"
	"sort"
	"strings"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/graph"
)

// alternatives orders steps by dependencies that any of several values meets.
// There may be many on either side, so instead of links from each to each there
// are steps in between that do nothing: those that go before the same removals
// go before a gate, which is done when all of them are, and those that wait for
// the first of the same creations wait for a need, which is done when one of
// these is.
type alternatives struct {
	gate  node                  // of all gates and needs
	gates map[alternative]int32 // see beforeAny
	needs map[alternative]int32 // see afterAny
	downs []int32               // removals by key; nil: not computed
	ups   []int32               // creations by key; nil: not computed
}

func (s *sorter) isGate(id int32) bool { return s.steps[id].n == &s.gate }

// alternative is what meets a dependency that names no key: the pattern of all
// its prefixes.
type alternative graph.KeyPattern

func alternativeOf(dep *api.Dependency) alternative {
	return alternative(graph.NewKeyPattern(strings.Join(dep.AnyOf.KeyPrefixes, "\x00"), dep.AnyOf.KeySelector))
}

// shared reports whether all values with the dependency can be treated alike: a value that meets its own dependency does not wait for itself.
func shared(n *node, dep *api.Dependency) bool { return !graph.Meets(dep, n.key) }

// leaveAny orders a step of n before the removal of all that meets dep.
func (s *sorter) leaveAny(id int32, n *node, dep *api.Dependency) {
	if shared(n, dep) {
		if before := s.beforeAny(dep); before != none && s.steps[before].n != n.base {
			s.before(id, before)
		}
		return
	}
	for _, other := range s.meeting(s.removals(), dep) {
		if w := s.steps[other].n; w != n && w != n.base {
			s.before(id, other)
		}
	}
}

// beforeAny is the step before which everything goes that goes before the
// removal of all that meets dep.
func (s *sorter) beforeAny(dep *api.Dependency) int32 {
	of := alternativeOf(dep)
	id, known := s.gates[of]
	if known {
		return id
	}
	if s.gates == nil {
		s.gates = map[alternative]int32{}
	}
	id = s.gateOf(s.meeting(s.removals(), dep), func(gate, removal int32) { s.before(gate, removal) })
	s.gates[of] = id
	return id
}

// gateOf is one step that replaces several: that one if there is only one, or a
// gate that is linked with each of them.
func (s *sorter) gateOf(ids []int32, link func(gate, id int32)) int32 {
	switch len(ids) {
	case 0:
		return none
	case 1:
		return ids[0]
	}
	gate := int32(len(s.steps))
	s.steps = append(s.steps, step{n: &s.gate, kind: Down})
	for _, id := range ids {
		link(gate, id)
	}
	return gate
}

// arriveAny makes a step of n wait for the first that meets dep.
func (s *sorter) arriveAny(id int32, n *node, dep *api.Dependency) {
	if shared(n, dep) {
		s.before(s.afterAny(dep), id)
		return
	}
	candidates := s.meeting(s.creations(), dep)
	s.before(s.firstOf(slices.DeleteFunc(candidates, func(c int32) bool { return s.steps[c].n == n })), id)
}

// afterAny is the step after which everything comes that needs any creation
// that meets dep.
func (s *sorter) afterAny(dep *api.Dependency) int32 {
	of := alternativeOf(dep)
	id, known := s.needs[of]
	if known {
		return id
	}
	if s.needs == nil {
		s.needs = map[alternative]int32{}
	}
	id = s.firstOf(s.meeting(s.creations(), dep))
	s.needs[of] = id
	return id
}

// firstOf is a step that is done as soon as one of some others is.
func (s *sorter) firstOf(candidates []int32) int32 {
	switch len(candidates) {
	case 0:
		return none
	case 1:
		return candidates[0]
	}
	id := int32(len(s.steps))
	s.steps = append(s.steps, step{n: &s.gate, any: true, waits: 1})
	for _, c := range candidates {
		s.connect(c, id)
	}
	return id
}

// meet is called when one of the candidates is done. Steps that waited follow the
// first of them.
func (s *sorter) meet(need, first int32) {
	st := &s.steps[need]
	if st.done {
		return
	}
	st.done = true
	if s.cycles != nil {
		s.cycles.met(need)
	}
	for at := st.succs; at != 0; at = s.links[at].nextSucc {
		if l := &s.links[at]; !l.cut {
			l.pred = first
			s.release(need, l.succ)
		}
	}
}

func (s *sorter) removals() []int32 {
	if s.downs == nil {
		s.downs = s.sorted(Down)
	}
	return s.downs
}

func (s *sorter) creations() []int32 {
	if s.ups == nil {
		s.ups = s.sorted(Up)
	}
	return s.ups
}

// sorted returns the steps of a kind, sorted by key.
func (s *sorter) sorted(kind Kind) []int32 {
	list := []int32{}
	for id := 1; id < len(s.steps); id++ {
		if s.steps[id].kind == kind && !s.isGate(int32(id)) {
			list = append(list, int32(id))
		}
	}
	slices.SortFunc(list, s.byKey)
	return list
}

// byKey compares steps by key; of the same key the removal is the first.
func (s *sorter) byKey(a, b int32) int {
	return cmp.Or(strings.Compare(s.steps[a].n.key, s.steps[b].n.key), cmp.Compare(a, b))
}

// meeting returns the elements of a list whose values meet dep, sorted by key.
func (s *sorter) meeting(list []int32, dep *api.Dependency) (found []int32) {
	prefixes := graph.Prefixes(dep)
	for _, prefix := range prefixes {
		from := sort.Search(len(list), func(i int) bool { return s.steps[list[i]].n.key >= prefix })
		for _, id := range list[from:] {
			key := s.steps[id].n.key
			if !strings.HasPrefix(key, prefix) {
				break
			}
			if dep.AnyOf.KeySelector.Selects(key) {
				found = append(found, id)
			}
		}
	}
	if len(prefixes) > 1 { // one may be part of another
		slices.Sort(found)
		found = slices.Compact(found)
	}
	return found
}
