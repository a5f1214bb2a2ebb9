package plan

import "github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/prealloc"

// slab allocates values in blocks, because a large plan is made of many small
// ones that live and die together. The blocks of a small plan are small.
type slab[T any] struct {
	free  []T
	size  int      // of the last block
	write func(*T) // see package prealloc; nil: there is nothing but pointers
}

const (
	firstSlab = 4
	lastSlab  = 1024 // of words: pages without a rest
)

func (s *slab[T]) next() *T {
	if len(s.free) == 0 {
		s.size = min(max(firstSlab, 2*s.size), lastSlab)
		if s.write == nil {
			s.free = make([]T, s.size)
		} else {
			s.free = prealloc.Make(s.size, s.write)
		}
	}
	v := &s.free[0]
	s.free = s.free[1:]
	return v
}
