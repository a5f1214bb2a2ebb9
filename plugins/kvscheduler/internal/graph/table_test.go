package graph

import (
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

// The table has what a map would have, whatever comes and goes.
func TestTable(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		table, expected := newTable(), map[string]*Node{}
		keys := rapid.SampledFrom([]int{12, 100, 1000}).Draw(t, "keys")
		for range rapid.IntRange(1, 2000).Draw(t, "steps") {
			key := strconv.Itoa(rapid.IntRange(0, keys-1).Draw(t, "key"))
			if n, ok := expected[key]; ok && rapid.IntRange(0, 2).Draw(t, "remove") > 0 {
				table.remove(n)
				delete(expected, key)
			} else if got, added := table.findOrAdd(key); added == ok || ok && got != n || got.Key != key {
				t.Fatalf("%s: %v, added %v, expected %v", key, got, added, n)
			} else {
				expected[key] = got
			}
		}
		for i := range keys {
			key := strconv.Itoa(i)
			if got := table.find(key); got != expected[key] {
				t.Fatalf("%s: %v, expected %v", key, got, expected[key])
			}
		}
		if table.byHash.Len() != len(expected) {
			t.Errorf("%d nodes, expected %d", table.byHash.Len(), len(expected))
		}
	})
}
