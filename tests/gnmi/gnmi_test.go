package gnmi_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/openconfig/gnmi/client"
	gnmi "github.com/openconfig/gnmi/client/gnmi"
	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/tenuto-dev/tenuto/cmd/vpp-agent/app"
	"github.com/tenuto-dev/tenuto/infra/agent"
	"github.com/tenuto-dev/tenuto/infra/agent/agenttest"
)

const patience = 2 * time.Minute

// startAgent returns the address of a simulated agent with a grpc.conf.
func startAgent(t *testing.T, grpcConf string) string {
	t.Helper()
	plugins, err := app.New()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	files := map[string]string{
		"kvscheduler.conf": "print-txn-summary: false\nstate-dir: " + filepath.Join(dir, "state") + "\n",
		"grpc.conf":        grpcConf,
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	a := agenttest.New(t, agent.Name("vpp-agent"), agent.AllPlugins(plugins),
		agent.Args("--simulate", "--config-dir", dir, "--http-port", "0", "--grpc-port", "0"))
	if err := a.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return plugins.GRPC.Addr().String()
}

// TestDocument executes the commands of docs/gnmi.md with gnmi_cli, in their order. What a box
// shows below a command must be in its output.
func TestDocument(t *testing.T) {
	text, err := os.ReadFile("../../docs/gnmi.md")
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", bin, "github.com/openconfig/gnmi/cmd/gnmi_cli").CombinedOutput(); err != nil {
		t.Fatalf("build gnmi_cli: %v\n%s", err, out)
	}
	addr := startAgent(t, "{}")
	executed := 0
	for _, box := range regexp.MustCompile("(?s)```console\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		var command, output string
		for _, l := range strings.Split(strings.TrimSpace(box[1]), "\n") {
			if call, ok := strings.CutPrefix(l, "$ gnmi_cli "); ok {
				command = strings.ReplaceAll(call, "localhost:9111", addr)
				out, _ := exec.CommandContext(t.Context(), "sh", "-c", bin+"/gnmi_cli "+command).CombinedOutput() // errors are a part of the document
				output = withoutBlanks(string(out))
				executed++
				continue
			}
			if !strings.Contains(output, withoutBlanks(l)) {
				t.Errorf("%s: no %s in %s", command, l, output)
			}
		}
	}
	if executed < 6 {
		t.Errorf("%d commands executed, expected 6 or more", executed)
	}
}

func withoutBlanks(s string) string { return strings.ReplaceAll(s, " ", "") }

// connect returns the reference client.
func connect(t *testing.T, d client.Destination) *gnmi.Client {
	t.Helper()
	d.Timeout = patience
	impl, err := gnmi.New(t.Context(), d)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = impl.Close() })
	return impl.(*gnmi.Client)
}

func set(t *testing.T, c *gnmi.Client, text string) error {
	t.Helper()
	return setItem(t, c, "vpp.interfaces", "loop1", text)
}

func setItem(t *testing.T, c *gnmi.Client, model, name, text string) error {
	t.Helper()
	_, err := c.Set(t.Context(), &gpb.SetRequest{Update: []*gpb.Update{{
		Path: &gpb.Path{Elem: []*gpb.PathElem{{Name: "config"}, {Name: model, Key: map[string]string{"name": name}}}},
		Val:  &gpb.TypedValue{Value: &gpb.TypedValue_JsonVal{JsonVal: []byte(text)}},
	}}})
	return err
}

// TestStream follows changes with the library of the reference client.
func TestStream(t *testing.T) {
	addr := startAgent(t, "{}")
	changes := make(chan client.Notification, 100)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	follower := connect(t, client.Destination{Addrs: []string{addr}})
	err := follower.Subscribe(ctx, client.Query{
		Addrs: []string{addr}, Type: client.Stream, Queries: []client.Path{{"state", "*", "state"}, {"operational", "*", "operStatus"}},
		NotificationHandler: func(n client.Notification) error { changes <- n; return nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	received := func(matches func(client.Notification) bool) {
		t.Helper()
		for {
			for len(changes) > 0 {
				if matches(<-changes) {
					return
				}
			}
			if err := follower.Recv(); err != nil {
				t.Fatal(err)
			}
		}
	}
	received(func(n client.Notification) bool { _, ok := n.(client.Sync); return ok })
	changer := connect(t, client.Destination{Addrs: []string{addr}})
	if err := set(t, changer, `{"type": "SOFTWARE_LOOPBACK"}`); err != nil {
		t.Fatal(err)
	}
	if err := setItem(t, changer, "linux.interfaces.interface", "lo", `{"type": "LOOPBACK", "enabled": true}`); err != nil {
		t.Fatal(err)
	}
	missing := map[string]bool{
		"state/vpp.interfaces/loop1/state": true, "operational/vpp.interfaces/loop1/operStatus": true,
		"operational/linux.interfaces.interface/lo/operStatus": true,
	}
	received(func(n client.Notification) bool {
		if u, ok := n.(client.Update); ok {
			delete(missing, strings.Join(u.Path, "/"))
		}
		return len(missing) == 0
	})
	counters := &gpb.Path{Elem: []*gpb.PathElem{{Name: "counters"}, {Name: "linux.interfaces.interface"}, {Name: "rx"}, {Name: "packets"}}}
	if got, err := changer.Get(ctx, &gpb.GetRequest{Path: []*gpb.Path{counters}}); err != nil || len(got.GetNotification()[0].GetUpdate()) != 1 {
		t.Errorf("counters of Linux: %v, %v", got, err)
	}
	if _, err := changer.Set(ctx, &gpb.SetRequest{Delete: []*gpb.Path{{Elem: []*gpb.PathElem{{Name: "config"}}}}}); err != nil {
		t.Fatal(err)
	}
	received(func(n client.Notification) bool {
		d, ok := n.(client.Delete)
		return ok && strings.Join(d.Path, "/") == "state/vpp.interfaces/loop1/state"
	})
}

// certificate writes a certificate of 127.0.0.1 and its key, and returns the pool with it.
func certificate(t *testing.T, dir string) *x509.CertPool {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	cert := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "agent"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, cert, cert, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for name, block := range map[string]*pem.Block{"cert.pem": {Type: "CERTIFICATE", Bytes: der}, "key.pem": {Type: "PRIVATE KEY", Bytes: keyDER}} {
		if err := os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(parsed)
	return pool
}

// TestTLSAndUsers uses the credentials of the reference client: user and password as metadata.
func TestTLSAndUsers(t *testing.T) {
	dir := t.TempDir()
	pool := certificate(t, dir)
	addr := startAgent(t, "cert-file: "+filepath.Join(dir, "cert.pem")+"\nkey-file: "+filepath.Join(dir, "key.pem")+`
password-hash-cost: 4
users:
- {name: admin, password: open, permissions: [all]}
- {name: guest, password: look, permissions: [read]}
`)
	as := func(user, password string) *gnmi.Client {
		return connect(t, client.Destination{Addrs: []string{addr}, TLS: &tls.Config{RootCAs: pool}, Credentials: &client.Credentials{Username: user, Password: password}})
	}
	get := func(c *gnmi.Client) error {
		_, err := c.Get(t.Context(), &gpb.GetRequest{})
		return err
	}
	for _, c := range []struct {
		user, password string
		get, set       codes.Code
	}{
		{"admin", "open", codes.OK, codes.OK},
		{"guest", "look", codes.OK, codes.PermissionDenied},
		{"guest", "open", codes.Unauthenticated, codes.Unauthenticated},
		{"unknown", "open", codes.Unauthenticated, codes.Unauthenticated},
	} {
		conn := as(c.user, c.password)
		if _, err := conn.Capabilities(t.Context(), &gpb.CapabilityRequest{}); status.Code(err) != c.get {
			t.Errorf("%s: Capabilities: %v, want %v", c.user, err, c.get)
		}
		if err := get(conn); status.Code(err) != c.get {
			t.Errorf("%s: Get: %v, want %v", c.user, err, c.get)
		}
		if err := set(t, conn, `{"type": "SOFTWARE_LOOPBACK"}`); status.Code(err) != c.set {
			t.Errorf("%s: Set: %v, want %v", c.user, err, c.set)
		}
	}
	if err := get(connect(t, client.Destination{Addrs: []string{addr}, TLS: &tls.Config{RootCAs: pool}})); status.Code(err) != codes.Unauthenticated {
		t.Errorf("without user: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if _, err := gnmi.New(ctx, client.Destination{Addrs: []string{addr}, Timeout: time.Second, TLS: &tls.Config{RootCAs: x509.NewCertPool()}}); err == nil {
		t.Error("connected to a server with an unknown certificate")
	}
}
