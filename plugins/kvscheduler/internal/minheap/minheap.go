// Package minheap is a binary heap of ordered values, without the boxing of
// container/heap.
package minheap

import "cmp"

// Heap has its least element at index 0. A sorted slice is a heap.
type Heap[T cmp.Ordered] []T

// Push adds an element.
func (h *Heap[T]) Push(x T) {
	s := append(*h, x)
	for i := len(s) - 1; i > 0; {
		parent := (i - 1) / 2
		if s[parent] <= s[i] {
			break
		}
		s[parent], s[i] = s[i], s[parent]
		i = parent
	}
	*h = s
}

// Pop removes the least element; the heap must not be empty.
func (h *Heap[T]) Pop() T {
	s := *h
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
	*h = s
	return least
}
