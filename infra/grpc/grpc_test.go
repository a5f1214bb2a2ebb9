package grpc_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.uber.org/goleak"
	rpc "google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/tenuto-dev/tenuto/infra/agent"
	"github.com/tenuto-dev/tenuto/infra/agent/agenttest"
	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/infra/grpc"
	"github.com/tenuto-dev/tenuto/infra/infratest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is how long a test waits for what must come; it is no measure.
const patience = 2 * time.Minute

// echo is a service of the tests.
type echo interface {
	Echo(ctx context.Context, in *wrapperspb.BytesValue) (*wrapperspb.BytesValue, error)
	Hang(stream rpc.ServerStream) error
}

type echoService struct {
	hanging  chan struct{} // gets a value when Hang was called
	stubborn chan struct{} // if not nil, Hang waits for it instead of its context
}

func (s *echoService) Echo(_ context.Context, in *wrapperspb.BytesValue) (*wrapperspb.BytesValue, error) {
	if string(in.Value) == "panic" {
		panic("oh")
	}
	return in, nil
}

func (s *echoService) Hang(stream rpc.ServerStream) error {
	s.hanging <- struct{}{}
	if s.stubborn != nil {
		<-s.stubborn
		return nil
	}
	<-stream.Context().Done()
	return status.Error(codes.Unavailable, "goodbye")
}

// method describes a unary method of a service of the tests.
func method[S any, In, Out proto.Message](service, name string, call func(S, context.Context, In) (Out, error)) rpc.MethodDesc {
	return rpc.MethodDesc{MethodName: name, Handler: func(srv any, ctx context.Context, dec func(any) error, next rpc.UnaryServerInterceptor) (any, error) {
		var none In
		in := none.ProtoReflect().New().Interface()
		if err := dec(in); err != nil {
			return nil, err
		}
		info := &rpc.UnaryServerInfo{Server: srv, FullMethod: "/" + service + "/" + name}
		return next(ctx, in, info, func(ctx context.Context, req any) (any, error) { return call(srv.(S), ctx, req.(In)) })
	}}
}

func echoDesc() *rpc.ServiceDesc {
	return &rpc.ServiceDesc{
		ServiceName: "test.Echo", HandlerType: (*echo)(nil),
		Methods: []rpc.MethodDesc{method("test.Echo", "Echo", echo.Echo)},
		Streams: []rpc.StreamDesc{{StreamName: "Hang", ServerStreams: true, Handler: func(srv any, stream rpc.ServerStream) error {
			return srv.(echo).Hang(stream)
		}}},
	}
}

// text is a server with a configuration.
func text(conf string) grpc.Option {
	return grpc.UseDeps(func(d *grpc.Deps) { d.Cfg = config.Text("grpc", conf) })
}

const anyPort = "endpoint: 127.0.0.1:0\n"

func start(t *testing.T, conf string, opts ...grpc.Option) (*grpc.Plugin, *agent.Agent, *echoService) {
	t.Helper()
	p := grpc.NewPlugin(append(opts, text(conf))...)
	svc := &echoService{hanging: make(chan struct{}, 1)}
	infratest.Fatal(t, p.Register(echoDesc(), svc))
	return p, agenttest.Start(t, p), svc
}

// refused starts a server that must not start.
func refused(t *testing.T, conf string) error {
	t.Helper()
	err := agenttest.New(t, agent.AllPlugins(grpc.NewPlugin(text(conf)))).Start(t.Context())
	if err == nil {
		t.Fatalf("started with\n%s", conf)
	}
	return err
}

// dial connects; the connection is closed at the end of the test.
func dial(t *testing.T, addr net.Addr, creds credentials.TransportCredentials) *rpc.ClientConn {
	t.Helper()
	target := addr.String()
	if addr.Network() == "unix" {
		target = "unix:" + target
	}
	if creds == nil {
		creds = insecure.NewCredentials()
	}
	conn, err := rpc.NewClient(target, rpc.WithTransportCredentials(creds), rpc.WithDefaultCallOptions(rpc.MaxCallRecvMsgSize(1<<30)))
	infratest.Fatal(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func say(ctx context.Context, conn *rpc.ClientConn, text string, opts ...rpc.CallOption) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	out := &wrapperspb.BytesValue{}
	err := conn.Invoke(ctx, "/test.Echo/Echo", wrapperspb.Bytes([]byte(text)), out, opts...)
	return string(out.Value), err
}

func wantCode(t *testing.T, what string, err error, code codes.Code, words ...string) {
	t.Helper()
	if status.Code(err) != code {
		t.Errorf("%s: got %v, want %v", what, err, code)
		return
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%s: %v: expected it to say %q", what, err, w)
		}
	}
}

func TestCallsOverTCP(t *testing.T) {
	t.Parallel()
	p, _, _ := start(t, anyPort+"extended-logging: true\n")
	conn := dial(t, p.Addr(), nil)
	if got, err := say(t.Context(), conn, "hello"); got != "hello" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	_, err := say(t.Context(), conn, "panic")
	wantCode(t, "a handler that panics", err, codes.Internal, "/test.Echo/Echo: internal error")
	if got, err := say(t.Context(), conn, "again"); got != "again" || err != nil {
		t.Errorf("after the panic: got %q, %v", got, err)
	}
	err = conn.Invoke(t.Context(), "/test.Echo/No", &emptypb.Empty{}, &emptypb.Empty{})
	wantCode(t, "a method that does not exist", err, codes.Unimplemented)
}

func TestMessagesUpToTheLimit(t *testing.T) {
	t.Parallel()
	p, _, _ := start(t, anyPort+"max-msg-size: 1000\n")
	conn := dial(t, p.Addr(), nil)
	_, err := say(t.Context(), conn, strings.Repeat("x", 1000))
	wantCode(t, "a message that is too large", err, codes.ResourceExhausted, "1000")
	if got, err := say(t.Context(), conn, strings.Repeat("x", 900)); len(got) != 900 || err != nil {
		t.Errorf("got %d bytes, %v", len(got), err)
	}
	big, _, _ := start(t, anyPort)
	if got, err := say(t.Context(), dial(t, big.Addr(), nil), strings.Repeat("x", 20<<20)); len(got) != 20<<20 || err != nil {
		t.Errorf("by default, of 20 MiB: got %d bytes, %v", len(got), err)
	}
}

func TestUnixSockets(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	main, besides := filepath.Join(dir, "main.sock"), filepath.Join(dir, "besides.sock")
	conf := fmt.Sprintf("network: unix\nendpoint: %s\nsocket: %s\npermission: 0640\n", main, besides)
	p, a, _ := start(t, conf)
	for _, path := range []string{main, besides} {
		if got, err := say(t.Context(), dial(t, &net.UnixAddr{Name: path, Net: "unix"}, nil), "hi"); got != "hi" || err != nil {
			t.Errorf("%s: got %q, %v", path, got, err)
		}
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm() != 0o640 {
			t.Errorf("%s: mode %v, %v, want 0640", path, info.Mode(), err)
		}
	}
	if p.Addr().String() != main {
		t.Errorf("the address is %v", p.Addr())
	}
	err := refused(t, "network: unix\nendpoint: "+main+"\n")
	if !errors.Is(err, syscall.EADDRINUSE) || !strings.Contains(err.Error(), "force-socket-removal") {
		t.Errorf("a socket that is in use: %v", err)
	}
	if err := a.Stop(); err != nil {
		t.Error(err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestSocketsThatAreThere(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "s")
	conf := "network: unix\nendpoint: " + path + "\n"
	abandon(t, path)
	p, a, _ := start(t, conf) // one that was left behind is no obstacle
	if got, err := say(t.Context(), dial(t, p.Addr(), nil), "hi"); got != "hi" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	if err := a.Stop(); err != nil {
		t.Error(err)
	}

	var lc net.ListenConfig
	other, err := lc.Listen(t.Context(), "unix", path)
	infratest.Fatal(t, err)
	other.(*net.UnixListener).SetUnlinkOnClose(false)
	defer other.Close()
	start(t, conf+"force-socket-removal: true\n")

	file := filepath.Join(t.TempDir(), "precious")
	infratest.Fatal(t, os.WriteFile(file, []byte("x"), 0o600))
	if err := refused(t, "network: unix\nforce-socket-removal: true\nendpoint: "+file+"\n"); !strings.Contains(err.Error(), "is not a socket") {
		t.Errorf("a file in the way: %v", err)
	}
	if _, err := os.Stat(file); err != nil {
		t.Error(err)
	}
}

// abandon leaves a stale socket behind.
func abandon(t *testing.T, path string) {
	t.Helper()
	var lc net.ListenConfig
	ln, err := lc.Listen(t.Context(), "unix", path)
	infratest.Fatal(t, err)
	ln.(*net.UnixListener).SetUnlinkOnClose(false)
	infratest.Fatal(t, ln.Close())
}

// header is credentials in the metadata, over connections without TLS, too.
type header string

func (h header) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{"authorization": string(h)}, nil
}
func (header) RequireTransportSecurity() bool { return false }

// Clients of gNMI send a user and password as metadata of these names.
func TestUserInMetadata(t *testing.T) {
	t.Parallel()
	p, _, _ := start(t, anyPort+"client-basic-auth: ['joe:pw']\npassword-hash-cost: 4\n")
	conn := dial(t, p.Addr(), nil)
	named := func(user, password string) context.Context {
		return metadata.AppendToOutgoingContext(t.Context(), "username", user, "password", password)
	}
	if got, err := say(named("joe", "pw"), conn, "hi"); got != "hi" || err != nil {
		t.Errorf("username and password: got %q, %v", got, err)
	}
	for _, ctx := range []context.Context{named("joe", "wrong"), named("jim", "pw"), metadata.AppendToOutgoingContext(named("joe", "pw"), "username", "jim")} {
		_, err := say(ctx, conn, "hi")
		wantCode(t, "a wrong user or password", err, codes.Unauthenticated)
	}
}

func TestTokens(t *testing.T) {
	t.Parallel()
	reg := registry{prometheus.NewRegistry()}
	p, _, svc := start(t, anyPort+"tokens: [secret, other]\nclient-basic-auth: ['joe:pw']\npassword-hash-cost: 4\n", grpc.UseMetrics(reg))
	conn := dial(t, p.Addr(), nil)
	for _, good := range []string{"Bearer secret", "bearer other", "Basic am9lOnB3"} {
		if got, err := say(t.Context(), conn, "hi", rpc.PerRPCCredentials(header(good))); got != "hi" || err != nil {
			t.Errorf("%s: got %q, %v", good, got, err)
		}
	}
	for _, bad := range []string{"Bearer wrong", "Bearer", "secret", "Basic secret", "Bearer secretother", ""} {
		_, err := say(t.Context(), conn, "hi", rpc.PerRPCCredentials(header(bad)))
		wantCode(t, bad, err, codes.Unauthenticated, "authorization")
		if strings.Contains(err.Error(), "secret") {
			t.Errorf("the answer has a secret: %v", err)
		}
	}
	_, err := say(t.Context(), conn, "hi")
	wantCode(t, "no token", err, codes.Unauthenticated, "authorization: Bearer TOKEN")
	// Streams are guarded, and so is reflection; health is not.
	stream, err := conn.NewStream(t.Context(), &rpc.StreamDesc{ServerStreams: true}, "/test.Echo/Hang")
	if err == nil {
		err = stream.RecvMsg(&emptypb.Empty{})
	}
	wantCode(t, "a stream", err, codes.Unauthenticated)
	if len(svc.hanging) > 0 {
		t.Error("the handler of the stream was called")
	}
	_, err = services(t, conn)
	wantCode(t, "reflection", err, codes.Unauthenticated)
	if _, err := grpc_health_v1.NewHealthClient(conn).Check(t.Context(), &grpc_health_v1.HealthCheckRequest{}); err != nil {
		t.Errorf("health: %v", err)
	}
	reg.want(t, "grpc_server_refused_total 9\n")
}

// services asks reflection for the names of the services.
func services(t *testing.T, conn *rpc.ClientConn) ([]string, error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	stream, err := grpc_reflection_v1.NewServerReflectionClient(conn).ServerReflectionInfo(ctx)
	if err != nil {
		return nil, err
	}
	_ = stream.Send(&grpc_reflection_v1.ServerReflectionRequest{ // Recv returns the error
		MessageRequest: &grpc_reflection_v1.ServerReflectionRequest_ListServices{}})
	resp, err := stream.Recv()
	if err != nil {
		return nil, err
	}
	var names []string
	for _, s := range resp.GetListServicesResponse().GetService() {
		names = append(names, s.Name)
	}
	return names, nil
}

func TestReflection(t *testing.T) {
	t.Parallel()
	p, _, _ := start(t, anyPort)
	got, err := services(t, dial(t, p.Addr(), nil))
	if err != nil || !strings.Contains(strings.Join(got, " "), "grpc.health.v1.Health") || !strings.Contains(strings.Join(got, " "), "test.Echo") {
		t.Errorf("got %q, %v", got, err)
	}
	off, _, _ := start(t, anyPort+"reflection: false\n")
	_, err = services(t, dial(t, off.Addr(), nil))
	wantCode(t, "switched off", err, codes.Unimplemented)
}

// registry is a registry of metrics that can be read.
type registry struct{ r *prometheus.Registry }

func (r registry) Registry() prometheus.Registerer { return r.r }

// want waits until a line is among the metrics: the server counts when a call
// has ended, which the client may know before.
func (r registry) want(t *testing.T, line string) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for late := time.After(patience); ; {
		rec := httptest.NewRecorder()
		promhttp.HandlerFor(r.r, promhttp.HandlerOpts{}).ServeHTTP(rec, httptest.NewRequestWithContext(t.Context(), "GET", "/", nil))
		if strings.Contains(rec.Body.String(), line) {
			return
		}
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("no %q in\n%s", line, rec.Body)
		}
	}
}
