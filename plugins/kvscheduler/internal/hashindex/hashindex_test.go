package hashindex_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/hashindex"
)

// The table finds what was added and not removed, whatever comes and goes and
// however many have the same hash.
func TestTable(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var table hashindex.Table
		expected := map[uint32][]int32{}
		count := 0
		hash := rapid.Uint32Range(0, rapid.SampledFrom([]uint32{3, 100, 1 << 31}).Draw(t, "hashes"))
		for place := range int32(rapid.IntRange(1, 1000).Draw(t, "steps")) {
			h := hash.Draw(t, "hash")
			if there := expected[h]; len(there) > 0 && rapid.IntRange(0, 2).Draw(t, "remove") > 0 {
				gone := rapid.SampledFrom(there).Draw(t, "place")
				table.Remove(h, gone)
				table.Remove(h, gone) // is not there
				expected[h] = slices.DeleteFunc(there, func(p int32) bool { return p == gone })
				count--
			} else {
				table.Add(h, place)
				expected[h] = append(there, place)
				count++
			}
		}
		for h, want := range expected {
			var got []int32
			for s := table.Search(h); ; {
				place, ok := table.Next(&s)
				if !ok {
					break
				}
				got = append(got, place)
			}
			slices.Sort(got)
			slices.Sort(want)
			if !slices.Equal(got, want) {
				t.Fatalf("hash %d: %v, expected %v", h, got, want)
			}
		}
		if table.Len() != count {
			t.Errorf("%d places, expected %d", table.Len(), count)
		}
	})
}
