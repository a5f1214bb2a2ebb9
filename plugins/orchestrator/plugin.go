// Package orchestrator is the plugin that brings the northbound together: it
// receives configuration from several sources (files, key-value stores, clients
// in the process and remote ones), lets the source of the highest priority win
// where they disagree about a key, and gives the result to the scheduler.
//
// At the start it waits for the state of every source and then synchronises
// once, so that nothing is removed that a slower source is about to ask for. If
// a source does not send its state in time, or could not read all of it, nothing
// that is found in the southbound is removed until it has.
//
// With a State, what every source asked for outlives the agent: after a restart
// it is in effect until the source tells its whole state anew, which a store
// does when it can be read, and a client when it pushes with WithResync. What
// clients changed is thus kept, and a store that cannot be reached takes nothing
// down. A store that was known completely before is no reason to wait with
// removals.
package orchestrator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/infra"
	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/infra/datasync"
	"github.com/tenuto-dev/tenuto/infra/kv/publish"
	"github.com/tenuto-dev/tenuto/infra/rest"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/allmodels"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/document"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/internal/turns"
)

// Names of sources that are no stores. Their priority is above that of stores,
// in this order.
const (
	// GRPC is the source of remote clients, over gRPC and REST alike.
	GRPC = "grpc"
	// LocalClient is the source of clients in the process.
	LocalClient = "localclient"
)

// Scheduler is the part of the scheduler that the plugin uses.
type Scheduler interface {
	api.Committer
	GetValueStatus(key string) *api.BaseValueStatus
	Reason(key string) string
	WaitFor(ctx context.Context, req api.WaitRequest) error
	ValidateSemantically(messages []proto.Message) error
	GetTransactionHistory(since, until time.Time) []*api.RecordedTxn
	Watch(req api.WatchRequest) api.StatusWatch
	TellRefusals(r api.Refusals)
	TellChanges(changes func() api.ChangesStatus)
}

// Plugin merges the sources. PushData can be called from AfterInit on.
type Plugin struct {
	Deps
	base *Config // of UseConf; nil: none
	cfg  Config

	// turns lets changes be made and executed one after the other: what a change
	// amounts to depends on what became of those before it.
	turns *turns.Queue
	// synced is closed when the initial synchronisation has been executed.
	synced chan struct{}

	mu          sync.RWMutex // over the fields below; not held while waiting
	store       store
	reports     map[string]*report // by source
	begun       bool               // the initial synchronisation was given to the scheduler
	ended       bool               // the initial synchronisation has been executed
	closed      bool               // Withdraw was called
	stores      []*watched         // those that are enabled
	keeping     bool               // nothing found is removed, as there were gaps
	unconfirmed *unconfirmed       // nil: no change waits to be confirmed
	syncErr     error              // of the initial synchronisation; final when synced is closed

	clocks   clocks
	recalled map[string]keptStore // stores that were known before the restart
	overdue  []KeyVal             // taken back at the start, and not kept yet
	unsaved  bool                 // what the State has is not what the sources want
}

// Deps is what the plugin needs.
type Deps struct {
	infra.PluginDeps
	Scheduler Scheduler
	// Codec has the models that are served; nil: all.
	Codec *document.Codec
	// Watcher is the stores to watch, the one with the lowest priority first.
	Watcher datasync.KVProtoWatchers
	// State keeps what the sources ask for over restarts; nil: nobody does.
	State State `optional:"true"`
	// Stores are the data stores that the states of items can be published to,
	// which status-publishers chooses from.
	Stores []publish.Store `optional:"true"`
	// Label tells under which prefix states are published; nil: none.
	Label AgentPrefix `optional:"true"`
	// HTTP serves the endpoints under /configuration and those of plans; nil: none.
	HTTP rest.HTTPHandlers `optional:"true"`
}

// Config is the file orchestrator.conf.
type Config struct {
	InitialSyncTimeout time.Duration `json:"initial-sync-timeout" desc:"how long to wait at the start for the state of every source; until one that is late has sent it nothing is removed that was found"`
	SourcePriority     []string      `json:"source-priority" desc:"names of sources, the one with the highest priority last; those not listed have lower priority: stores in the order they are wired, then grpc and localclient"`
	QueueCapacity      int           `json:"queue-capacity" desc:"number of changes and plans of clients that can wait for their turn; when one more comes, the latest of the client with the most is refused"`
	StatusPublishers   []string      `json:"status-publishers" desc:"names of the data stores that the states of items are published to, below config-status/; none: to all of the agent if ENABLE_STATUS_PUBLISHING is set, else nowhere"`
}

// DefaultQueueCapacity is how many changes of clients can wait.
const DefaultQueueCapacity = 200

// DefaultConfig is what holds without a configuration file.
func DefaultConfig() Config {
	return Config{InitialSyncTimeout: 30 * time.Second, QueueCapacity: DefaultQueueCapacity}
}

// Validate says which keys have impossible values.
func (c Config) Validate() error {
	var errs []error
	if c.InitialSyncTimeout <= 0 {
		errs = append(errs, fmt.Errorf("initial-sync-timeout: %v: expected a positive duration", c.InitialSyncTimeout))
	}
	if c.QueueCapacity < 1 {
		errs = append(errs, fmt.Errorf("queue-capacity: %d: expected at least 1", c.QueueCapacity))
	}
	seen := map[string]bool{}
	for i, name := range c.SourcePriority {
		if name == "" || seen[name] {
			errs = append(errs, fmt.Errorf("source-priority[%d]: %q: expected every name once", i, name))
		}
		seen[name] = true
	}
	return errors.Join(errs...)
}

var _ infra.PostInit = (*Plugin)(nil)

// ConfigSpec returns the defaults of orchestrator.conf.
func (p *Plugin) ConfigSpec() any { return p.defaults() }

func (p *Plugin) defaults() Config {
	if p.base == nil {
		return DefaultConfig()
	}
	cfg := *p.base
	cfg.QueueCapacity = cmp.Or(cfg.QueueCapacity, DefaultQueueCapacity)
	return cfg
}

// Init reads the configuration and adds the endpoints.
func (p *Plugin) Init() error {
	cfg, _, err := config.Load(p.Cfg, p.defaults())
	if err != nil {
		return err
	}
	p.cfg = cfg
	if p.Codec == nil {
		set, err := allmodels.Set()
		if err != nil {
			return fmt.Errorf("models: %w", err)
		}
		p.Codec = document.New(set)
	}
	p.synced = make(chan struct{})
	p.turns = turns.New(p.cfg.QueueCapacity, time.Now, p.Context().Done())
	p.reports, p.recalled = map[string]*report{}, map[string]keptStore{}
	if p.clocks.now == nil {
		p.clocks = systemClocks()
	}
	p.store = store{rank: ranking(p.cfg.SourcePriority, flatten(p.Watcher))}
	if p.State != nil && !p.State.KeepsState() {
		p.State = nil
	}
	if err := p.recall(); err != nil {
		return err
	}
	p.Scheduler.TellRefusals(p.refusals)
	p.Scheduler.TellChanges(p.Changes)
	if p.HTTP == nil {
		return nil
	}
	return p.HTTP.Register(p.String(), append(p.endpoints(), p.planEndpoints()...)...)
}

// AfterInit begins to watch the stores.
func (p *Plugin) AfterInit() error {
	if err := p.watch(); err != nil {
		return err
	}
	p.goOn()
	return p.publishStates()
}

// ranking orders the sources: stores, then sources that nobody announced, then
// remote and local clients, and above them those that are listed.
func ranking(listed []string, watchers []datasync.KeyValProtoWatcher) func(string) rank {
	ranks := map[string]rank{GRPC: {2, 0, GRPC}, LocalClient: {2, 1, LocalClient}}
	for i, w := range watchers {
		ranks[sourceName(w)] = rank{0, i, ""}
	}
	for i, name := range listed {
		ranks[name] = rank{3, i, ""}
	}
	return func(name string) rank {
		if r, ok := ranks[name]; ok {
			return r
		}
		return rank{1, 0, name}
	}
}

// sourceName is the name of a store.
func sourceName(w datasync.KeyValProtoWatcher) string {
	switch w := w.(type) {
	case interface{ Source() string }:
		return w.Source()
	case fmt.Stringer:
		return w.String()
	}
	return "datasync"
}
