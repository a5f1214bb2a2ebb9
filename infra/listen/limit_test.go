package listen

import "testing"

func TestShare(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		configured, listeners int
		files                 uint64
		want                  int
	}{
		{4096, 1, 1 << 20, 4096},
		{4096, 1, 1024, 428},
		{0, 1, 1024, 428},
		{4096, 2, 1024, 214},
		{100, 2, 1024, 100},
		{4096, 1, 64, 8},
		{4096, 2, 64, 4},
		{4096, 2, 16, 4},
		{2, 1, 64, 2},
		{0, 1, 1 << 63, 458732},
	} {
		if got := share(test.configured, test.listeners, test.files); got != test.want {
			t.Errorf("%+v: %d", test, got)
		}
	}
	if n := MaxConnections(0, 1); n < leastConnections {
		t.Errorf("%d connections", n)
	}
}
