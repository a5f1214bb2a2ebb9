package plan

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestMergeRuns(t *testing.T) {
	t.Parallel()
	type item struct{ key, place int }
	rapid.Check(t, func(t *rapid.T) {
		keys := rapid.SliceOf(rapid.IntRange(0, 20)).Draw(t, "keys")
		var list []item
		for i, key := range keys {
			list = append(list, item{key, i})
		}
		want := slices.Clone(list)
		slices.SortStableFunc(want, func(a, b item) int { return a.key - b.key })
		if got := mergeRuns(list, func(a, b item) bool { return a.key < b.key }); !slices.Equal(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
	})
}
