package grpc_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	rpc "google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	"github.com/tenuto-dev/tenuto/infra/agent"
	"github.com/tenuto-dev/tenuto/infra/agent/agenttest"
	"github.com/tenuto-dev/tenuto/infra/grpc"
	"github.com/tenuto-dev/tenuto/infra/infratest"
	"github.com/tenuto-dev/tenuto/infra/logging"
)

// Tokens of a file can be replaced while the server runs, and they expire.
func TestTokensOfFile(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "tokens")
	write := func(text string) {
		t.Helper()
		infratest.Fatal(t, os.WriteFile(file, []byte(text), 0o600))
	}
	write("# of the tests\n\nsecret\nyoung 2999-01-01T00:00:00Z\n old\t2001-01-01T00:00:00Z\n")
	p, _, _ := start(t, anyPort+"tokens: [fixed]\ntokens-file: "+file+"\n")
	conn := dial(t, p.Addr(), nil)
	with := func(token string) error {
		_, err := say(t.Context(), conn, "hi", rpc.PerRPCCredentials(header("Bearer "+token)))
		return err
	}
	for _, good := range []string{"fixed", "secret", "young"} {
		if err := with(good); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
	wantCode(t, "an old token", with("old"), codes.Unauthenticated, "has expired")
	wantCode(t, "a comment", with("#"), codes.Unauthenticated, "unknown token")
	write("renewed\n")
	for with("renewed") != nil { // until the file is looked at again
		if t.Context().Err() != nil {
			t.Fatal("the new token is not known")
		}
	}
	wantCode(t, "a token that was replaced", with("secret"), codes.Unauthenticated, "unknown token")
	if err := with("fixed"); err != nil {
		t.Error(err)
	}

	for text, want := range map[string]string{
		"":                 file + ": expected at least one token",
		"a\nb c d":         file + ":2: expected a token, optionally followed by",
		"hush-hush 1.1.27": file + ":1: second word: expected a time",
	} {
		write(text)
		if err := refused(t, anyPort+"tokens-file: "+file+"\n"); !strings.Contains(err.Error(), "tokens-file: "+want) || strings.Contains(err.Error(), "hush") {
			t.Errorf("%q: got %v", text, err)
		}
	}
	if err := refused(t, anyPort+"tokens-file: /does/not/exist\n"); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "tokens-file: ") {
		t.Errorf("got %v", err)
	}
}

// A certificate that is renewed is shown to the next client; who is connected
// stays so.
func TestCertificateIsRenewed(t *testing.T) {
	t.Parallel()
	ours := newAuthority(t, "ours")
	cert, key := ours.issue(t, "server")
	p, _, _ := start(t, fmt.Sprintf("%scert-file: %s\nkey-file: %s\n", anyPort, cert, key))
	early := dial(t, p.Addr(), ours.client(t, nil, ""))
	if _, err := say(t.Context(), early, "hi"); err != nil {
		t.Fatal(err)
	}
	shown := func() string {
		t.Helper()
		d := tls.Dialer{Config: &tls.Config{RootCAs: ours.pool, NextProtos: []string{"h2"}}}
		conn, err := d.DialContext(t.Context(), "tcp", p.Addr().String())
		infratest.Fatal(t, err)
		defer conn.Close()
		return conn.(*tls.Conn).ConnectionState().PeerCertificates[0].Subject.CommonName
	}
	if got := shown(); got != "server" {
		t.Errorf("got %q", got)
	}
	newCert, newKey := ours.issue(t, "renewed")
	infratest.Fatal(t, errors.Join(os.Rename(newCert, cert), os.Rename(newKey, key)))
	for shown() != "renewed" { // until the files are looked at again
	}
	if got, err := say(t.Context(), dial(t, p.Addr(), ours.client(t, nil, "")), "hi"); got != "hi" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	if got, err := say(t.Context(), early, "hi"); got != "hi" || err != nil {
		t.Errorf("who was connected: got %q, %v", got, err)
	}
}

// Connections beyond the bound wait until another one ends.
func TestMaxConnections(t *testing.T) {
	t.Parallel()
	p, _, _ := start(t, anyPort+"max-connections: 1\n")
	first := dial(t, p.Addr(), nil)
	if _, err := say(t.Context(), first, "hi"); err != nil {
		t.Fatal(err)
	}
	answer := make(chan error, 1)
	second := dial(t, p.Addr(), nil)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		_, err := say(ctx, second, "hi", rpc.WaitForReady(true))
		answer <- err
	}()
	if _, err := say(t.Context(), first, "hi"); err != nil {
		t.Error(err)
	}
	select {
	case err := <-answer:
		t.Errorf("the second connection was served beside the first: %v", err)
	default:
	}
	_ = first.Close()
	if err := <-answer; err != nil {
		t.Error(err)
	}
}

func TestWarnings(t *testing.T) {
	t.Parallel()
	const everybody, onTheWay, readable, invalid = "any client that reaches the gRPC server can change",
		"is not encrypted", "can read a file with secrets", "is not valid now"
	cert, key := newAuthority(t, "ours").issue(t, "server")
	pair := fmt.Sprintf("cert-file: %s\nkey-file: %s\n", cert, key)
	openTokens := filepath.Join(t.TempDir(), "tokens")
	infratest.Fatal(t, errors.Join(os.WriteFile(openTokens, []byte("hush-hush\n"), 0o600), os.Chmod(openTokens, 0o644)))
	for _, test := range []struct {
		conf string
		mode os.FileMode
		want []string
	}{
		{anyPort, 0o644, nil},
		{"endpoint: 0.0.0.0:0\n", 0o644, []string{everybody}},
		{"endpoint: 0.0.0.0:0\ntokens: [hush-hush]\n", 0o644, []string{onTheWay, readable}},
		{"endpoint: 0.0.0.0:0\ntokens: [hush-hush]\n" + pair, 0o600, nil},
		{anyPort + "tokens-file: " + openTokens + "\n", 0o644, []string{readable}},
	} {
		file := filepath.Join(t.TempDir(), "grpc.conf")
		infratest.Fatal(t, errors.Join(os.WriteFile(file, []byte(test.conf), 0o600), os.Chmod(file, test.mode)))
		var out infratest.Buffer
		a := agenttest.New(t, agent.Args("--grpc-config="+file), agent.AllPlugins(grpc.NewPlugin()),
			agent.Logging(logging.NewRegistry(logging.WithWriter(&out), logging.WithColours(false))))
		infratest.Fatal(t, a.Start(t.Context()))
		for _, w := range []string{everybody, onTheWay, readable, invalid} {
			wanted := strings.Contains(strings.Join(test.want, "\n"), w)
			if got := strings.Contains(out.String(), w); got != wanted {
				t.Errorf("%s\nwarned %q: %v\n%s", test.conf, w, got, out.String())
			}
		}
		if strings.Contains(out.String(), "hush-hush") {
			t.Error("a token is in the log")
		}
	}
}

// Who connects and says nothing is cut off in the end, and does not keep others
// from being served meanwhile, were they 10,000.
func TestTenThousandConnections(t *testing.T) {
	p, a, _ := start(t, anyPort+"max-connections: 0\n")
	infratest.Crowd(t, p.Addr(), "PRI * HT")
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if got, err := say(ctx, dial(t, p.Addr(), nil), "hi"); got != "hi" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	if err := a.Stop(); err != nil {
		t.Error(err)
	}
}
