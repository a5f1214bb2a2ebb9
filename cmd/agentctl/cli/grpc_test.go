package cli

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	rpc "google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/exit"
	"github.com/tenuto-dev/tenuto/infra/infratest"
	"github.com/tenuto-dev/tenuto/proto/ligato/configurator"
	"github.com/tenuto-dev/tenuto/proto/ligato/linux"
	linuxinterfaces "github.com/tenuto-dev/tenuto/proto/ligato/linux/interfaces"
	"github.com/tenuto-dev/tenuto/proto/ligato/vpp"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
	tenutov1 "github.com/tenuto-dev/tenuto/proto/tenuto/v1"
)

// fakeGRPC is the configurator of an agent with one interface, loop1.
type fakeGRPC struct {
	configurator.UnimplementedConfiguratorServiceServer
	deleted *configurator.DeleteRequest
}

func authorized(ctx context.Context) error {
	md, _ := metadata.FromIncomingContext(ctx)
	if got := md.Get("authorization"); len(got) != 1 || got[0] != "Bearer secret" {
		return status.Error(codes.Unauthenticated, "expected a token")
	}
	return nil
}

func (f *fakeGRPC) Delete(ctx context.Context, req *configurator.DeleteRequest) (*configurator.DeleteResponse, error) {
	f.deleted = req
	if req.GetDelete().GetVppConfig().GetInterfaces()[0].Name == "stuck" {
		return nil, status.Error(codes.FailedPrecondition, "1 values failed; stuck: in use")
	}
	return &configurator.DeleteResponse{}, authorized(ctx)
}

func (f *fakeGRPC) Dump(ctx context.Context, _ *configurator.DumpRequest) (*configurator.DumpResponse, error) {
	_ = rpc.SetTrailer(ctx, metadata.Pairs("unread-bin", "vpp.route: out of order"))
	return &configurator.DumpResponse{Dump: &configurator.Config{VppConfig: &vpp.ConfigData{
		Interfaces: []*interfaces.Interface{
			{Name: "loop1", Type: interfaces.Interface_SOFTWARE_LOOPBACK, Mtu: 9000, PhysAddress: "02:00:00:00:00:01"}, {Name: "local0"},
		}}}}, authorized(ctx)
}

func (f *fakeGRPC) Notify(req *configurator.NotifyRequest, stream rpc.ServerStreamingServer[configurator.NotifyResponse]) error {
	if err := authorized(stream.Context()); err != nil {
		return err
	}
	name := "loop" + strings.Repeat("1", len(req.Filters))
	for i, state := range []*interfaces.InterfaceState{
		{Name: name, OperStatus: interfaces.InterfaceState_UP, LastChange: 1795221440, Mtu: 9000},
		{Name: name, OperStatus: interfaces.InterfaceState_DOWN, LastChange: 1795221445},
		{Name: name, OperStatus: interfaces.InterfaceState_DOWN, LastChange: 1795221445}, // nothing changes
		{Name: name, OperStatus: interfaces.InterfaceState_DOWN, LastChange: 1795221445, Statistics: &interfaces.InterfaceState_Statistics{InPackets: 7}},
		{Name: name, OperStatus: interfaces.InterfaceState_DELETED, LastChange: 1795221450},
		{Name: name, OperStatus: interfaces.InterfaceState_UP, LastChange: 1795221455},
	} {
		err := stream.Send(&configurator.NotifyResponse{NextIdx: uint32(i + 1), Notification: &configurator.Notification{
			Notification: &configurator.Notification_VppNotification{VppNotification: &vpp.Notification{Interface: &interfaces.InterfaceNotification{State: state}}}}})
		if err != nil {
			return err
		}
	}
	err := stream.Send(&configurator.NotifyResponse{NextIdx: 7, Notification: &configurator.Notification{
		Notification: &configurator.Notification_LinuxNotification{LinuxNotification: &linux.Notification{Interface: &linuxinterfaces.InterfaceNotification{
			State: &linuxinterfaces.InterfaceState{InternalName: "eth0", OperStatus: linuxinterfaces.InterfaceState_UP, Statistics: &linuxinterfaces.InterfaceState_Statistics{}}}}}}})
	if err != nil {
		return err
	}
	return status.Error(codes.Unavailable, "the agent stops")
}

// ListItems implements the call of the agent's own API: clients have put loop1.
func (f *fakeItems) ListItems(context.Context, *tenutov1.ListItemsRequest) (*tenutov1.ListItemsResponse, error) {
	value, err := anypb.New(&interfaces.Interface{Name: "loop1", Type: interfaces.Interface_SOFTWARE_LOOPBACK})
	if err != nil {
		return nil, err
	}
	return &tenutov1.ListItemsResponse{Items: []*tenutov1.SourcedItem{
		{Key: "config/vpp/v2/interfaces/loop1", Sources: []*tenutov1.SourceItem{{Source: "etcd", Value: value}, {Source: "grpc"}}},
		{Key: "config/vpp/v2/interfaces/loop2", Sources: []*tenutov1.SourceItem{{Source: "etcd"}}},
	}}, nil
}

// GetDrift implements the call of the agent's own API.
func (f *fakeItems) GetDrift(context.Context, *tenutov1.GetDriftRequest) (*tenutov1.GetDriftResponse, error) {
	return &tenutov1.GetDriftResponse{}, nil
}

type fakeItems struct {
	tenutov1.UnimplementedAgentServiceServer
}

// newFakeGRPC serves on a port and on a socket.
func newFakeGRPC(t *testing.T) (f *fakeGRPC, port, socket string) {
	t.Helper()
	f = &fakeGRPC{}
	s := rpc.NewServer()
	configurator.RegisterConfiguratorServiceServer(s, f)
	tenutov1.RegisterAgentServiceServer(s, &fakeItems{})
	socket = filepath.Join(t.TempDir(), "s")
	serveGRPC(t, s, "unix", socket)
	return f, serveGRPC(t, s, "tcp", "127.0.0.1:0"), socket
}

// serveGRPC serves until the end of the test, and returns the port, if there is one.
func serveGRPC(t *testing.T, server *rpc.Server, network, address string) (port string) {
	t.Helper()
	var lc net.ListenConfig
	ln, err := lc.Listen(t.Context(), network, address)
	infratest.Fatal(t, err)
	served := make(chan error, 1)
	go func() { served <- server.Serve(ln) }()
	t.Cleanup(func() {
		server.Stop()
		<-served
	})
	_, port, _ = net.SplitHostPort(ln.Addr().String())
	return port
}

// changesOfLoop are the lines about the notifications of fakeGRPC. The time is the
// time of the change, or else the present time.
const changesOfLoop = `2026-11-21 00:37:20 UTC  vpp.interfaces/loop  mtu: 9000, oper_status: UP
2026-11-21 00:37:25 UTC  vpp.interfaces/loop  mtu: 9000 -> (unset), oper_status: UP -> DOWN
2026-11-21 00:38:00 UTC  vpp.interfaces/loop  statistics.in_packets: (unset) -> 7
2026-11-21 00:37:30 UTC  vpp.interfaces/loop  oper_status: DOWN -> DELETED, statistics.in_packets: 7 -> (unset)
2026-11-21 00:37:35 UTC  vpp.interfaces/loop  oper_status: UP
2026-11-21 00:38:00 UTC  linux.interfaces.interface/eth0  internal_name: eth0, oper_status: UP
`

// Of an agent whose HTTP port alone is given, the gRPC port is not guessed: it may be another agent's.
func TestGRPCPortIsGiven(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"--http-port", "9711"}, {"-H", "127.0.0.1:9711"}, {"-H", "http://127.0.0.1:9711"}} {
		r := run(t, nil, append(args, "config", "retrieve")...)
		if r.code != exit.CodeUsage || !strings.Contains(r.err, "expected --grpc-port") {
			t.Errorf("%q: exit %d: %s", args, r.code, r.err)
		}
		r = run(t, nil, append(args, "--grpc-port", "1", "--timeout", "10ms", "config", "retrieve")...)
		if r.code == exit.CodeUsage || !strings.Contains(r.err, "at 127.0.0.1:1") {
			t.Errorf("%q with --grpc-port 1: exit %d: %s", args, r.code, r.err)
		}
	}
}

func TestConfigOverGRPC(t *testing.T) {
	t.Parallel()
	f, port, socket := newFakeGRPC(t)
	dir := t.TempDir()
	write := func(name, text string) string {
		t.Helper()
		path := filepath.Join(dir, name)
		infratest.Fatal(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	good := write("good.yaml", "vppConfig: {interfaces: [{name: loop1}]}")
	others := write("others.yaml", "vppConfig: {interfaces: [{name: loop1}, {name: loop2}, {name: loop3}]}")
	stuck := write("stuck.yaml", "vppConfig: {interfaces: [{name: stuck}]}")
	wrong := write("wrong.yaml", "vppConfig: {interfaces: [{name: loop1, mtuu: 1}]}")
	write("config.yaml", "grpc-socket: "+socket+"\ngrpc-token: secret\n")
	const yaml = "vppConfig:\n  interfaces:\n    - name: loop1\n      type: SOFTWARE_LOOPBACK\n"
	for _, test := range []struct {
		args     string
		code     int
		out, err string // parts of the output
	}{
		{"--grpc-port " + port + " --grpc-token secret config retrieve", 0, yaml, "not read: vpp.route: out of order\n"},
		{"--grpc-socket " + socket + " --grpc-token secret config dump", 0, yaml, ""},
		{"GRPC_SOCKET=" + socket + " AGENTCTL_GRPC_TOKEN=secret config dump", 0, yaml, ""},
		{"GRPC_SOCKET=" + socket + " GRPC_PORT=1 AGENT_HOST=192.0.2.1 --grpc-token secret config dump", 0, yaml, ""},
		{"GRPC_SOCKET=/none --grpc-port " + port + " --grpc-token secret config dump", 0, yaml, ""},
		{"--tls --grpc-port " + port + " --grpc-token secret config dump", 1, "", "does not use TLS (--tls, --insecure-tls)"},
		{"GRPC_SOCKET=/none config dump", 1, "", "no agent serves gRPC at unix:/none"},
		{"--config-dir " + dir + " config retrieve -f json", 0, `"name": "loop1"`, "not shown: 1 that are not in the configuration (--all)\n"},
		{"--config-dir " + dir + " config retrieve --all", 0, yaml + "# vpp.interfaces/local0: not in the configuration\n# vppConfig:\n#   interfaces:\n#     - name: local0\n", ""},
		{"--config-dir " + dir + " config retrieve --all -o json", exit.CodeUsage, "", "--all: adds comments, expected -o yaml"},
		{"--grpc-socket " + socket + " config retrieve", 1, "", "expected a token (--grpc-token, --grpc-basic-auth)"},
		{"--grpc-socket " + dir + "/none config retrieve", 1, "", "no agent serves gRPC at unix:" + dir + "/none: there is no such socket (--grpc-socket)"},
		{"--config-dir " + dir + " config delete --waitdone " + good, 0, "OK\n", ""},
		{"--config-dir " + dir + " config delete " + others, 0, "OK\n", "warning: clients have not put 2 of 3 items: vpp.interfaces/loop2, vpp.interfaces/loop3\n"},
		{"--config-dir " + dir + " config delete " + stuck, 1, "", "1 values failed; stuck: in use"},
		{"--config-dir " + dir + " config delete " + wrong, 1, "", "wrong.yaml:1:40: vppConfig.interfaces[0].mtuu: unknown field"},
		{"--config-dir " + dir + " config watch", 1, changesOfLoop, "the agent stops"},
		{"--config-dir " + dir + " config watch --full", 1, " UTC\n Source: VPP\n Value:\n   interface:\n     state:\n       lastChange: \"1795221440\"\n       mtu: 9000\n       name: loop\n       operStatus: UP\n", "the agent stops"},
		{"--config-dir " + dir + " config notify --filter {} -f {{.nextIdx}}{{.notification.vppNotification.interface.state.name}}", 1, "1loop1\n", ""},
		{"--config-dir " + dir + " config watch --filter {", exit.CodeUsage, "", "--filter: \"{\": expected a Notification in JSON"},
		{"--host /run/http.sock config retrieve", exit.CodeUsage, "", "expected the socket of the gRPC server as --grpc-socket"},
		{"--grpc-port 0 config retrieve", exit.CodeUsage, "", "--grpc-port: 0: expected 1 to 65535"},
	} {
		var environ map[string]string
		args := strings.Fields(test.args)
		for len(args) > 0 && strings.Contains(args[0], "=") {
			if environ == nil {
				environ = map[string]string{}
			}
			name, value, _ := strings.Cut(args[0], "=")
			environ[name], args = value, args[1:]
		}
		r := run(t, environ, args...)
		if r.code != test.code || !strings.Contains(r.out, test.out) || !strings.Contains(r.err, test.err) {
			t.Errorf("%s: exit %d\n%s%s\nwant %d\n%s%s", test.args, r.code, r.out, r.err, test.code, test.out, test.err)
		}
		if strings.Contains(test.args, "--waitdone") && !f.deleted.GetWaitDone() {
			t.Errorf("%s: the request was %v", test.args, f.deleted)
		}
	}
}
