package main

import (
	"path/filepath"
	"testing"

	"go.uber.org/goleak"
	rpc "google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/tenuto-dev/tenuto/examples/internal/exampletest"
	"github.com/tenuto-dev/tenuto/infra/grpc"
	"github.com/tenuto-dev/tenuto/proto/ligato/generic"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func dial(t *testing.T, address string) *rpc.ClientConn {
	t.Helper()
	conn, err := rpc.NewClient(address, rpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func TestService(t *testing.T) {
	server := grpc.NewPlugin()
	exampletest.StartAgent(t, newAgent(server, exampletest.Options(t, "--grpc-port", "0")...))
	conn := dial(t, server.Addr().String())
	for class, want := range map[string]int{"": 2, "config": 2, "metrics": 0} {
		resp, err := generic.NewMetaServiceClient(conn).KnownModels(t.Context(), &generic.KnownModelsRequest{Class: class})
		if err != nil {
			t.Fatal(err)
		}
		if len(resp.KnownModels) != want {
			t.Errorf("class %q: got %v, expected %d models", class, resp.KnownModels, want)
		}
	}
	_, err := generic.NewMetaServiceClient(conn).ProtoFileDescriptor(t.Context(), &generic.ProtoFileDescriptorRequest{})
	if status.Code(err) != codes.Unimplemented {
		t.Errorf("got %v, expected Unimplemented", err)
	}
	health, err := grpc_health_v1.NewHealthClient(conn).Check(t.Context(), &grpc_health_v1.HealthCheckRequest{})
	if err != nil || health.Status != grpc_health_v1.HealthCheckResponse_SERVING {
		t.Errorf("health is %v (%v)", health, err)
	}
}

// What the comment of the example says about grpc.conf.
func TestTokensAndSocket(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "example.sock")
	conf := exampletest.File(t, "grpc.conf", "endpoint: 127.0.0.1:0\ntokens: [correct-horse-battery-staple]\nsocket: "+socket+"\n")
	exampletest.StartAgent(t, newAgent(grpc.NewPlugin(), exampletest.Options(t, "--grpc-config", conf)...))
	client := generic.NewMetaServiceClient(dial(t, "unix:"+socket))
	for token, want := range map[string]codes.Code{"": codes.Unauthenticated, "horse": codes.Unauthenticated, "correct-horse-battery-staple": codes.OK} {
		ctx := metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer "+token)
		if _, err := client.KnownModels(ctx, &generic.KnownModelsRequest{}); status.Code(err) != want {
			t.Errorf("token %q: got %v, expected %v", token, err, want)
		}
	}
}
