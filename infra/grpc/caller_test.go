package grpc_test

import (
	"context"
	"net"
	"path/filepath"
	"strings"
	"testing"

	rpc "google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/tenuto-dev/tenuto/infra/agent/agenttest"
	"github.com/tenuto-dev/tenuto/infra/grpc"
)

// porter is a service that says who calls.
type porter interface {
	Who(ctx context.Context, in *emptypb.Empty) (*wrapperspb.StringValue, error)
}

type porterService struct{}

func (porterService) Who(ctx context.Context, _ *emptypb.Empty) (*wrapperspb.StringValue, error) {
	user, addr := grpc.Caller(ctx)
	return wrapperspb.String(user + " " + addr), nil
}

func porterDesc() *rpc.ServiceDesc {
	return &rpc.ServiceDesc{
		ServiceName: "test.Porter", HandlerType: (*porter)(nil),
		Methods: []rpc.MethodDesc{method("test.Porter", "Who", porter.Who)},
	}
}

// The user and the connection of a call are known, also where other ends have no
// names.
func TestCaller(t *testing.T) {
	t.Parallel()
	socket := filepath.Join(t.TempDir(), "s")
	p := grpc.NewPlugin(text(anyPort + "socket: " + socket + "\ntokens: [tok]\nusers: [{name: ann, token: hers, permissions: [all]}]\n"))
	if err := p.Register(porterDesc(), porterService{}); err != nil {
		t.Fatal(err)
	}
	agenttest.Start(t, p)
	who := func(conn *rpc.ClientConn, token string) string {
		var out wrapperspb.StringValue
		ctx := metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer "+token)
		if err := conn.Invoke(ctx, "/test.Porter/Who", &emptypb.Empty{}, &out); err != nil {
			t.Error(err)
		}
		return out.Value
	}
	tcp := dial(t, p.Addr(), nil)
	first := who(tcp, "hers")
	if !strings.HasPrefix(first, "ann 127.0.0.1:") || who(tcp, "hers") != first {
		t.Errorf("the caller is %q", first)
	}
	unix := &net.UnixAddr{Name: socket, Net: "unix"}
	one, other := dial(t, unix, nil), dial(t, unix, nil)
	if a, b, c := who(one, "hers"), who(other, "hers"), who(one, "hers"); a != "ann unix-socket:1" || b != "ann unix-socket:2" || c != a {
		t.Errorf("the callers are %q, %q, %q", a, b, c)
	}
	if got := who(tcp, "tok"); got != "tokens[0]"+strings.TrimPrefix(first, "ann") {
		t.Errorf("the caller is %q", got)
	}
}
