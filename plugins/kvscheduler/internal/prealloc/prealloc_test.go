package prealloc_test

import (
	"testing"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/prealloc"
)

type entry struct {
	_      string
	number int32
}

type wide struct {
	_      [1000]string
	number int32
}

func TestWritesToEachPage(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 100, 10_000} {
		written := 0
		list := prealloc.Make(n, func(e *entry) { e.number = 0; written++ })
		bytes := n * 24
		if len(list) != n || written < bytes/4096 || written > bytes/4000+1 {
			t.Errorf("%d entries: %d in the list, %d written", n, len(list), written)
		}
	}
	written := 0
	if prealloc.Make(3, func(w *wide) { w.number = 0; written++ }); written != 3 {
		t.Errorf("of what is larger than a page, 3 entries: %d written", written)
	}
}

func TestAppendDoubles(t *testing.T) {
	t.Parallel()
	var list []int
	grown := 0
	for i := range 10_000 {
		before := cap(list)
		if list = prealloc.Append(list, i); cap(list) != before {
			grown++
		}
	}
	if len(list) != 10_000 || list[0] != 0 || list[9_999] != 9_999 || grown > 14 {
		t.Errorf("%d values in a list that was made larger %d times", len(list), grown)
	}
}
