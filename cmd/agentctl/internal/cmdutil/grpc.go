package cmdutil

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"

	rpc "google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/client"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/exit"
	"github.com/tenuto-dev/tenuto/proto/ligato/configurator"
)

const (
	// defaultGRPCPort is the default port of an agent's gRPC server.
	defaultGRPCPort = 9111
	// maxGRPCAnswer is the maximum size of a response, in bytes.
	maxGRPCAnswer = 1 << 30
	// clientMetadata announces a client that knows the whole schema and the results of items.
	clientMetadata = "tenuto-client"
	// showSecretsMetadata requests values with their secrets.
	showSecretsMetadata = "show-secrets"
)

// GRPC connects to the gRPC server of the agent.
type GRPC struct{ *Endpoint }

// address returns the address of the gRPC server.
func (c *GRPC) address() (target string, creds credentials.TransportCredentials, err error) {
	g := &c.Flags
	if g.GRPCSocket != "" {
		return "unix:" + g.GRPCSocket, insecure.NewCredentials(), nil
	}
	if strings.HasPrefix(g.Host, "/") {
		return "", nil, exit.Usagef("--host is a unix socket of the HTTP server; expected the socket of the gRPC server as --grpc-socket")
	}
	if c.Target == nil && g.HTTPPort != client.DefaultPort && !g.GRPCPortGiven {
		return "", nil, exit.Usagef("this command uses gRPC, and only the HTTP port of the agent is given (%d): expected --grpc-port (GRPC_PORT) as well; port %d may be another agent's",
			g.HTTPPort, defaultGRPCPort)
	}
	server := c.Target.GetGrpc()
	if c.Target != nil && server == nil {
		return "", nil, fmt.Errorf("agent %q serves no gRPC on TCP (endpoint in grpc.conf)", c.Target.Label)
	}
	t, err := g.tlsFor(c.File.GRPCTLS, "grpc-tls", server.GetTls())
	if err != nil {
		return "", nil, err
	}
	creds = insecure.NewCredentials()
	if t != nil {
		creds = credentials.NewTLS(t)
	}
	if server != nil {
		return server.Address, creds, nil
	}
	return net.JoinHostPort(strings.Trim(g.Host, "[]"), strconv.Itoa(g.GRPCPort)), creds, nil
}

// WithAgent connects to the gRPC server of the agent while f runs. bounded
// applies --timeout.
func (c *GRPC) WithAgent(ctx context.Context, bounded bool, f func(context.Context, configurator.ConfiguratorServiceClient) error) error {
	return c.WithConn(ctx, bounded, func(ctx context.Context, conn *rpc.ClientConn) error {
		return f(ctx, configurator.NewConfiguratorServiceClient(conn))
	})
}

// WithConn connects to the gRPC server of the agent while f runs.
func (c *GRPC) WithConn(ctx context.Context, bounded bool, f func(context.Context, *rpc.ClientConn) error) error {
	target, creds, err := c.address()
	if err != nil {
		return err
	}
	conn, err := rpc.NewClient(target, rpc.WithTransportCredentials(creds), rpc.WithDefaultCallOptions(rpc.MaxCallRecvMsgSize(maxGRPCAnswer)))
	if err != nil {
		return fmt.Errorf("agent at %s: %w", target, err)
	}
	defer conn.Close()
	switch g := &c.Flags; {
	case g.GRPCToken != "":
		ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+g.GRPCToken)
	case g.GRPCBasicAuth != "":
		ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(g.GRPCBasicAuth)))
	}
	ctx = metadata.AppendToOutgoingContext(ctx, clientMetadata, "1")
	if c.Flags.ShowSecrets {
		ctx = metadata.AppendToOutgoingContext(ctx, showSecretsMetadata, "true")
	}
	if bounded {
		var cancel context.CancelFunc
		ctx, cancel = c.Flags.Bounded(ctx)
		defer cancel()
	}
	if err := c.connected(ctx, conn); err != nil {
		return fmt.Errorf("the agent at %s did not answer within %v (--timeout); nothing was asked of it", target, c.Flags.Timeout)
	}
	return c.explain(target, f(ctx, conn))
}

// connected waits for the connection, at most for --timeout. The first call
// reports why there is none.
func (c *GRPC) connected(ctx context.Context, conn *rpc.ClientConn) error {
	if c.Flags.Timeout <= 0 {
		return nil
	}
	ctx, cancel := c.Flags.Bounded(ctx)
	defer cancel()
	conn.Connect()
	for s := conn.GetState(); s != connectivity.Ready && s != connectivity.TransientFailure; s = conn.GetState() {
		if !conn.WaitForStateChange(ctx, s) {
			return status.FromContextError(ctx.Err()).Err()
		}
	}
	return nil
}

// connectionError explains to users why there is no connection; nil if the text is about
// something else.
func connectionError(target, text string) error {
	has := func(part string) bool { return strings.Contains(text, part) }
	_, handshake, _ := strings.Cut(text, "authentication handshake failed: ")
	handshake = strings.TrimSuffix(handshake, `"`)
	switch {
	case has("connection refused"):
		return fmt.Errorf("no agent serves gRPC at %s: connection refused; is it running there? (-H, --grpc-port, --grpc-socket)", target)
	case has("looked like an HTTP/1.1 header"):
		return fmt.Errorf("what listens at %s does not speak gRPC; is that the port of the agent's gRPC server? (--grpc-port)", target)
	case has("no such file or directory"):
		return fmt.Errorf("no agent serves gRPC at %s: there is no such socket (--grpc-socket)", target)
	case has("first record does not look like a TLS handshake"):
		return fmt.Errorf("the gRPC server of the agent at %s does not use TLS (--tls, --insecure-tls)", target)
	case has("certificate signed by unknown authority"):
		return fmt.Errorf("agent at %s: %s (--tls-ca-file: the file with the CA certificate that signs the agent's certificate)", target, handshake)
	case has("x509: certificate is"), has("x509: cannot validate"):
		return fmt.Errorf("agent at %s: %s (-H: a name or an address that the certificate is for)", target, handshake)
	case has("remote error: tls: "):
		return fmt.Errorf("agent at %s: %s (the agent expects a certificate that it knows from this client: --tls-cert-file, --tls-key-file)", target, text)
	case has("error reading server preface"), has("broken pipe"), has("connection reset by peer"):
		return fmt.Errorf("the agent at %s closed the connection; does its gRPC server use TLS (--tls), or expect a certificate of this client (--tls-cert-file)? %s", target, text)
	case has("connection error"):
		return fmt.Errorf("no agent serves gRPC at %s (-H, --grpc-port, --grpc-socket): %s", target, text)
	}
	return nil
}

// explain explains the status of a call to users.
func (c *GRPC) explain(target string, err error) error {
	var call interface{ GRPCStatus() *status.Status }
	if err == nil || !errors.As(err, &call) {
		return err
	}
	st := call.GRPCStatus()
	text := st.Message()
	switch {
	case st.Code() == codes.Unavailable && connectionError(target, text) != nil:
		return connectionError(target, text)
	case st.Code() == codes.ResourceExhausted && strings.Contains(text, "received message larger than max"):
		return fmt.Errorf("the agent at %s: %s (max-msg-size in its grpc.conf)", target, text)
	case st.Code() == codes.Unauthenticated:
		return fmt.Errorf("the agent at %s: %s (--grpc-token, --grpc-basic-auth)", target, text)
	case st.Code() == codes.PermissionDenied:
		return fmt.Errorf("the agent at %s refuses: %s", target, text)
	case st.Code() == codes.DeadlineExceeded:
		return fmt.Errorf("the agent at %s did not answer within %v (--timeout); a request that has begun continues, see 'agentctl status' and 'agentctl config history'", target, c.Flags.Timeout)
	}
	// What the command added to the status stays; how gRPC prints a status does not.
	whole := strings.Replace(err.Error(), fmt.Sprintf("rpc error: code = %s desc = ", st.Code()), "", 1)
	return fmt.Errorf("the agent at %s: %s", target, whole)
}
