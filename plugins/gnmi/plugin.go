// Package gnmi is the plugin with the service gnmi.gNMI of OpenConfig: Capabilities, Get, Set
// and Subscribe over the models of the agent. It has four trees:
//
//	/config/vpp.interfaces[name=loop1]/mtu              the items in effect, of all sources
//	/state/vpp.interfaces[name=loop1]/state             the states of their values
//	/operational/vpp.interfaces[name=loop1]/operStatus  what VPP and Linux report of interfaces
//	/counters/vpp.interfaces[name=loop1]/rx/packets     what they count
//
// The first element below a tree is the name of a model. Its keys are the fields of the name in
// the option (ligato.item) of its message; without that option it has one key, "key".
// Changes belong to the source "grpc" of the orchestrator, like the changes of all clients. A
// Set is one transaction, which is reverted as a whole if a value fails.
package gnmi

import (
	"context"
	"time"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/infra"
	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/infra/grpc"
	"github.com/tenuto-dev/tenuto/infra/models"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/document"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

// DefaultName is the name of the plugin.
const DefaultName = "gnmi"

// Plugin serves gnmi.gNMI.
type Plugin struct {
	Deps
	cfg Config
}

// Deps are the dependencies of the plugin.
type Deps struct {
	infra.PluginDeps
	// GRPC is the gRPC server.
	GRPC grpc.Services
	// Orchestrator takes the changes, and provides the items.
	Orchestrator Orchestrator
	// Scheduler provides the states of the values.
	Scheduler Scheduler
	// Stats provides the counters of VPP; nil: there are none.
	Stats InterfaceStats `optional:"true"`
	// Links provides the operational states of VPP interfaces; nil: there are none.
	Links InterfaceStates `optional:"true"`
	// Linux provides the operational states and counters of Linux interfaces; nil: there are none.
	Linux LinuxInterfaces `optional:"true"`
	// Label is the target of paths; nil: paths have no target.
	Label AgentLabel `optional:"true"`
}

// SetDefaults gives the plugin its name if it has none.
func (p *Plugin) SetDefaults() { p.SetDefaultName(DefaultName) }

// Orchestrator is the part of the orchestrator that the plugin uses.
type Orchestrator interface {
	PlanData(ctx context.Context, source string, items []orchestrator.KeyVal, opts ...orchestrator.PushOption) (*orchestrator.Plan, error)
	PlanAndApply(ctx context.Context, plan func() (*orchestrator.Plan, error), o orchestrator.ApplyOptions) (*orchestrator.Plan, orchestrator.Applied, error)
	ConfirmCommit(id string) (seqNum uint64, err error)
	CancelCommit(ctx context.Context, id string) error
	ExtendCommit(id string, timeout time.Duration) error
	Item(key string) orchestrator.SourcedItem
	ListData(source string) []orchestrator.KeyVal
	WatchItems() *orchestrator.ItemWatch
	Status(key string) orchestrator.Result
	RestoreSecrets(source, key string, val proto.Message) proto.Message
	Models() *models.Set
}

// Scheduler is the part of the scheduler that the plugin uses.
type Scheduler interface {
	ValidateSemantically(messages []proto.Message) error
	Watch(req api.WatchRequest) api.StatusWatch
}

// InterfaceStats provides the counters of VPP, as the telemetry plugin does.
type InterfaceStats interface {
	// InterfaceStats returns the counters of all interfaces, as they were no
	// longer ago than maxAge.
	InterfaceStats(maxAge time.Duration) ([]*interfaces.InterfaceStats, error)
}

// AgentLabel provides the label of the agent.
type AgentLabel interface {
	GetAgentLabel() string
}

// Config is the file gnmi.conf.
type Config struct {
	MinSampleInterval time.Duration `json:"min-sample-interval" desc:"shortest interval of samples and heartbeats of subscriptions; a subscription with sample interval 0 gets this one, one with a shorter interval is rejected"`
	SampleInterval    time.Duration `json:"sample-interval" desc:"interval of counters in subscriptions that leave the mode to the agent (TARGET_DEFINED)"`
}

// DefaultConfig returns the configuration without a file.
func DefaultConfig() Config {
	return Config{MinSampleInterval: time.Second, SampleInterval: 10 * time.Second}
}

// Validate returns an error for invalid values.
func (c Config) Validate() error {
	var check config.Checks
	check.Expect(c.MinSampleInterval > 0, "min-sample-interval: %v: expected a positive duration", c.MinSampleInterval)
	check.Expect(c.SampleInterval >= c.MinSampleInterval, "sample-interval: %v: expected at least min-sample-interval, %v", c.SampleInterval, c.MinSampleInterval)
	return check.Err()
}

// ConfigSpec returns the defaults of gnmi.conf.
func (p *Plugin) ConfigSpec() any { return DefaultConfig() }

// Init reads the configuration and registers the service.
func (p *Plugin) Init() error {
	cfg, _, err := config.Load(p.Cfg, DefaultConfig())
	if err != nil {
		return err
	}
	p.cfg = cfg
	s := newService(p)
	return p.GRPC.Register(&gpb.GNMI_ServiceDesc, s, grpc.ReadOnly("Capabilities", "Get", "Subscribe"))
}

// service implements the service.
type service struct {
	gpb.UnimplementedGNMIServer
	*Plugin
	codec  *document.Codec
	models []*model // by name
	kinds  []*interfaceKind
	trees  []*tree
}

var _ gpb.GNMIServer = (*service)(nil)

func newService(p *Plugin) *service {
	s := &service{Plugin: p, codec: document.New(p.Orchestrator.Models()), models: known(p.Orchestrator.Models()), kinds: p.interfaceKinds()}
	s.trees = s.newTrees()
	return s
}
