package graph

import (
	"hash/maphash"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/pages"
)

// table finds nodes by key. It is a hash table like a map, but a look-up waits
// for memory once instead of three times before it gets to the node, and
// growing it does not read the keys.
type table struct {
	seed  maphash.Seed
	slots []slot // a power of two, at most three quarters of them in use
	count int
}

// slot is where a node is: in the place that its hash asks for, or one that
// follows, without a free one in between.
type slot struct {
	node *Node // nil: free
	hash uint32
}

const firstSlots = 16

func newTable() table {
	return table{seed: maphash.MakeSeed(), slots: make([]slot, firstSlots)}
}

func (t *table) hash(key string) uint32 { return uint32(maphash.String(t.seed, key)) }

// find returns the node of a key, nil if there is none.
func (t *table) find(key string) *Node {
	h := t.hash(key)
	return t.slots[t.search(h, key)].node
}

// search returns the place of a key, or the free one where it would be.
func (t *table) search(hash uint32, key string) uint32 {
	last := uint32(len(t.slots) - 1)
	for at := hash & last; ; at = (at + 1) & last {
		s := &t.slots[at]
		if s.node == nil || s.hash == hash && s.node.Key == key {
			return at
		}
	}
}

// findOrAdd returns the node of a key; if there is none, a new one.
func (t *table) findOrAdd(key string) (n *Node, added bool) {
	h := t.hash(key)
	at := t.search(h, key)
	if n = t.slots[at].node; n != nil {
		return n, false
	}
	n = &Node{Key: key, hash: h}
	if t.count++; 4*t.count > 3*len(t.slots) {
		t.grow()
		at = t.search(h, key)
	}
	t.slots[at] = slot{n, h}
	return n, true
}

// grow doubles the table.
func (t *table) grow() {
	old := t.slots
	t.slots = pages.Make(2*len(old), func(s *slot) { s.hash = 0 })
	last := uint32(len(t.slots) - 1)
	for _, s := range old {
		if s.node == nil {
			continue
		}
		at := s.hash & last
		for t.slots[at].node != nil {
			at = (at + 1) & last
		}
		t.slots[at] = s
	}
}

// remove takes out a node, if it is there. Those that follow move up, as far as
// that brings them nearer to their places.
func (t *table) remove(n *Node) {
	last := uint32(len(t.slots) - 1)
	free := n.hash & last
	for ; t.slots[free].node != n; free = (free + 1) & last {
		if t.slots[free].node == nil {
			return
		}
	}
	for at := (free + 1) & last; t.slots[at].node != nil; at = (at + 1) & last {
		if wants := t.slots[at].hash & last; (at-wants)&last >= (at-free)&last {
			t.slots[free] = t.slots[at]
			free = at
		}
	}
	t.slots[free] = slot{}
	t.count--
}
