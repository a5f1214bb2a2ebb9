package graph

import "hash/maphash"

// table finds nodes by key, and numbers them. It is a hash table of positions in a list.
//
// It does what a map from keys to nodes does, with less memory and time: a look-up waits
// for memory once instead of three times before it gets to the list, growing does not read
// the keys, and the pointers of a list lead the garbage collector along the memory, those
// of a map across it.
type table struct {
	seed  maphash.Seed
	slots []slot // a power of two, at most three quarters of them in use
	used  int
	nodes []*Node // by number; nil: free
	free  []int32 // numbers
}

// slot is in the place that its hash asks for, or in one that follows, without a free one
// in between.
type slot struct {
	hash uint32
	next int32 // number of the node + 1; 0: free
}

func newTable() table { return table{seed: maphash.MakeSeed(), slots: make([]slot, 16)} }

func (t *table) hash(key string) uint32 { return uint32(maphash.String(t.seed, key)) }

func (t *table) last() uint32 { return uint32(len(t.slots) - 1) }

// find returns the node of a key, nil if there is none.
func (t *table) find(hash uint32, key string) *Node {
	last := t.last()
	for at := hash & last; t.slots[at].next != 0; at = (at + 1) & last {
		if t.slots[at].hash != hash {
			continue
		}
		if n := t.nodes[t.slots[at].next-1]; n.Key == key {
			return n
		}
	}
	return nil
}

// add returns a new node of a key, which must not have one.
func (t *table) add(hash uint32, key string) *Node {
	n := &Node{Key: key, hash: hash, Number: int32(len(t.nodes))}
	if last := len(t.free) - 1; last >= 0 {
		n.Number, t.free = t.free[last], t.free[:last]
		t.nodes[n.Number] = n
	} else {
		t.nodes = append(t.nodes, n)
	}
	if t.used++; 4*t.used > 3*len(t.slots) {
		old := t.slots
		t.slots = make([]slot, 2*len(old))
		for _, s := range old {
			if s.next != 0 {
				t.put(s)
			}
		}
	}
	t.put(slot{hash, n.Number + 1})
	return n
}

func (t *table) put(s slot) {
	last := t.last()
	at := s.hash & last
	for t.slots[at].next != 0 {
		at = (at + 1) & last
	}
	t.slots[at] = s
}

// remove takes out a node, if it is there. The slots that follow its own move up, as far
// as that brings them nearer to where their hashes ask for.
func (t *table) remove(n *Node) {
	if t.nodes[n.Number] != n {
		return
	}
	t.nodes[n.Number] = nil
	t.free = append(t.free, n.Number)
	t.used--
	last := t.last()
	free := n.hash & last
	for t.slots[free] != (slot{n.hash, n.Number + 1}) {
		free = (free + 1) & last
	}
	for at := (free + 1) & last; t.slots[at].next != 0; at = (at + 1) & last {
		if wants := t.slots[at].hash & last; (at-wants)&last >= (at-free)&last {
			t.slots[free] = t.slots[at]
			free = at
		}
	}
	t.slots[free] = slot{}
}
