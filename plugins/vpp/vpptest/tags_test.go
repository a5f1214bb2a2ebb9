package vpptest_test

import (
	"testing"

	"github.com/tenuto-dev/tenuto/plugins/vpp/vpptest"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

// What happens to the tags of a sub-interface outlives its bridge domain and its
// cross-connect, although VPP forgets it with them.
func TestTagRewriteOutlivesLayer2(t *testing.T) {
	vpptest.OnBoth(t, func(t *testing.T, target vpptest.Target) {
		b := vpptest.Start(t, target)
		sub := subif("s", "loop", 100)
		sub.GetSub().TagRwOption, sub.GetSub().Tag1 = interfaces.SubInterface_TRANSLATE11, 7
		b.Must(of(loop("loop"), loop("x"), sub))
		for _, way := range []values{of(bridge("one", "s", "x")), of(bridge("two", "s")), of(xconnect("s", "x"))} {
			b.Must(way)
			allConfigured(t, b, way)
			wantLink(t, b, sub)
			b.Must(deleted(way))
			wantLink(t, b, sub)
			b.InSync()
		}

		// From one bridge domain to the other at once.
		b.Must(of(bridge("one", "s"), bridge("two")))
		b.Must(of(bridge("one"), bridge("two", "s")))
		wantLink(t, b, sub)
		b.InSync()
	})
}
