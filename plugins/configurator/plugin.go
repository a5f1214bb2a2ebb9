// Package configurator is the plugin with the gRPC services that configure the
// agent and return its state: ConfiguratorService (whole configurations in one
// typed message), ManagerService (items of any model), MetaService (the
// models) and StatsPollerService (the counters of VPP and Linux).
//
// All clients are one source of the orchestrator, "grpc", unless they name
// another one in the metadata datasrc. A request with an invalid item is
// rejected as a whole (InvalidArgument) with an error that names the fields.
// Values that fail in the southbound, or that no plugin handles, are reported as
// FailedPrecondition with a SetConfigResponse in the details of the status. The
// scheduler retries them; the other values take effect. For clients that announce
// themselves (ClientMetadata) ManagerService reports them in the results instead.
// Other clients know the schema of the predecessor only: replies to them lack the fields and
// models that the predecessor lacks, and MetaService and reflection describe its schema.
//
// Returned values contain their secrets only if the client requests them
// (grpc.ShowSecrets); otherwise the secrets are hidden.
package configurator

import (
	"context"
	"errors"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/infra"
	"github.com/tenuto-dev/tenuto/infra/grpc"
	"github.com/tenuto-dev/tenuto/infra/models"
	"github.com/tenuto-dev/tenuto/infra/rest"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator"
	pb "github.com/tenuto-dev/tenuto/proto/ligato/configurator"
	"github.com/tenuto-dev/tenuto/proto/ligato/generic"
	linuxif "github.com/tenuto-dev/tenuto/proto/ligato/linux/interfaces"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

// Plugin serves the services.
type Plugin struct {
	Deps

	byMessage map[string]models.Known // by the full name of the message
	events    *events
	cancel    []func() // of the watches of interfaces
	stats     statistics
}

// Deps are the dependencies of the plugin.
type Deps struct {
	infra.PluginDeps
	// GRPC is the server.
	GRPC grpc.Services
	// Orchestrator takes the changes.
	Orchestrator Orchestrator
	// Scheduler provides the states of the values.
	Scheduler Scheduler
	// Interfaces notifies of state changes of VPP interfaces; nil disables these notifications.
	Interfaces InterfaceStates `optional:"true"`
	// LinuxInterfaces does the same for Linux; nil disables it.
	LinuxInterfaces LinuxInterfaceStates `optional:"true"`
	// Stats provides the counters of VPP; nil disables them.
	Stats InterfaceStats `optional:"true"`
	// LinuxStats provides the counters of Linux; nil disables them.
	LinuxStats LinuxInterfaceStats `optional:"true"`
	// HTTP serves the statistics of calls; nil disables that.
	HTTP rest.HTTPHandlers `optional:"true"`
}

// Orchestrator is the part of the orchestrator that the plugin uses.
type Orchestrator interface {
	WaitFor(ctx context.Context, items []orchestrator.KeyVal, results []orchestrator.Result) error
	PushData(ctx context.Context, source string, items []orchestrator.KeyVal, opts ...orchestrator.PushOption) ([]orchestrator.Result, error)
	RestoreSecrets(source, key string, val proto.Message) proto.Message
	ListData(source string) []orchestrator.KeyVal
	Status(key string) orchestrator.Result
	NoteRefused(source string, items ...orchestrator.Rejected)
	Models() *models.Set
}

// Scheduler is the part of the scheduler that the plugin uses.
type Scheduler interface {
	ValidateSemantically(messages []proto.Message) error
	WaitFor(ctx context.Context, req api.WaitRequest) error
	Watch(req api.WatchRequest) api.StatusWatch
	ListDescriptors() []*api.KVDescriptor
	DumpValuesByDescriptor(descriptor string, view api.View) ([]api.KVWithMetadata, error)
}

// InterfaceStates reports the states of interfaces, as ifplugin.States does.
type InterfaceStates interface {
	// Watch calls f, which does not block, with every state and with each that
	// changes. It is called when all plugins are initialised.
	Watch(f func(*interfaces.InterfaceNotification)) (cancel func())
}

// LinuxInterfaceStates reports the states of Linux interfaces, as InterfaceStates
// reports the states of VPP interfaces.
type LinuxInterfaceStates interface {
	Watch(f func(*linuxif.InterfaceNotification)) (cancel func())
}

// InterfaceStats provides the counters of VPP, as the telemetry plugin does.
type InterfaceStats interface {
	// InterfaceStats returns the counters of all interfaces, as they were no
	// longer ago than maxAge.
	InterfaceStats(maxAge time.Duration) ([]*interfaces.InterfaceStats, error)
}

// LinuxInterfaceStats provides the counters of Linux, as ifplugin.Plugin does.
type LinuxInterfaceStats interface {
	// InterfaceStats returns the counters of all interfaces of the configuration.
	InterfaceStats(ctx context.Context) ([]*linuxif.InterfaceStats, error)
}

var _ infra.PostInit = (*Plugin)(nil)

// Init registers the services.
func (p *Plugin) Init() error {
	p.byMessage = map[string]models.Known{}
	for _, m := range p.Orchestrator.Models().All() {
		p.byMessage[string(m.ProtoName())] = m
	}
	p.events = newEvents(keptEvents)
	if p.HTTP != nil {
		if err := p.HTTP.Register(p.String(), p.endpoint()); err != nil {
			return err
		}
	}
	return errors.Join(
		p.GRPC.Register(&pb.ConfiguratorService_ServiceDesc, &configuratorService{p: p}, grpc.ReadOnly("Get", "Dump", "Notify")),
		p.GRPC.Register(&pb.StatsPollerService_ServiceDesc, &statsPollerService{p: p}, grpc.ReadOnly("PollStats")),
		p.GRPC.Register(&generic.ManagerService_ServiceDesc, &managerService{p: p}, grpc.ReadOnly("GetConfig", "DumpState", "Subscribe")),
		p.GRPC.Register(&generic.MetaService_ServiceDesc, &metaService{p: p}, grpc.ReadOnly("KnownModels", "ProtoFileDescriptor"), grpc.ReflectWith(descriptors)),
	)
}

// AfterInit begins to follow the interfaces.
func (p *Plugin) AfterInit() error {
	if p.Interfaces != nil {
		p.cancel = append(p.cancel, p.Interfaces.Watch(p.events.interfaceOfVPP))
	}
	if p.LinuxInterfaces != nil {
		p.cancel = append(p.cancel, p.LinuxInterfaces.Watch(p.events.interfaceOfLinux))
	}
	return nil
}

// Close stops following the interfaces.
func (p *Plugin) Close() error {
	for _, cancel := range p.cancel {
		cancel()
	}
	return p.PluginDeps.Close()
}
