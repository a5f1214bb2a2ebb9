package dag

import "cmp"

// Heap is a priority queue that returns its least element first. Elements that are
// pushed in order, as most are, are kept in a list and cost next to nothing; the
// others are in a binary heap. Unlike container/heap it does not box them. The zero
// value is empty.
type Heap[T cmp.Ordered] struct {
	list []T // ascending
	head int // list[:head] was popped
	heap []T
}

// Grow makes room for n elements.
func (h *Heap[T]) Grow(n int) { h.list = append(make([]T, 0, len(h.list)+n), h.list...) }

// Len is the number of elements.
func (h *Heap[T]) Len() int { return len(h.list) - h.head + len(h.heap) }

// Min returns the least element; the heap must not be empty.
func (h *Heap[T]) Min() T {
	if h.listed() {
		return h.list[h.head]
	}
	return h.heap[0]
}

// listed reports whether the least element is in the list.
func (h *Heap[T]) listed() bool {
	return h.head < len(h.list) && (len(h.heap) == 0 || h.list[h.head] <= h.heap[0])
}

// Push adds an element.
func (h *Heap[T]) Push(x T) {
	if h.head == len(h.list) {
		h.list, h.head = h.list[:0], 0
	}
	if last := len(h.list) - 1; last < 0 || h.list[last] <= x {
		h.list = append(h.list, x)
		return
	}
	s := append(h.heap, x)
	for i := len(s) - 1; i > 0; {
		parent := (i - 1) / 2
		if s[parent] <= s[i] {
			break
		}
		s[parent], s[i] = s[i], s[parent]
		i = parent
	}
	h.heap = s
}

// Pop removes the least element; the heap must not be empty.
func (h *Heap[T]) Pop() T {
	if h.listed() {
		h.head++
		return h.list[h.head-1]
	}
	s := h.heap
	least, last := s[0], len(s)-1
	s[0] = s[last]
	s = s[:last]
	for i := 0; ; {
		child := 2*i + 1
		if child >= last {
			break
		}
		if child+1 < last && s[child+1] < s[child] {
			child++
		}
		if s[i] <= s[child] {
			break
		}
		s[i], s[child] = s[child], s[i]
		i = child
	}
	h.heap = s
	return least
}
