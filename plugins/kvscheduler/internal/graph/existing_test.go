package graph_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/graph"
)

// With and without an index, which comes and goes with the dependency, what
// exists is found in the order of keys.
func TestExisting(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		g := graph.New()
		exists := map[string]bool{}
		waiting := g.Ensure("route/1", nil, nil)
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			switch rapid.IntRange(0, 5).Draw(t, "step") {
			case 0:
				if waiting.Want == nil {
					g.SetWant(waiting, value(anyOf("tap/")))
				} else {
					g.SetWant(waiting, nil)
				}
			case 1:
				from := rapid.IntRange(0, 3).Draw(t, "limit")
				var found []string
				g.Existing("tap/", func(n *graph.Node) bool {
					found = append(found, n.Key)
					return len(found) != from
				})
				var want []string
				for i := range 20 {
					if key := fmt.Sprintf("tap/%02d", i); exists[key] && (from == 0 || len(want) < from) {
						want = append(want, key)
					}
				}
				if !slices.Equal(found, want) {
					t.Fatalf("found %v, expected %v", found, want)
				}
			default:
				key := fmt.Sprintf("tap/%02d", rapid.IntRange(0, 19).Draw(t, "key"))
				n := g.Ensure(key, nil, nil)
				v := value()
				if exists[key] = rapid.Bool().Draw(t, "exists"); !exists[key] {
					v = nil
				}
				exist(g, n, v)
			}
		}
	})
}
