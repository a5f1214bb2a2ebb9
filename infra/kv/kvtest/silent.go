package kvtest

import (
	"testing"

	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/tenuto-dev/tenuto/infra/health"
	"github.com/tenuto-dev/tenuto/infra/kv"
)

// Silent checks what a client does when its server is gone without a word, as when
// a cable is pulled: it finds out although nobody closes the connection and nobody
// asks for anything, and has what it missed when the server answers again. client
// is connected through the proxy of the server, whose health is in the tree, and
// other directly.
func Silent(tb testing.TB, server *Process, client kv.Store, tree *health.Tree, other kv.Connector) {
	tb.Helper()
	recorder := Record(tb, client, "/silent/")
	recorder.Await(1, "")
	AwaitHealth(tb, tree, health.OK, "")
	heal := server.Proxy.Partition()
	defer heal()
	AwaitHealth(tb, tree, health.Degraded, "")
	if err := other.Put("/silent/a", wrapperspb.Int32(1)); err != nil {
		tb.Fatal(err)
	}
	heal()
	AwaitHealth(tb, tree, health.OK, "")
	recorder.Await(1, "a=1")
}
