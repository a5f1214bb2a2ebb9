package graph

import (
	"slices"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/registry"
)

// HasSpellings reports whether the key of a desired value is not canonical.
func (g *Graph) HasSpellings() bool { return len(g.spellings) > 0 }

// Spellings returns the nodes of desired values whose keys are other spellings of a canonical key.
func (g *Graph) Spellings(canonical string) []*Node { return g.spellings[canonical] }

// spell follows the spelling of the desired value of n, which becomes v.
func (g *Graph) spell(n *Node, v *registry.Value) {
	before, now := n.Desc.Spelling(n.Want), n.Desc.Spelling(v)
	if before == now {
		return
	}
	if left := slices.DeleteFunc(g.spellings[before], func(other *Node) bool { return other == n }); len(left) > 0 {
		g.spellings[before] = left
	} else {
		delete(g.spellings, before)
	}
	if now != "" {
		g.spellings[now] = append(g.spellings[now], n)
	}
}
