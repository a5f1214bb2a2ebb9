package engine_test

import (
	"maps"
	"slices"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/engine"
)

// checkProblems compares the problems that were reported with the statuses of
// all values.
func (s *simulation) checkProblems(statuses []*api.BaseValueStatus) {
	order := engine.ProblemStates()
	want := engine.Problems{Values: map[api.ValueState]int{}}
	first := len(order)
	for _, v := range statuses {
		worst, key := len(order), ""
		for _, status := range append([]*api.ValueStatus{v.Value}, v.DerivedValues...) {
			if at := slices.Index(order, status.State); at >= 0 && at < worst {
				worst, key = at, status.Key
			}
		}
		if worst == len(order) {
			continue
		}
		want.Values[order[worst]]++
		if worst < first { // statuses are sorted by key
			first, want.Key = worst, key
		}
	}
	got := s.problems
	if !maps.Equal(got.Values, want.Values) || got.Key != want.Key {
		s.fatal("problems %v, first %q; expected %v, %q", got.Values, got.Key, want.Values, want.Key)
	}
}
