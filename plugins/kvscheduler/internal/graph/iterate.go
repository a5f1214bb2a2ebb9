package graph

import (
	"slices"
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

// Batches iterates over the nodes whose key has the prefix, in the order of keys,
// many at a time: their keys need not be read, and who looks at one after the
// other lets the processor wait for several at once. The list is good until yield
// returns.
func (g *Graph) Batches(prefix string, yield func([]*Node)) {
	batch := make([]*Node, 0, stride)
	within := func(n *Node) bool { return strings.HasPrefix(n.Key, prefix) }
	hand := func() (more bool) {
		if more = within(batch[len(batch)-1]); !more {
			batch = batch[:slices.IndexFunc(batch, func(n *Node) bool { return !within(n) })]
		}
		yield(batch)
		batch = batch[:0]
		return more
	}
	done := false
	g.From(prefix, func(n *Node) bool {
		if batch = append(batch, n); len(batch) == stride {
			done = !hand()
		}
		return !done
	})
	if len(batch) > 0 {
		hand()
	}
}
