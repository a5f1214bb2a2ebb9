package plan

// slab allocates values in blocks, because a large plan is made of many small
// ones that live and die together. The blocks of a small plan are small.
type slab[T any] struct {
	free []T
	size int // of the last block
}

const (
	firstSlab = 4
	lastSlab  = 1024
)

func (s *slab[T]) next() *T {
	if len(s.free) == 0 {
		s.size = min(max(firstSlab, 2*s.size), lastSlab)
		s.free = make([]T, s.size)
	}
	v := &s.free[0]
	s.free = s.free[1:]
	return v
}
