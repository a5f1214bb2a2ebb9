package graph_test

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/graph"
)

// A cursor finds what a look-up finds, in whatever order keys are asked for and
// whatever comes and goes meanwhile.
func TestCursor(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		key := func(i int) string { return fmt.Sprintf("tap/%03d", i) }
		any := rapid.IntRange(0, 499)
		g := graph.New()
		set := func(i int, exists bool) {
			n := g.Ensure(key(i), nil, nil)
			if exists {
				g.SetWant(n, value())
			} else {
				g.SetWant(n, nil)
			}
			g.Forget(n)
		}
		step := rapid.IntRange(1, 3).Draw(t, "step")
		for i := 0; i < 400; i += step {
			set(i, true)
		}
		cursor := g.Cursor(rapid.SampledFrom([]int{1, 1000}).Draw(t, "expected"))
		for i := 0; i < 500; {
			if got, want := cursor.Node(key(i)), g.Node(key(i)); got != want {
				t.Fatalf("%s: found %v, expected %v", key(i), got, want)
			}
			switch rapid.IntRange(0, 20).Draw(t, "next") {
			case 0:
				i = any.Draw(t, "jump")
			case 1:
				set(any.Draw(t, "changed"), rapid.Bool().Draw(t, "exists"))
			default:
				i += rapid.IntRange(1, 5).Draw(t, "distance")
			}
		}
	})
}
