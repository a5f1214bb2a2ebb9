package graph

import (
	"fmt"
	"slices"
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
			n, h := expected[key], table.hash(key)
			if got := table.find(h, key); got != n {
				t.Fatalf("%s: %v, expected %v", key, got, n)
			}
			if n == nil {
				expected[key] = table.add(h, key)
			} else if rapid.IntRange(0, 2).Draw(t, "remove") > 0 {
				table.remove(n)
				delete(expected, key)
			}
		}
		for i := range keys {
			key := strconv.Itoa(i)
			if got := table.find(table.hash(key), key); got != expected[key] {
				t.Fatalf("%s: %v, expected %v", key, got, expected[key])
			}
		}
		if table.used != len(expected) {
			t.Errorf("%d nodes, expected %d", table.used, len(expected))
		}
	})
}

// The table finds all nodes that were added and not removed, in any order of
// changes and however many have the same hash. No two nodes have the same
// number.
func TestTableCollisions(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		table := newTable()
		expected := map[uint32][]*Node{}
		var removed []*Node
		hash := rapid.Uint32Range(0, rapid.SampledFrom([]uint32{3, 100, 1 << 31}).Draw(t, "hashes"))
		for i := range rapid.IntRange(1, 1000).Draw(t, "steps") {
			h := hash.Draw(t, "hash")
			if there := expected[h]; len(there) > 0 && rapid.IntRange(0, 2).Draw(t, "remove") > 0 {
				gone := rapid.SampledFrom(there).Draw(t, "node")
				table.remove(gone)
				table.remove(gone) // is not there
				expected[h] = slices.DeleteFunc(there, func(n *Node) bool { return n == gone })
				removed = append(removed, gone)
			} else {
				expected[h] = append(there, table.add(h, fmt.Sprint(i)))
			}
		}
		count, numbers := 0, map[int32]bool{}
		for h, nodes := range expected {
			for _, n := range nodes {
				if got := table.find(h, n.Key); got != n {
					t.Fatalf("hash %d, key %s: %v, expected %v", h, n.Key, got, n)
				}
				numbers[n.Number] = true
				count++
			}
		}
		for _, n := range removed {
			if got := table.find(n.hash, n.Key); got != nil {
				t.Fatalf("hash %d, key %s: %v, expected none", n.hash, n.Key, got)
			}
		}
		if table.used != count || len(numbers) != count {
			t.Errorf("%d nodes with %d numbers, expected %d", table.used, len(numbers), count)
		}
	})
}
