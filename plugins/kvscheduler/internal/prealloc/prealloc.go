// Package prealloc makes long lists of values, most of them with pointers.
//
// Fresh memory is one page of zeros for all addresses, until it is written. But
// while garbage is collected, Go reads what a pointer replaces before it writes
// the pointer (see "write barrier" in runtime/mbarrier.go). The page is then
// there twice in succession, and as it has been read already, the kernel has to
// interrupt the other processors to replace it. A transaction that fills lists
// of a hundred thousand values may spend a tenth of its time on that. Numbers
// are written without being read; so one is written to each page first.
package prealloc

import (
	"reflect"
	"slices"
)

// size is that of a page in bytes. Where pages are larger a few writes are made
// in vain.
const size = 4096

// Make returns a list of n zero values in memory that was written. write sets
// a field that holds no pointer to zero.
func Make[T any](n int, write func(*T)) []T {
	list := make([]T, n)
	step := max(1, size/int(reflect.TypeFor[T]().Size()))
	for i := 0; i < n; i += step {
		write(&list[i])
	}
	return list
}

// Append is append for lists that become long: it doubles one that is full, which
// append makes a little larger again and again.
func Append[T any](list []T, v T) []T {
	if len(list) == cap(list) {
		list = slices.Grow(list, len(list)+1)
	}
	return append(list, v)
}
