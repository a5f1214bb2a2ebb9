package orchestrator_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/tenuto-dev/tenuto/infra/infratest"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator"
)

// BenchmarkOne changes one item, the whole way from its source to a mock
// southbound, among a thousand and among a hundred thousand.
func BenchmarkOne(b *testing.B) {
	const flat = 2
	among := func(n int) func() time.Duration {
		w := start(b, nil)
		w.waitSynced()
		items := make([]orchestrator.KeyVal, n)
		for i := range items {
			items[i] = iface(fmt.Sprintf("if%06d", i), 1500)
		}
		w.push("grpc", items...)
		mtu := uint32(2000)
		return func() time.Duration {
			mtu++
			return infratest.Took(func() { w.push("grpc", iface("if000500", mtu)) })
		}
	}
	for range b.N {
		m := infratest.Medians(500, among(1000), among(100_000))
		infratest.AtMost(b, "push-one-100k/1k", float64(m[1])/float64(m[0]), "x", flat)
	}
}
