// Command grpc is an agent that serves a gRPC service of its own.
//
// Run it from the root of the repository and stop it with Ctrl-C:
//
//	go run ./examples/servers/grpc
//
// and ask it with grpcurl, or with the Go client that protoc generates:
//
//	grpcurl -plaintext 127.0.0.1:9111 list
//	grpcurl -plaintext 127.0.0.1:9111 ligato.generic.MetaService/KnownModels
//
// With a grpc.conf like
//
//	tokens: [correct-horse-battery-staple]
//	socket: /run/example.sock
//
// (--grpc-config FILE) it asks for a token and listens on a unix socket, too; "config
// print grpc" shows the keys for TLS, client certificates, bounds and keepalive. The
// standard health service, reflection and metrics are there without a line of code.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/tenuto-dev/tenuto/infra"
	"github.com/tenuto-dev/tenuto/infra/agent"
	"github.com/tenuto-dev/tenuto/infra/grpc"
	"github.com/tenuto-dev/tenuto/infra/models"
	vppifmodel "github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/model"
	"github.com/tenuto-dev/tenuto/proto/ligato/generic"
)

func main() {
	if err := newAgent(grpc.NewPlugin()).Run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func newAgent(server *grpc.Plugin, opts ...agent.Option) *agent.Agent {
	c := &Catalogue{models: []models.Known{vppifmodel.InterfaceModel, vppifmodel.SpanModel}}
	c.SetName("catalogue")
	c.GRPC = server
	return agent.NewAgent(append(opts, agent.AllPlugins(c))...)
}

// Catalogue is a plugin that announces to clients which models there are. The embedded
// server answers what is not implemented here with codes.Unimplemented.
type Catalogue struct {
	Deps
	generic.UnimplementedMetaServiceServer
	models []models.Known
}

// Deps is what Catalogue needs: a place for its service.
type Deps struct {
	infra.PluginDeps
	GRPC grpc.Services
}

// Init registers the service; the description of it is generated code. The server
// begins to listen when all plugins are initialised.
func (c *Catalogue) Init() error {
	return c.GRPC.Register(&generic.MetaService_ServiceDesc, c)
}

// KnownModels is called by many goroutines at once. Its context ends when the
// client disconnects, and when the agent stops.
func (c *Catalogue) KnownModels(_ context.Context, req *generic.KnownModelsRequest) (*generic.KnownModelsResponse, error) {
	resp := &generic.KnownModelsResponse{}
	for _, m := range c.models {
		if spec := m.Spec(); req.Class == "" || req.Class == spec.Class {
			resp.KnownModels = append(resp.KnownModels, &generic.ModelDetail{
				Spec:      &generic.ModelSpec{Module: spec.Module, Version: spec.Version, Type: spec.Type, Class: spec.Class},
				ProtoName: string(m.ProtoName()),
			})
		}
	}
	return resp, nil
}
