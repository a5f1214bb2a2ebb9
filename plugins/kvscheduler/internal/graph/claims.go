package graph

import (
	"slices"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/registry"
)

// Claimants returns the nodes whose actual values have an identity, more than one only if
// the southbound allows that.
func (g *Graph) Claimants(c registry.Claim) []*Node { return g.claims[c] }

// claim follows the identities of the actual value of n, which becomes v.
func (g *Graph) claim(n *Node, v *registry.Value) {
	if n.Desc == nil || n.Desc.Identities == nil {
		return
	}
	for _, c := range n.Desc.Claims(n.Key, n.Have) {
		left := slices.DeleteFunc(g.claims[c], func(other *Node) bool { return other == n })
		if g.claims[c] = left; len(left) == 0 {
			delete(g.claims, c)
		}
	}
	for _, c := range n.Desc.Claims(n.Key, v) {
		if !slices.Contains(g.claims[c], n) {
			g.claims[c] = append(g.claims[c], n)
		}
	}
}
