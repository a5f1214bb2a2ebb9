package grpc_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/pflag"
	rpc "google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/tenuto-dev/tenuto/infra/agent"
	"github.com/tenuto-dev/tenuto/infra/agent/agenttest"
	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/infra/grpc"
	"github.com/tenuto-dev/tenuto/infra/infratest"
)

// authority signs certificates.
type authority struct {
	dir  string
	name string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	file string
	pool *x509.CertPool
}

func newAuthority(t *testing.T, name string) *authority {
	t.Helper()
	a := &authority{dir: t.TempDir(), name: name, pool: x509.NewCertPool()}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageCertSign,
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	infratest.Fatal(t, err)
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	infratest.Fatal(t, err)
	if a.cert, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	a.key, a.file = key, a.write(t, "ca", "CERTIFICATE", der)
	a.pool.AddCert(a.cert)
	return a
}

func (a *authority) write(t *testing.T, name, kind string, der []byte) string {
	t.Helper()
	path := filepath.Join(a.dir, name+".pem")
	infratest.Fatal(t, os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600))
	return path
}

// issue makes a certificate for 127.0.0.1.
func (a *authority) issue(t *testing.T, name string) (certFile, keyFile string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	infratest.Fatal(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, &key.PublicKey, a.key)
	infratest.Fatal(t, err)
	keyDER, err := x509.MarshalECPrivateKey(key)
	infratest.Fatal(t, err)
	return a.write(t, name, "CERTIFICATE", der), a.write(t, name+"-key", "EC PRIVATE KEY", keyDER)
}

// client is the credentials of a client that trusts the authority; without a
// name it has no certificate.
func (a *authority) client(t *testing.T, signer *authority, name string) credentials.TransportCredentials {
	t.Helper()
	c := &tls.Config{RootCAs: a.pool, MinVersion: tls.VersionTLS12}
	if name != "" {
		pair, err := tls.LoadX509KeyPair(signer.issue(t, name))
		infratest.Fatal(t, err)
		c.Certificates = []tls.Certificate{pair}
	}
	return credentials.NewTLS(c)
}

func TestTLS(t *testing.T) {
	t.Parallel()
	ours, theirs := newAuthority(t, "ours"), newAuthority(t, "theirs")
	cert, key := ours.issue(t, "server")
	conf := fmt.Sprintf("%scert-file: %s\nkey-file: %s\n", anyPort, cert, key)
	p, _, _ := start(t, conf)
	if got, err := say(t.Context(), dial(t, p.Addr(), ours.client(t, nil, "")), "hi"); got != "hi" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	_, err := say(t.Context(), dial(t, p.Addr(), theirs.client(t, nil, "")), "hi")
	wantCode(t, "a client that does not trust the server", err, codes.Unavailable, "certificate")
	_, err = say(t.Context(), dial(t, p.Addr(), nil), "hi")
	wantCode(t, "a client without TLS", err, codes.Unavailable)

	plain, _, _ := start(t, conf+"insecure-transport: true\n")
	if got, err := say(t.Context(), dial(t, plain.Addr(), nil), "hi"); got != "hi" || err != nil {
		t.Errorf("insecure-transport: got %q, %v", got, err)
	}
}

func TestMutualTLS(t *testing.T) {
	t.Parallel()
	ours, theirs := newAuthority(t, "ours"), newAuthority(t, "theirs")
	cert, key := ours.issue(t, "server")
	conf := fmt.Sprintf("%scert-file: %s\nkey-file: %s\n", anyPort, cert, key)
	p, _, _ := start(t, conf+"ca-files: ["+ours.file+"]\n")
	if got, err := say(t.Context(), dial(t, p.Addr(), ours.client(t, ours, "joe")), "hi"); got != "hi" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	_, err := say(t.Context(), dial(t, p.Addr(), ours.client(t, nil, "")), "hi")
	wantCode(t, "a client without a certificate", err, codes.Unavailable)
	_, err = say(t.Context(), dial(t, p.Addr(), ours.client(t, theirs, "eve")), "hi")
	wantCode(t, "a client with a certificate of others", err, codes.Unavailable)

	if err := refused(t, conf+"ca-files: ["+key+"]\n"); !strings.Contains(err.Error(), "ca-files: ") {
		t.Errorf("got %v", err)
	}
	if err := refused(t, conf+"ca-files: [/does/not/exist]\n"); !strings.Contains(err.Error(), "ca-files: ") {
		t.Errorf("got %v", err)
	}
	if err := refused(t, fmt.Sprintf("%scert-file: %s\nkey-file: %s\n", anyPort, key, cert)); !strings.Contains(err.Error(), "cert-file, key-file: ") {
		t.Errorf("got %v", err)
	}
}

// When the agent stops, the context of a running call ends and the call gets a
// reply; a call that ignores its context is aborted.
func TestGracefulStop(t *testing.T) {
	t.Parallel()
	for _, stubborn := range []bool{false, true} {
		p, a, svc := start(t, anyPort)
		want := "goodbye"
		if stubborn {
			svc.stubborn = make(chan struct{})
			want = "" // the connection is closed
		}
		conn := dial(t, p.Addr(), nil)
		stream, err := conn.NewStream(t.Context(), &rpc.StreamDesc{ServerStreams: true}, "/test.Echo/Hang")
		infratest.Fatal(t, err)
		infratest.Fatal(t, stream.CloseSend())
		<-svc.hanging
		answer := make(chan error, 1)
		go func() {
			answer <- stream.RecvMsg(&emptypb.Empty{})
			if stubborn {
				close(svc.stubborn) // it was cut off and may end
			}
		}()
		if err := a.Stop(); err != nil {
			t.Error(err)
		}
		wantCode(t, "the stream", <-answer, codes.Unavailable, want)
		var d net.Dialer
		if conn, err := d.DialContext(t.Context(), "tcp", p.Addr().String()); err == nil {
			_ = conn.Close()
			t.Error("the server still listens")
		}
	}
}

func TestHealth(t *testing.T) {
	t.Parallel()
	p, _, _ := start(t, anyPort)
	client := grpc_health_v1.NewHealthClient(dial(t, p.Addr(), nil))
	check := func(service string) (grpc_health_v1.HealthCheckResponse_ServingStatus, error) {
		resp, err := client.Check(t.Context(), &grpc_health_v1.HealthCheckRequest{Service: service})
		return resp.GetStatus(), err
	}
	for _, service := range []string{"", "test.Echo"} {
		if got, err := check(service); got != grpc_health_v1.HealthCheckResponse_SERVING || err != nil {
			t.Errorf("%q: got %v, %v", service, got, err)
		}
	}
	_, err := check("no.Such")
	wantCode(t, "an unknown service", err, codes.NotFound, "no.Such")
	all, err := client.List(t.Context(), &grpc_health_v1.HealthListRequest{})
	if err != nil || all.Statuses["test.Echo"].GetStatus() != grpc_health_v1.HealthCheckResponse_SERVING {
		t.Errorf("got %v, %v", all, err)
	}
	watch, err := client.Watch(t.Context(), &grpc_health_v1.HealthCheckRequest{})
	infratest.Fatal(t, err)
	p.Health.Failed("broken", nil)
	for {
		resp, err := watch.Recv()
		infratest.Fatal(t, err)
		if resp.Status == grpc_health_v1.HealthCheckResponse_NOT_SERVING {
			break
		}
	}
	if got, _ := check("test.Echo"); got != grpc_health_v1.HealthCheckResponse_NOT_SERVING {
		t.Errorf("with a plugin that failed: got %v", got)
	}
}

func TestMetrics(t *testing.T) {
	t.Parallel()
	reg := registry{prometheus.NewRegistry()}
	p, _, _ := start(t, anyPort+"max-msg-size: 1000\n", grpc.UseMetrics(reg))
	conn := dial(t, p.Addr(), nil)
	for _, text := range []string{"a", "b", strings.Repeat("x", 2000)} {
		_, _ = say(t.Context(), conn, text) // the last one fails; the metrics show it
	}
	_ = conn.Invoke(t.Context(), "/made.Up/Name", &emptypb.Empty{}, &emptypb.Empty{}) // the same
	reg.want(t, `grpc_server_handled_total{grpc_code="OK",grpc_method="Echo",grpc_service="test.Echo",grpc_type="unary"} 2`)
	reg.want(t, `grpc_server_handled_total{grpc_code="ResourceExhausted",grpc_method="Echo",grpc_service="test.Echo",grpc_type="unary"} 1`)
	reg.want(t, `grpc_server_started_total{grpc_method="Echo",grpc_service="test.Echo",grpc_type="unary"} 3`)
	reg.want(t, `grpc_server_msg_received_total{grpc_method="Echo",grpc_service="test.Echo",grpc_type="unary"} 2`)
	reg.want(t, `grpc_server_msg_sent_total{grpc_method="Echo",grpc_service="test.Echo",grpc_type="unary"} 2`)
	reg.want(t, `grpc_server_handling_seconds_count{grpc_method="Echo",grpc_service="test.Echo",grpc_type="unary"} 3`)
	reg.want(t, "grpc_server_connections 1\n")
	families, err := reg.r.Gather()
	infratest.Fatal(t, err)
	if text := fmt.Sprint(families); strings.Contains(text, "made.Up") {
		t.Errorf("a name that a client made up is a label:\n%s", text)
	}
}

func TestRegisteringServices(t *testing.T) {
	t.Parallel()
	p, _, svc := start(t, anyPort)
	if err := p.Register(echoDesc(), svc); err == nil || !strings.Contains(err.Error(), "test.Echo: the server runs already") {
		t.Errorf("late: %v", err)
	}
	fresh := grpc.NewPlugin()
	if err := fresh.Register(echoDesc(), "text"); err == nil || !strings.Contains(err.Error(), "string does not implement") {
		t.Errorf("not an implementation: %v", err)
	}
	if err := errors.Join(fresh.Register(echoDesc(), svc), fresh.Register(echoDesc(), svc)); err == nil || !strings.Contains(err.Error(), "registered already") {
		t.Errorf("twice: %v", err)
	}
}

func TestDisabled(t *testing.T) {
	t.Parallel()
	p, _, _ := start(t, "disabled: true\n")
	if p.Addr() != nil || !p.Disabled() {
		t.Errorf("listens on %v", p.Addr())
	}
}

// taken returns an address that is in use.
func taken(t *testing.T) string {
	t.Helper()
	var lc net.ListenConfig
	ln, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	infratest.Fatal(t, err)
	t.Cleanup(func() { _ = ln.Close() })
	return ln.Addr().String()
}

// An address that was asked for must be free; the default one need not be.
func TestAddressTaken(t *testing.T) {
	t.Parallel()
	addr := taken(t)
	if err := refused(t, "endpoint: "+addr+"\n"); !errors.Is(err, syscall.EADDRINUSE) || !strings.Contains(err.Error(), addr) {
		t.Errorf("got %v", err)
	}
	_, port, err := net.SplitHostPort(addr)
	infratest.Fatal(t, err)
	a := agenttest.New(t, agent.AllPlugins(grpc.NewPlugin()), agent.Args("--config-dir", t.TempDir(), "--grpc-port", port))
	if err := a.Start(t.Context()); !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("--grpc-port: got %v", err)
	}
	for again := true; again; { // until the address was in use during the start
		var lc net.ListenConfig
		ln, err := lc.Listen(t.Context(), "tcp", grpc.DefaultConfig().Endpoint)
		p := grpc.NewPlugin()
		a := agenttest.Start(t, p)
		got := p.Addr()
		stopped := a.Stop()
		again = err != nil && got != nil // the other listener closed it just then
		if err == nil {
			_ = ln.Close()
		}
		if stopped != nil || got != nil && !again {
			t.Errorf("listens on %v; stop: %v", got, stopped)
		}
	}
}

func TestFlags(t *testing.T) {
	t.Parallel()
	socket := filepath.Join(t.TempDir(), "s")
	p := grpc.NewPlugin()
	a := agenttest.New(t, agent.AllPlugins(p), agent.Args("--config-dir", t.TempDir(), "--grpc-port", "0", "--grpc-socket", socket))
	infratest.Fatal(t, a.Start(t.Context()))
	for _, addr := range []net.Addr{p.Addr(), &net.UnixAddr{Name: socket, Net: "unix"}} {
		if _, err := grpc_health_v1.NewHealthClient(dial(t, addr, nil)).Check(t.Context(), &grpc_health_v1.HealthCheckRequest{}); err != nil {
			t.Errorf("%v: %v", addr, err)
		}
	}
	for _, args := range [][]string{{"--grpc-port", "70000"}, {"--grpc-port", "-1"}} {
		bad := agenttest.New(t, agent.AllPlugins(grpc.NewPlugin()), agent.Args(append(args, "--config-dir", t.TempDir())...))
		if err := bad.Start(t.Context()); err == nil || !strings.Contains(err.Error(), "--grpc-port") {
			t.Errorf("%v: got %v", args, err)
		}
	}
	bad := grpc.NewPlugin(text("network: unix\nendpoint: " + socket + "x\n"))
	bad.DefineFlags(pflag.NewFlagSet("", pflag.ContinueOnError))
	onUnix := agenttest.New(t, agent.AllPlugins(bad), agent.Args("--config-dir", t.TempDir(), "--grpc-port", "1"))
	if err := onUnix.Start(t.Context()); err == nil || !strings.Contains(err.Error(), "has no ports") {
		t.Errorf("a port of a unix socket: got %v", err)
	}
}

func TestConfig(t *testing.T) {
	t.Parallel()
	if err := config.Lint(grpc.DefaultConfig()); err != nil {
		t.Error(err)
	}
	for _, test := range []struct{ conf, want string }{
		{"network: unixpacket", `network: "unixpacket": expected one of tcp, tcp4, tcp6, unix`},
		{"endpoint: nowhere", `endpoint: "nowhere": expected host:port`},
		{"endpoint: a:b", `endpoint: port "b"`},
		{"{network: unix, endpoint: ''}", "endpoint: expected the path"},
		{"{network: unix, endpoint: /a, socket: /./a}", "socket: /./a is the endpoint already"},
		{"permission: 01777", "permission: "},
		{"max-msg-size: -1", "max-msg-size: -1"},
		{"cert-file: x", "cert-file, key-file: expected both"},
		{"ca-files: [x]", "ca-files: expected cert-file"},
		{"tokens: ['']", "tokens[0]: "},
		{"client-basic-auth: [joe]", "client-basic-auth[0]: expected user:password"},
		{"keepalive-time: 1ms", "keepalive-time: 1ms: expected at least 1s"},
		{"max-connections: -1", "max-connections: -1"},
		{"keepalive-min-time: -1s", "keepalive-min-time: -1s"},
		{"max-msgsize: 1", `did you mean "max-msg-size"`},
	} {
		if err := refused(t, test.conf); !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %q", test.conf, err, test.want)
		}
	}
}

// The context of a call is the client's, too.
func TestContextOfTheClient(t *testing.T) {
	t.Parallel()
	p, _, svc := start(t, anyPort)
	ctx, cancel := context.WithCancel(t.Context())
	stream, err := dial(t, p.Addr(), nil).NewStream(ctx, &rpc.StreamDesc{ServerStreams: true}, "/test.Echo/Hang")
	infratest.Fatal(t, err)
	infratest.Fatal(t, stream.CloseSend())
	<-svc.hanging
	cancel()
	wantCode(t, "the stream", stream.RecvMsg(&emptypb.Empty{}), codes.Canceled)
}
