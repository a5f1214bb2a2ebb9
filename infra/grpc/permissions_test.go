package grpc_test

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"testing"

	"golang.org/x/crypto/bcrypt"
	rpc "google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/tenuto-dev/tenuto/infra/agent"
	"github.com/tenuto-dev/tenuto/infra/agent/agenttest"
	"github.com/tenuto-dev/tenuto/infra/grpc"
	"github.com/tenuto-dev/tenuto/infra/infratest"
	"github.com/tenuto-dev/tenuto/infra/logging"
)

// vault is a service that reports whether an answer may have secrets.
type vault interface {
	Open(ctx context.Context, in *emptypb.Empty) (*wrapperspb.BoolValue, error)
}

type vaultService struct{}

func (vaultService) Open(ctx context.Context, _ *emptypb.Empty) (*wrapperspb.BoolValue, error) {
	return wrapperspb.Bool(grpc.ShowSecrets(ctx)), nil
}

func vaultDesc() *rpc.ServiceDesc {
	return &rpc.ServiceDesc{
		ServiceName: "test.Vault", HandlerType: (*vault)(nil),
		Methods: []rpc.MethodDesc{method("test.Vault", "Open", vault.Open)},
	}
}

// startVault is a server with two services: one that writes, and one that reads.
func startVault(t *testing.T, conf string) *rpc.ClientConn {
	t.Helper()
	p := grpc.NewPlugin(text(anyPort + conf))
	if err := errors.Join(
		p.Register(echoDesc(), &echoService{hanging: make(chan struct{}, 1)}, grpc.ReadOnly("Hang")),
		p.Register(vaultDesc(), vaultService{}, grpc.ReadOnly("Open")),
	); err != nil {
		t.Fatal(err)
	}
	agenttest.Start(t, p)
	return dial(t, p.Addr(), nil)
}

func open(t *testing.T, conn *rpc.ClientConn, who string, secrets string) (bool, error) {
	t.Helper()
	ctx := t.Context()
	if secrets != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, grpc.ShowSecretsMetadata, secrets)
	}
	if who != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, "authorization", who)
	}
	var out wrapperspb.BoolValue
	err := conn.Invoke(ctx, "/test.Vault/Open", &emptypb.Empty{}, &out)
	return out.Value, err
}

func basic(user, password string) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password))
}

// Users have passwords or tokens, or only their hashes in the file, and may call
// the methods that their permissions include.
func TestPermissions(t *testing.T) {
	t.Parallel()
	hash, err := bcrypt.GenerateFromPassword([]byte("pw"), bcrypt.MinCost)
	infratest.Fatal(t, err)
	conn := startVault(t, fmt.Sprintf(`password-hash-cost: 4
client-basic-auth: ['joe:%[1]s']
users:
- {name: reader, password-hash: '%[1]s', permissions: [read]}
- {name: service, password: pw, permissions: [test.Echo, secrets]}
- {name: method, token: tok, permissions: [test.Vault/Open, secrets]}
- {name: everything, token-hash: %[2]x, permissions: [all]}
- {name: nothing, token: none}
`, hash, sha256.Sum256([]byte("hashed"))))
	for _, test := range []struct {
		who            string
		echo, vault    codes.Code
		reflect, shown codes.Code // of reflection, and of a call that asks for secrets
	}{
		{basic("joe", "pw"), codes.OK, codes.OK, codes.OK, codes.OK},
		{basic("reader", "pw"), codes.PermissionDenied, codes.OK, codes.OK, codes.PermissionDenied},
		{basic("service", "pw"), codes.OK, codes.PermissionDenied, codes.PermissionDenied, codes.PermissionDenied},
		{"Bearer tok", codes.PermissionDenied, codes.OK, codes.PermissionDenied, codes.OK},
		{"Bearer hashed", codes.OK, codes.OK, codes.OK, codes.OK},
		{"Bearer none", codes.PermissionDenied, codes.PermissionDenied, codes.PermissionDenied, codes.PermissionDenied},
		{basic("reader", "wrong"), codes.Unauthenticated, codes.Unauthenticated, codes.Unauthenticated, codes.Unauthenticated},
		{basic("reader", string(hash)), codes.Unauthenticated, codes.Unauthenticated, codes.Unauthenticated, codes.Unauthenticated},
		{basic("method", "tok"), codes.Unauthenticated, codes.Unauthenticated, codes.Unauthenticated, codes.Unauthenticated},
		{"Basic !", codes.Unauthenticated, codes.Unauthenticated, codes.Unauthenticated, codes.Unauthenticated},
		{"Bearer pw", codes.Unauthenticated, codes.Unauthenticated, codes.Unauthenticated, codes.Unauthenticated},
	} {
		times := 2 // the second time passwords are known
		if test.echo == codes.Unauthenticated {
			times = 1 // more wrong passwords would be delayed
		}
		for range times {
			_, err := say(t.Context(), conn, "hi", rpc.PerRPCCredentials(header(test.who)))
			wantCode(t, test.who+": echo", err, test.echo)
			shown, err := open(t, conn, test.who, "")
			wantCode(t, test.who+": vault", err, test.vault)
			if shown {
				t.Errorf("%s: secrets that were not asked for", test.who)
			}
			shown, err = open(t, conn, test.who, "true")
			wantCode(t, test.who+": secrets", err, test.shown)
			if shown != (err == nil) {
				t.Errorf("%s: secrets %v, %v", test.who, shown, err)
			}
		}
		ctx := metadata.AppendToOutgoingContext(t.Context(), "authorization", test.who)
		stream, err := conn.NewStream(ctx, &rpc.StreamDesc{ServerStreams: true, ClientStreams: true}, "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo")
		if err == nil {
			if err = stream.CloseSend(); err == nil {
				err = stream.RecvMsg(&emptypb.Empty{})
			}
		}
		if want := test.reflect == codes.OK; want != (err == nil || err.Error() == "EOF") {
			t.Errorf("%s: reflection: %v", test.who, err)
		}
	}
	_, err = say(t.Context(), conn, "hi", rpc.PerRPCCredentials(header(basic("reader", "pw"))))
	wantCode(t, "why", err, codes.PermissionDenied, `user "reader" may not call /test.Echo/Echo; permissions that include it: all, test.Echo, test.Echo/Echo (`)
	_, err = open(t, conn, basic("reader", "pw"), "1")
	wantCode(t, "why", err, codes.PermissionDenied, `user "reader" may not see secrets`, `"secrets"`)
}

// Without users, secrets are shown on request; with show-secrets, they are shown
// without a request if the user has the permission.
func TestShowSecrets(t *testing.T) {
	t.Parallel()
	conn := startVault(t, "")
	for asks, want := range map[string]bool{"": false, "true": true, "1": true, "false": false, "x": false} {
		if shown, err := open(t, conn, "", asks); shown != want || err != nil {
			t.Errorf("%q: secrets %v, %v", asks, shown, err)
		}
	}
	if shown, err := open(t, startVault(t, "show-secrets: true\n"), "", ""); !shown || err != nil {
		t.Errorf("by the configuration: secrets %v, %v", shown, err)
	}
	conn = startVault(t, "show-secrets: true\ntokens: [tok]\nusers: [{name: reader, token: read, permissions: [read]}]\n")
	for who, want := range map[string]bool{"Bearer tok": true, "Bearer read": false} {
		if shown, err := open(t, conn, who, ""); shown != want || err != nil {
			t.Errorf("%s: secrets %v, %v", who, shown, err)
		}
	}
}

func TestUsersAreChecked(t *testing.T) {
	t.Parallel()
	const hash = "$2y$04$abcdefghijklmnopqrstuuBtQJMZPUzJ6cPJNkZV6nFW8hjiY9zLe"
	for conf, want := range map[string]string{
		"users: [{name: '', password: x}]":                                     "users[0].name",
		"users: [{name: 'a:b', password: x}]":                                  "users[0].name",
		"users: [{name: a}]":                                                   "users[0]: expected one of password-hash",
		"users: [{name: a, password: x, token: y}]":                            "users[0]: expected one of password-hash",
		"users: [{name: a, password-hash: geheim}]":                            "users[0].password-hash: expected a bcrypt hash",
		"users: [{name: a, token-hash: geheim}]":                               "users[0].token-hash: expected 64",
		"users: [{name: a, token: 'ge heim'}]":                                 "users[0].token: expected text without blanks",
		"users: [{name: a, password: " + strings.Repeat("x", 73) + "}]":        "users[0].password: expected a password of 1 to 72 bytes",
		"users: [{name: a, token: x}, {name: a, password-hash: " + hash + "}]": `users[1]: user "a" is already in users[0]`,
		"client-basic-auth: ['a:x']\nusers: [{name: a, token: x}]":             `users[0]: user "a" is already in client-basic-auth[0]`,
		"password-hash-cost: 3":                                                "password-hash-cost: 3: expected 4 to 16",
		"client-basic-auth: ['a:']":                                            "client-basic-auth[0]: expected a password",
	} {
		if err := refused(t, conf); !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "heim") {
			t.Errorf("%s: got %v, want %q", conf, err, want)
		}
	}
	p := grpc.NewPlugin()
	if err := p.Register(echoDesc(), &echoService{}, grpc.ReadOnly("Ecko")); err == nil || !strings.Contains(err.Error(), `no method "Ecko"`) {
		t.Errorf("a service with a method that it does not have: %v", err)
	}
}

func TestUnknownPermissions(t *testing.T) {
	t.Parallel()
	var out infratest.Buffer
	p := grpc.NewPlugin(text(anyPort + "users: [{name: a, token: x, permissions: [read, test.Echo/Hang, test.Ecko]}]\n"))
	infratest.Fatal(t, p.Register(echoDesc(), &echoService{}))
	a := agenttest.New(t, agent.AllPlugins(p), agent.Logging(logging.NewRegistry(logging.WithWriter(&out), logging.WithColours(false))))
	infratest.Fatal(t, a.Start(t.Context()))
	if n := strings.Count(out.String(), "unknown permission in grpc.conf"); n != 1 || !strings.Contains(out.String(), `"permission": "test.Ecko"`) {
		t.Errorf("%d warnings\n%s", n, out.String())
	}
}
