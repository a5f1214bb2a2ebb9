package kvtest

import (
	"testing"

	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/tenuto-dev/tenuto/infra/health"
	"github.com/tenuto-dev/tenuto/infra/kv"
)

// Silent checks the behaviour of a client whose server disappears without closing
// the connection, as when a cable is pulled: the client notices without a request,
// and gets the missed changes when the server responds again. client is connected
// through the proxy of the server, and its health is in the tree; other is
// connected directly.
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
