package agentapi_test

import (
	"context"
	"encoding/base64"
	"io"
	"net/http"
	"strings"
	"testing"

	rpc "google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/infra/grpc"
	"github.com/tenuto-dev/tenuto/infra/rest"
	"github.com/tenuto-dev/tenuto/plugins/agentapi"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/orchtest"
	pb "github.com/tenuto-dev/tenuto/proto/tenuto/v1"
)

// A user with the same permission may make the same calls over HTTP and over gRPC.
func TestSamePermissions(t *testing.T) {
	t.Parallel()
	const users = "endpoint: 127.0.0.1:0\npassword-hash-cost: 4\nusers:\n" +
		"- {name: reader, password: x, permissions: [read]}\n- {name: none, password: x}\n- {name: all, password: x, permissions: [all]}\n"
	a := orchtest.New(t)
	a.GRPC = grpc.NewPlugin(grpc.UseDeps(func(d *grpc.Deps) { d.Cfg = config.Text("grpc", users) }))
	web := rest.NewPlugin(rest.UseDeps(func(d *rest.Deps) { d.Cfg = config.Text("http", users) }))
	a.Start(web, &agentapi.Plugin{Deps: agentapi.Deps{GRPC: a.GRPC, HTTP: web, Orchestrator: a.Orchestrator, Scheduler: a.Scheduler}})
	changes := map[string]bool{"Apply": true, "Confirm": true, "Cancel": true, "AcceptSource": true}
	desc := pb.File_tenuto_v1_agent_proto.Services().ByName("AgentService")
	for i := range desc.Methods().Len() {
		path := "/" + string(desc.FullName()) + "/" + string(desc.Methods().Get(i).Name())
		for _, user := range []string{"reader", "none", "all"} {
			overHTTP, overGRPC := deniedOverHTTP(t, web.URL()+path, user), deniedOverGRPC(t, a, path, user)
			want := user == "none" || user == "reader" && changes[string(desc.Methods().Get(i).Name())]
			if overHTTP != want || overGRPC != want {
				t.Errorf("%s, user %s: denied over HTTP %v, over gRPC %v, expected %v", path, user, overHTTP, overGRPC, want)
			}
		}
	}
}

func deniedOverHTTP(t *testing.T, url, user string) bool {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel() // ends a watch
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	req.SetBasicAuth(user, "x")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	return resp.StatusCode == http.StatusForbidden
}

func deniedOverGRPC(t *testing.T, a *orchtest.Agent, method, user string) bool {
	t.Helper()
	ctx, cancel := context.WithCancel(metadata.AppendToOutgoingContext(a.Context(), "authorization",
		"Basic "+base64.StdEncoding.EncodeToString([]byte(user+":x"))))
	defer cancel() // ends a watch
	stream, err := a.Conn.NewStream(ctx, &rpc.StreamDesc{ServerStreams: true}, method)
	if err == nil {
		if err = stream.SendMsg(&emptypb.Empty{}); err == nil || err == io.EOF {
			err = stream.CloseSend()
		}
	}
	if err == nil {
		err = stream.RecvMsg(&emptypb.Empty{})
	}
	return status.Code(err) == codes.PermissionDenied
}
