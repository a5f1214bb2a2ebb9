package descriptor

import (
	"context"
	"net/netip"
	"testing"

	"github.com/tenuto-dev/tenuto/plugins/vpp/l3plugin/vppcalls"
)

// A read during which a route is created does not replace the remembered paths
// without an interface: the new route may use the index of an interface that is gone.
func TestLoosePathsReadDuringCreation(t *testing.T) {
	t.Parallel()
	gone := vppcalls.Route{Destination: netip.MustParsePrefix("10.0.0.0/24"), Path: vppcalls.Path{SwIfIndex: 5}}
	read := looseSet{}
	read.add(gone)
	for name, test := range map[string]struct {
		during func(l *loosePaths)
		want   int
	}{
		"nothing":  {func(*loosePaths) {}, 1},
		"begins":   {func(l *loosePaths) { _ = l.clear(t.Context(), nil) }, 0},
		"finishes": {(*loosePaths).created, 0},
	} {
		var l loosePaths
		done := l.reading()
		test.during(&l)
		done(read)
		pruned := 0
		if err := l.clear(t.Context(), func(context.Context, uint32, netip.Prefix, map[uint32]bool) error { pruned++; return nil }); err != nil || pruned != test.want {
			t.Errorf("a creation %s: %d pruned, want %d (%v)", name, pruned, test.want, err)
		}
	}
}
