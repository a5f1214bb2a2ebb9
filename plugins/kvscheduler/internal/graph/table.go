package graph

import (
	"hash/maphash"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/hashindex"
)

// table finds nodes by key, and numbers them; see package hashindex.
type table struct {
	seed   maphash.Seed
	byHash hashindex.Table // of the numbers
	nodes  []*Node         // by number; nil: free
	free   []int32         // numbers
}

func newTable() table { return table{seed: maphash.MakeSeed()} }

func (t *table) hash(key string) uint32 { return uint32(maphash.String(t.seed, key)) }

// find returns the node of a key, nil if there is none.
func (t *table) find(key string) *Node { return t.search(t.hash(key), key) }

func (t *table) search(hash uint32, key string) *Node {
	for s := t.byHash.Search(hash); ; {
		number, ok := t.byHash.Next(&s)
		if !ok {
			return nil
		}
		if n := t.nodes[number]; n.Key == key {
			return n
		}
	}
}

// findOrAdd returns the node of a key; if there is none, a new one.
func (t *table) findOrAdd(key string) (n *Node, added bool) {
	h := t.hash(key)
	if n = t.search(h, key); n != nil {
		return n, false
	}
	n = &Node{Key: key, hash: h}
	if last := len(t.free) - 1; last >= 0 {
		n.number, t.free = t.free[last], t.free[:last]
		t.nodes[n.number] = n
	} else {
		n.number = int32(len(t.nodes))
		t.nodes = append(t.nodes, n)
	}
	t.byHash.Add(h, n.number)
	return n, true
}

// remove takes out a node, if it is there.
func (t *table) remove(n *Node) {
	if t.nodes[n.number] != n {
		return
	}
	t.byHash.Remove(n.hash, n.number)
	t.nodes[n.number] = nil
	t.free = append(t.free, n.number)
}
