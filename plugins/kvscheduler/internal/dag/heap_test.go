package dag_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/dag"
)

func TestPopsInOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var h dag.Heap[int]
		var left []int
		for range rapid.IntRange(0, 50).Draw(t, "steps") {
			if h.Len() > 0 && rapid.Bool().Draw(t, "pop") {
				slices.Sort(left)
				if low, got := h.Min(), h.Pop(); got != left[0] || low != got {
					t.Fatalf("popped %d, expected %d", got, left[0])
				}
				left = left[1:]
				continue
			}
			x := rapid.IntRange(0, 9).Draw(t, "x")
			h.Push(x)
			left = append(left, x)
		}
	})
}
