package vnet

import "iter"

// pool hands out indexes as VPP's pools do: the one freed last is used first.
type pool[T any] struct {
	items []*T
	free  []uint32
}

// add stores an item and returns its index.
func (p *pool[T]) add(item *T) uint32 {
	if last := len(p.free) - 1; last >= 0 {
		index := p.free[last]
		p.free = p.free[:last]
		p.items[index] = item
		return index
	}
	p.items = append(p.items, item)
	return uint32(len(p.items) - 1)
}

// next returns the index that add will return.
func (p *pool[T]) next() uint32 {
	if last := len(p.free) - 1; last >= 0 {
		return p.free[last]
	}
	return uint32(len(p.items))
}

// remove frees an index in use.
func (p *pool[T]) remove(index uint32) {
	p.items[index] = nil
	p.free = append(p.free, index)
}

// at returns the item of an index, nil if it is free.
func (p *pool[T]) at(index uint32) *T {
	if uint64(index) >= uint64(len(p.items)) {
		return nil
	}
	return p.items[index]
}

// find returns the first item that matches and its index, nil if none does.
func (p *pool[T]) find(matches func(*T) bool) (uint32, *T) {
	for index, item := range p.all() {
		if matches(item) {
			return index, item
		}
	}
	return none, nil
}

// all walks the items in the order of their indexes.
func (p *pool[T]) all() iter.Seq2[uint32, *T] {
	return func(yield func(uint32, *T) bool) {
		for index, item := range p.items {
			if item != nil && !yield(uint32(index), item) {
				return
			}
		}
	}
}

// kind is the interfaces of one kind, each with what it was made from. Its pool is by
// the instance that the interfaces have in VPP.
type kind[T any] struct {
	pool[made[T]]
	names instances // the numbers in the names of the interfaces, if users can choose them
}

// made is an interface and what it was made from, with what VPP filled in.
type made[T any] struct {
	swIndex uint32
	config  T
}

// keep notes what a new interface was made from.
func (k *kind[T]) keep(i *swInterface, config *T) {
	i.hw.instance = k.add(&made[T]{i.index, *config})
}

// with finds the interface whose configuration matches, nil if there is none.
func (k *kind[T]) with(matches func(*T) bool) (instance uint32, has *made[T]) {
	return k.find(func(m *made[T]) bool { return matches(&m.config) })
}

// of walks the interfaces that a dump asks for.
func (k *kind[T]) of(asked ifIndex) iter.Seq2[ifIndex, *T] {
	return func(yield func(ifIndex, *T) bool) {
		for _, m := range k.all() {
			if selects(asked, m.swIndex) && !yield(ifIndex(m.swIndex), &m.config) {
				return
			}
		}
	}
}

// instances hands out numbers as VPP's bitmaps do: the lowest clear one.
type instances struct {
	used map[uint32]struct{}
	low  uint32 // no number below is free
}

// take returns the lowest free number.
func (s *instances) take() uint32 {
	for !s.claim(s.low) {
		s.low++
	}
	s.low++
	return s.low - 1
}

// claim takes a certain number; false if it is in use.
func (s *instances) claim(n uint32) bool {
	if s.inUse(n) {
		return false
	}
	if s.used == nil {
		s.used = make(map[uint32]struct{})
	}
	s.used[n] = struct{}{}
	return true
}

func (s *instances) inUse(n uint32) bool {
	_, used := s.used[n]
	return used
}

func (s *instances) release(n uint32) {
	delete(s.used, n)
	s.low = min(s.low, n)
}

// len returns how many numbers are in use.
func (s *instances) len() int { return len(s.used) }
