// Package hashindex finds the positions of elements in a list by the hashes of their
// keys.
//
// It does what a map from keys to pointers does, but a look-up waits for memory
// once instead of three times before it gets to the list, growing does not read
// the keys, and the collector of garbage has nothing to follow: the pointers of a
// map lead it across all of the memory, those of a list lead it along.
package hashindex

// Table is a hash table of positions in a list. The zero value is empty. It is not safe for
// concurrent use.
type Table struct {
	slots []slot // a power of two, at most three quarters of them in use
	count int
}

// slot is a place, in the slot that its hash asks for, or one that follows,
// without a free one in between.
type slot struct {
	hash uint32
	next int32 // after the place; 0: free
}

const fewest = 16

// Len is the number of places.
func (t *Table) Len() int { return t.count }

// Grow makes room for n more.
func (t *Table) Grow(n int) {
	size := max(fewest, len(t.slots))
	for 4*(t.count+n) > 3*size {
		size *= 2
	}
	if size == len(t.slots) {
		return
	}
	old := t.slots
	t.slots = make([]slot, size)
	for _, s := range old {
		if s.next != 0 {
			t.slots[t.free(s.hash)] = s
		}
	}
}

func (t *Table) last() uint32 { return uint32(len(t.slots) - 1) }

// free is the slot for a hash.
func (t *Table) free(hash uint32) uint32 {
	last := t.last()
	at := hash & last
	for t.slots[at].next != 0 {
		at = (at + 1) & last
	}
	return at
}

// Search is a search for the places with a hash.
type Search struct{ hash, at uint32 }

// Search begins a search.
func (t *Table) Search(hash uint32) Search { return Search{hash, hash} }

// Next returns the next place; false if there is none. The table must not change
// meanwhile.
func (t *Table) Next(s *Search) (place int32, ok bool) {
	if t.count == 0 {
		return 0, false
	}
	last := t.last()
	for {
		found := &t.slots[s.at&last]
		if found.next == 0 {
			return 0, false
		}
		s.at++
		if found.hash == s.hash {
			return found.next - 1, true
		}
	}
}

// Add adds a place, which must not be there.
func (t *Table) Add(hash uint32, place int32) {
	t.Grow(1)
	t.slots[t.free(hash)] = slot{hash, place + 1}
	t.count++
}

// Remove takes out a place, if it is there. Those that follow move up, as far as
// that brings them nearer to where their hashes ask for.
func (t *Table) Remove(hash uint32, place int32) {
	if t.count == 0 {
		return
	}
	last := t.last()
	free := hash & last
	for ; t.slots[free] != (slot{hash, place + 1}); free = (free + 1) & last {
		if t.slots[free].next == 0 {
			return
		}
	}
	for at := (free + 1) & last; t.slots[at].next != 0; at = (at + 1) & last {
		if wants := t.slots[at].hash & last; (at-wants)&last >= (at-free)&last {
			t.slots[free] = t.slots[at]
			free = at
		}
	}
	t.slots[free] = slot{}
	t.count--
}
