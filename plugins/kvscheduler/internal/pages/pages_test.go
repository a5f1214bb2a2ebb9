package pages_test

import (
	"testing"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/pages"
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
		list := pages.Make(n, func(e *entry) { e.number = 0; written++ })
		bytes := n * 24
		if len(list) != n || written < bytes/4096 || written > bytes/4000+1 {
			t.Errorf("%d entries: %d in the list, %d written", n, len(list), written)
		}
	}
	written := 0
	if pages.Make(3, func(w *wide) { w.number = 0; written++ }); written != 3 {
		t.Errorf("of what is larger than a page, 3 entries: %d written", written)
	}
}
