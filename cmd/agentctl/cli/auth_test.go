package cli

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
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
	"testing"
	"time"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/exit"
	"github.com/tenuto-dev/tenuto/infra/agent/agenttest"
	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/infra/grpc"
	"github.com/tenuto-dev/tenuto/infra/infratest"
	"github.com/tenuto-dev/tenuto/infra/rest"
)

// certificate writes a certificate for 127.0.0.1 that signs itself.
func certificate(t *testing.T) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	infratest.Fatal(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	infratest.Fatal(t, err)
	keyDER, err := x509.MarshalECPrivateKey(private)
	infratest.Fatal(t, err)
	dir := t.TempDir()
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	err = errors.Join(
		os.WriteFile(cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600),
		os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: keyDER}), 0o600))
	infratest.Fatal(t, err)
	return cert, key
}

// portOf returns the port of an address.
func portOf(t *testing.T, addr net.Addr) string {
	t.Helper()
	_, port, err := net.SplitHostPort(addr.String())
	infratest.Fatal(t, err)
	return port
}

// TestWaysIn talks to real servers that want TLS, a certificate of the client,
// and a user with a password or a token.
func TestWaysIn(t *testing.T) {
	t.Parallel()
	cert, key := certificate(t)
	strange, strangeKey := certificate(t)
	http := rest.NewPlugin(rest.UseDeps(func(d *rest.Deps) {
		d.Cfg = config.Text("http", fmt.Sprintf("endpoint: 127.0.0.1:0\nserver-cert-file: %s\nserver-key-file: %s\nclient-cert-files: [%s]\n", cert, key, cert)+
			"enable-token-auth: true\npassword-hash-cost: 4\nusers: [{name: me, password: secret, permissions: [info]}]\n")
	}))
	agenttest.Start(t, http)
	rpc := grpc.NewPlugin(grpc.UseDeps(func(d *grpc.Deps) {
		d.Cfg = config.Text("grpc", fmt.Sprintf("endpoint: 127.0.0.1:0\ncert-file: %s\nkey-file: %s\nca-files: [%s]\n", cert, key, cert)+
			"tokens: [t0ken]\nclient-basic-auth: ['me:secret']\n")
	}))
	agenttest.Start(t, rpc)
	ports := []string{"--http-port", portOf(t, http.Addr()), "--grpc-port", portOf(t, rpc.Addr())}
	tls := fmt.Sprintf("--tls-ca-file %s --tls-cert-file %s --tls-key-file %s ", cert, cert, key)
	ask := func(env map[string]string, line string) result {
		t.Helper()
		return run(t, env, append(ports, strings.Fields(line)...)...)
	}
	login := ask(nil, tls+"--http-basic-auth me:secret login")
	token := strings.TrimSpace(login.out)
	if login.code != 0 || strings.Count(token, ".") != 2 {
		t.Fatalf("login: exit %d, %s%s", login.code, login.out, login.err)
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "config.yaml")
	conf := fmt.Sprintf("http-token: %s\ngrpc-basic-auth: me:secret\nhttp-tls: &tls {ca-file: %s, cert-file: %s, key-file: %s}\ngrpc-tls: *tls\n", token, cert, cert, key)
	infratest.Fatal(t, errors.Join(os.WriteFile(file, []byte(conf), 0o600), os.Chmod(file, 0o644)))
	env := map[string]string{"AGENTCTL_TLS_CA_FILE": cert, "AGENTCTL_TLS_CERT_FILE": cert, "AGENTCTL_TLS_KEY_FILE": key, "AGENTCTL_HTTP_TOKEN": token, "AGENTCTL_GRPC_TOKEN": "t0ken"}
	for _, test := range []struct {
		env      map[string]string
		line     string
		code     int
		out, err string // parts of the output
	}{
		{nil, tls + "--http-basic-auth me:secret version", 0, "test      v", ""},
		{nil, tls + "--http-token " + token + " version", 0, "test      v", ""},
		{env, "version", 0, "test      v", ""},
		{env, "--http-basic-auth me:wrong version", 1, "", "expected a known user and password"},
		{nil, "--config " + file + " version", 0, "test      v", "WARNING: every user of this machine can read " + file},
		{nil, tls + "version", 1, "", "expected a known user and password"},
		{nil, tls + "--http-token x version", 1, "", "invalid token"},
		{nil, "--tls --http-token " + token + " version", 1, "", "certificate signed by unknown authority (--tls-ca-file: "},
		{nil, "--tls-ca-file " + cert + " --http-token " + token + " version", 1, "", "certificate required (the agent expects a certificate"},
		{nil, fmt.Sprintf("--tls-ca-file %s --tls-cert-file %s --tls-key-file %s version", cert, strange, strangeKey), 1, "", "tls: "},
		{nil, "--tls-ca-file /none version", 1, "", "--tls-ca-file: open /none"},
		{nil, "--tls-ca-file " + key + " version", 1, "", "--tls-ca-file: " + key + ": expected certificates in PEM"},
		{nil, "--tls-cert-file /none --tls-key-file /none version", 1, "", "--tls-cert-file, --tls-key-file: open /none"},
		{nil, "--tls-cert-file /none version", exit.CodeUsage, "", "--tls-cert-file, --tls-key-file: expected both"},
		{nil, "--http-basic-auth me:x --http-token x version", exit.CodeUsage, "", "--http-basic-auth, --http-token: expected one of them"},
		{nil, "--http-basic-auth me version", exit.CodeUsage, "", "--http-basic-auth: expected user:password"},
		{nil, "login", exit.CodeUsage, "", "--http-basic-auth: expected the user"},
		{nil, "logout", exit.CodeUsage, "", "--http-token: missing argument: the token to revoke"},
		{nil, tls + "--http-basic-auth me:wrong login", 1, "", "expected a known user and password"},
		{env, "service list", 0, "grpc.health.v1.Health", ""},
		{nil, "--config " + file + " service list", 0, "grpc.health.v1.Health", "WARNING"},
		{nil, tls + "--grpc-basic-auth me:wrong service list", 1, "", "unknown token, or user and password (--grpc-token, --grpc-basic-auth)"},
		{nil, "--tls-ca-file " + cert + " --grpc-token t0ken service list", 1, "", "--tls-cert-file"},
		{nil, "--tls --grpc-token t0ken service list", 1, "", "certificate signed by unknown authority (--tls-ca-file: "},
		{nil, "--grpc-token t0ken service list", 1, "", "closed the connection; does its gRPC server use TLS (--tls)"},
		{nil, "--grpc-basic-auth me service list", exit.CodeUsage, "", "--grpc-basic-auth: expected user:password"},
		{nil, "--grpc-basic-auth a:b --grpc-token x service list", exit.CodeUsage, "", "expected one of them"},
		{env, "service list -m Health", 0, "service grpc.health.v1.Health (grpc/health/v1/health.proto)\n - rpc Check (grpc.health.v1.HealthCheckRequest) returns (grpc.health.v1.HealthCheckResponse)\n", ""},
		{env, "service list -m Health", 0, " - rpc Watch (grpc.health.v1.HealthCheckRequest) returns (stream grpc.health.v1.HealthCheckResponse)\n", ""},
		{env, "service ls -f json Health", 0, `"input": "grpc.health.v1.HealthCheckRequest"`, ""},
		{env, "service list Nothing", 1, "", `no service "Nothing"`},
		{env, "service call grpc.health.v1.Health Check", 0, "status: SERVING\n", ""},
		{env, "service call grpc.health.v1.Health List -f json", 0, `"SERVING"`, ""},
		{env, "service call grpc.health.v1.Health Czech", 1, "", `service grpc.health.v1.Health has no method "Czech"`},
		{env, "service call grpc.health.v1.Wealth Check", 1, "", "service grpc.health.v1.Wealth: "},
		{env, "service call grpc.health.v1.HealthCheckRequest Check", 1, "", "grpc.health.v1.HealthCheckRequest is no service"},
		{env, "logout", 0, "OK\n", ""},
		{env, "version", 1, "", "its user has logged out"},
	} {
		r := ask(test.env, test.line)
		if r.code != test.code || !strings.Contains(r.out, test.out) || !strings.Contains(r.err, test.err) {
			t.Errorf("%s: exit %d\n%s%s\nwant %d\n%s\n%s", test.line, r.code, r.out, r.err, test.code, test.out, test.err)
		}
		if strings.Contains(r.out+r.err, "secret") && !strings.Contains(r.err, "has secrets") {
			t.Errorf("%s shows a secret: %s%s", test.line, r.out, r.err)
		}
	}
	newFakeAgent(t).run(t, nil, "--http-basic-auth", "a:b", "login").wants(t, 1, "the agent has no tokens")
}
