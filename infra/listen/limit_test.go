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
		{4096, 1, 1024, 535},
		{0, 1, 1024, 535},
		{4096, 2, 1024, 267},
		{100, 2, 1024, 100},
		{4096, 1, 64, 10},
		{4096, 2, 64, 5},
		{4096, 2, 16, 4},
		{2, 1, 64, 2},
		{0, 1, 1 << 63, 573415},
	} {
		if got := HTTP.connections(test.configured, test.listeners, test.files); got != test.want {
			t.Errorf("%+v: %d", test, got)
		}
	}
	if n := GRPC.connections(0, 1, 64); n != 6 {
		t.Errorf("gRPC: %d connections", n)
	}
	if n := MaxConnections(HTTP, 0, 1); n < leastConnections {
		t.Errorf("%d connections", n)
	}
}
