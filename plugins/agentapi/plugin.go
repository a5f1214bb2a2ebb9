// Package agentapi is the plugin with the agent's own API, tenuto.v1.AgentService: plan,
// apply with revert and confirmation, watch, explain, and what the sources, the history, the
// graph and the southbound have. It is served over gRPC, and as JSON over HTTP:
//
//	POST /tenuto.v1.AgentService/Explain  {"key": "config/vpp/v2/interfaces/loop1"}
//
// Changes belong to the source "grpc" of the orchestrator, like the changes of all clients.
// Invalid requests are rejected as a whole; errors have a google.rpc.BadRequest that names
// every wrong field. Secrets are hidden unless the client asks for them and may see them.
package agentapi

import (
	"context"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/infra"
	"github.com/tenuto-dev/tenuto/infra/grpc"
	"github.com/tenuto-dev/tenuto/infra/models"
	"github.com/tenuto-dev/tenuto/infra/rest"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/response"
	pb "github.com/tenuto-dev/tenuto/proto/tenuto/v1"
)

// DefaultName is the name of the plugin.
const DefaultName = "agent-api"

// Plugin serves tenuto.v1.AgentService.
type Plugin struct {
	Deps
}

// Deps are the dependencies of the plugin.
type Deps struct {
	infra.PluginDeps
	// GRPC is the gRPC server.
	GRPC grpc.Services
	// HTTP serves the same calls as JSON; nil: only gRPC.
	HTTP rest.HTTPHandlers `optional:"true"`
	// Orchestrator takes the changes.
	Orchestrator Orchestrator
	// Scheduler provides the states of the values.
	Scheduler Scheduler
}

// SetDefaults gives the plugin its name if it has none.
func (p *Plugin) SetDefaults() { p.SetDefaultName(DefaultName) }

// Orchestrator is the part of the orchestrator that the plugin uses.
type Orchestrator interface {
	PlanData(ctx context.Context, source string, items []orchestrator.KeyVal, opts ...orchestrator.PushOption) (*orchestrator.Plan, error)
	PlanAndApply(ctx context.Context, plan func() (*orchestrator.Plan, error), o orchestrator.ApplyOptions) (*orchestrator.Plan, orchestrator.Applied, error)
	Overrides(plan *orchestrator.Plan) (list []response.Override, n int)
	ConfirmCommit(id string) (seqNum uint64, err error)
	CancelCommit(ctx context.Context, id string) error
	AcceptSource(ctx context.Context, name string, caller orchestrator.Caller) (changes int, err error)
	WaitFor(ctx context.Context, items []orchestrator.KeyVal, results []orchestrator.Result) error
	Status(key string) orchestrator.Result
	Sourced(prefix string) []orchestrator.SourcedItem
	RestoreSecrets(source, key string, val proto.Message) proto.Message
	Models() *models.Set
}

// Scheduler is the part of the scheduler that the plugin uses.
type Scheduler interface {
	api.DriftDetector
	api.OrphanFinder
	ValidateSemantically(messages []proto.Message) error
	Watch(req api.WatchRequest) api.StatusWatch
	Explain(key string) *api.Explanation
	GetTransactionHistory(since, until time.Time) []*api.RecordedTxn
	GetRecordedTransaction(seqNum uint64) *api.RecordedTxn
	GraphSnapshot() []api.GraphNode
}

// Init registers the service.
func (p *Plugin) Init() error {
	s := &service{Plugin: p}
	err := p.GRPC.Register(&pb.AgentService_ServiceDesc, s,
		grpc.ReadOnly(callsThat(func(c call) bool { return c.reads })...), grpc.LargeRequests(callsThat(func(c call) bool { return c.large })...))
	if err != nil || p.HTTP == nil {
		return err
	}
	endpoints, err := endpoints(s)
	if err != nil {
		return err
	}
	return p.HTTP.Register(p.String(), endpoints...)
}

// service implements the service.
type service struct {
	pb.UnimplementedAgentServiceServer
	*Plugin
}

var _ pb.AgentServiceServer = (*service)(nil)
