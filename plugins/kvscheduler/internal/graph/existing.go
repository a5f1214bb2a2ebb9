package graph

import (
	"strings"

	"github.com/google/btree"
)

// patience is how many values that do not exist are passed over in search of
// one that does, before an index is made.
const patience = 4

// Existing iterates over the existing nodes whose key has the prefix, in the
// order of keys, until yield returns false. Where many values with the prefix
// do not exist, those that do are indexed for as long as a dependency names the
// prefix, so that the others cost nothing. Unlike other iterations it may change
// the graph, in a way that these do not see: it is for its one writer.
func (g *Graph) Existing(prefix string, yield func(*Node) bool) {
	g.ExistingFrom(prefix, prefix, yield)
}

// ExistingFrom is Existing without the nodes before a key.
func (g *Graph) ExistingFrom(prefix, from string, yield func(*Node) bool) {
	if index := g.existing[prefix]; index != nil {
		index.AscendGreaterOrEqual(&Node{Key: from}, yield)
		return
	}
	skipped := 0
	for n := range g.From(from) {
		switch {
		case !strings.HasPrefix(n.Key, prefix):
			return
		case n.Have != nil:
			if !yield(n) {
				return
			}
		case skipped+1 < patience || g.anyOfDependents[prefix] == nil:
			skipped++
		default:
			g.index(prefix).AscendGreaterOrEqual(n, yield)
			return
		}
	}
}

// index indexes the existing nodes with a prefix.
func (g *Graph) index(prefix string) *btree.BTreeG[*Node] {
	index := btree.NewG(32, byKey)
	for n := range g.Ascend(prefix) {
		if n.Have != nil {
			index.ReplaceOrInsert(n)
		}
	}
	g.existing[prefix] = index
	return index
}

func byKey(a, b *Node) bool { return a.Key < b.Key }

// noteExistence keeps the indexes in step with a value that came or went.
func (g *Graph) noteExistence(n *Node) {
	if len(g.existing) == 0 {
		return
	}
	for length := range g.lengths { // an index has a prefix that is named
		if length > len(n.Key) {
			continue
		}
		index := g.existing[n.Key[:length]]
		switch {
		case index == nil:
		case n.Have != nil:
			index.ReplaceOrInsert(n)
		default:
			index.Delete(n)
		}
	}
}
