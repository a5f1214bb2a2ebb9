package plan

// slab allocates values in blocks, because a large plan is made of many small
// ones that live and die together.
type slab[T any] struct{ free []T }

const slabSize = 256

func (s *slab[T]) next() *T {
	if len(s.free) == 0 {
		s.free = make([]T, slabSize)
	}
	v := &s.free[0]
	s.free = s.free[1:]
	return v
}
