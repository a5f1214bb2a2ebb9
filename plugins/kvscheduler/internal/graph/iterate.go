package graph

import (
	"strings"
)

// Ascend iterates over the nodes whose key has the prefix, in the order of
// keys, until yield returns false.
func (g *Graph) Ascend(prefix string, yield func(*Node) bool) {
	g.sorted.AscendGreaterOrEqual(&Node{Key: prefix}, func(n *Node) bool {
		return strings.HasPrefix(n.Key, prefix) && yield(n)
	})
}

// Nodes iterates over all nodes in the order of keys.
func (g *Graph) Nodes(yield func(*Node) bool) { g.sorted.Ascend(yield) }

// From iterates over the nodes in the order of keys, from a key on, until
// yield returns false.
func (g *Graph) From(key string, yield func(*Node) bool) {
	g.sorted.AscendGreaterOrEqual(&Node{Key: key}, yield)
}
