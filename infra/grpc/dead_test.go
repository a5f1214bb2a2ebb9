package grpc_test

import (
	"strconv"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	rpc "google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/tenuto-dev/tenuto/infra/grpc"
	"github.com/tenuto-dev/tenuto/infra/infratest"
	"github.com/tenuto-dev/tenuto/infra/kv/kvtest"
)

// A client that is gone without a word, as when a cable is pulled, is cut off when
// it does not answer: the contexts of its calls end, and its place is free for
// another one.
func TestClientThatIsGone(t *testing.T) {
	t.Parallel()
	reg := registry{prometheus.NewRegistry()}
	p, _, svc := start(t, anyPort+"max-connections: 1\nkeepalive-time: 1s\nkeepalive-timeout: 5s\n", grpc.UseMetrics(reg))
	cable := kvtest.NewProxy(t, p.Addr().String())
	conn := dial(t, tcp(cable.Addr), nil)
	const streams = 50
	for range streams {
		stream, err := conn.NewStream(t.Context(), &rpc.StreamDesc{ServerStreams: true}, "/test.Echo/Hang")
		infratest.Fatal(t, err)
		infratest.Fatal(t, stream.SendMsg(&emptypb.Empty{}))
		<-svc.hanging
	}
	reg.want(t, "grpc_server_connections 1\n")
	defer cable.Partition()()
	if got, err := say(t.Context(), dial(t, p.Addr(), nil), "hi", rpc.WaitForReady(true)); got != "hi" || err != nil {
		t.Errorf("the next client got %q, %v", got, err)
	}
	reg.want(t, `grpc_server_handled_total{grpc_code="Unavailable",grpc_method="Hang",grpc_service="test.Echo",grpc_type="server_stream"} `+strconv.Itoa(streams)+"\n")
	reg.want(t, "grpc_server_connections 1\n")
}

// tcp is the address of a proxy.
type tcp string

func (tcp) Network() string  { return "tcp" }
func (a tcp) String() string { return string(a) }
