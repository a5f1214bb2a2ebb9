package dag_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/dag"
)

// reaches is the transitive closure of edges.
func reaches(edges [][]int32) [][]bool {
	r := make([][]bool, len(edges))
	for from := range edges {
		r[from] = make([]bool, len(edges))
		for todo := slices.Clone(edges[from]); len(todo) > 0; todo = todo[1:] {
			if to := todo[0]; !r[from][to] {
				r[from][to] = true
				todo = append(todo, edges[to]...)
			}
		}
	}
	return r
}

// TestSCC compares the components of random graphs with what reaches what.
func TestSCC(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 12).Draw(t, "nodes")
		edges := make([][]int32, n)
		for i := range edges {
			edges[i] = rapid.SliceOfN(rapid.Int32Range(0, int32(n)-1), 0, 3).Draw(t, fmt.Sprintf("edges of %d", i))
		}
		component, cycles, count := make([]int, n), make([]bool, n), 0
		s := &dag.SCC{
			Next: func(out []int32, node int32) []int32 { return append(out, edges[node]...) },
			Found: func(nodes []int32, cyclic bool) {
				count++
				for _, node := range nodes {
					if component[node] != 0 {
						t.Fatalf("node %d is in two components", node)
					}
					component[node], cycles[node] = count, cyclic
				}
			},
		}
		for _, node := range rapid.Permutation(slices.Collect(func(yield func(int32) bool) {
			for i := range int32(n) {
				if !yield(i) {
					return
				}
			}
		})).Draw(t, "order") {
			s.Visit(node)
		}
		r := reaches(edges)
		for a := range n {
			if cycles[a] != r[a][a] {
				t.Errorf("node %d: cyclic %v, leads to itself %v", a, cycles[a], r[a][a])
			}
			for b := range n {
				if same := a == b || r[a][b] && r[b][a]; same != (component[a] == component[b]) {
					t.Errorf("nodes %d and %d: lead to each other %v, components %d and %d", a, b, same, component[a], component[b])
				}
				if r[a][b] && component[a] < component[b] {
					t.Errorf("component %d of node %d comes before %d of %d, which it leads to", component[a], a, component[b], b)
				}
			}
		}
	})
}
