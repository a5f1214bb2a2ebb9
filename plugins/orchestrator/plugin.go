// Package orchestrator is the plugin that merges the northbound sources. It
// receives configuration from files, key-value stores, clients in the process
// and remote clients. If several sources have a value for a key, the source
// with the highest priority wins. The result goes to the scheduler.
//
// At the start it waits for the state of every source and then synchronises
// once, so that nothing is removed that a slower source still desires. If a
// source does not report its state in time, or could not read all of it, no
// values found in the southbound are removed until it has.
//
// With a State, the configuration of every source survives a restart of the
// agent. It is in effect until the source reports its whole state again: a store
// when it can be read, a client when it pushes with WithResync. So changes of
// clients are kept, and an unreachable store does not remove its values. A store
// whose state was complete before the restart does not delay removals.
package orchestrator

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/infra"
	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/infra/datasync"
	"github.com/tenuto-dev/tenuto/infra/kv/publish"
	"github.com/tenuto-dev/tenuto/infra/metrics"
	"github.com/tenuto-dev/tenuto/infra/rest"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/allmodels"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/document"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/internal/fairqueue"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/internal/guard"
)

// Names of sources that are not stores. They have priority over stores, in this
// order.
const (
	// GRPC is the source of remote clients, over gRPC and REST.
	GRPC = "grpc"
	// LocalClient is the source of clients in the process.
	LocalClient = "localclient"
)

// Scheduler is the part of the scheduler that the plugin uses.
type Scheduler interface {
	api.Committer
	GetValueStatus(key string) *api.BaseValueStatus
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
	base  *Config // of UseConf; nil if it was not used
	cfg   Config
	limit guard.Limit

	// turns serialises changes, since the effect of a change depends on the
	// results of the previous ones.
	turns *fairqueue.Queue
	// synced is closed when the initial synchronisation has been executed.
	synced chan struct{}

	mu          sync.RWMutex // guards the fields below; not held while waiting
	store       store
	reports     map[string]*report // by source
	begun       bool               // the initial synchronisation was passed to the scheduler
	ended       bool               // the initial synchronisation has been executed
	closed      bool               // Withdraw was called
	stores      []*watched         // the enabled ones
	keeping     bool               // values found in the southbound are kept because of gaps
	unconfirmed *unconfirmed       // nil: no change waits for confirmation
	syncErr     error              // of the initial synchronisation; final when synced is closed

	guarding bool // a store is reported as not followed

	itemWatches itemWatches

	clocks    clocks
	quietLift time.Duration        // see the constant
	recalled  map[string]keptStore // stores whose state was known before the restart
	overdue   []KeyVal             // reverted at the start, and not persisted yet
	unsaved   bool                 // the State differs from the configuration of the sources
}

// Deps are the dependencies of the plugin.
type Deps struct {
	infra.PluginDeps
	Scheduler Scheduler
	// Codec has the models; nil: all models.
	Codec *document.Codec
	// Watcher has the stores to watch, the one with the lowest priority first.
	Watcher datasync.KVProtoWatchers
	// State persists the configuration of the sources; nil disables
	// persistence.
	State State `optional:"true"`
	// Stores are the data stores that the states of items can be published to;
	// status-publishers selects some of them.
	Stores []publish.Store `optional:"true"`
	// Label provides the prefix of published states; nil: no prefix.
	Label AgentPrefix `optional:"true"`
	// HTTP serves the endpoints under /configuration and the endpoints of
	// plans; nil disables them.
	HTTP rest.HTTPHandlers `optional:"true"`
	// Metrics is where the metrics are registered; nil: none.
	Metrics metrics.Registerer `optional:"true"`
}

// Config is the file orchestrator.conf.
type Config struct {
	InitialSyncTimeout time.Duration `json:"initial-sync-timeout" desc:"how long to wait at the start for the state of every source; if a source is late, values found in the southbound are not removed until it has sent its state"`
	SourcePriority     []string      `json:"source-priority" desc:"names of sources, the one with the highest priority last; those not listed have lower priority: stores in the order they are wired, then grpc and localclient"`
	QueueCapacity      int           `json:"queue-capacity" desc:"maximum number of queued changes and plans of clients; if the queue is full, the latest request of the client with the most requests is rejected"`
	GuardDeletes       string        `json:"guard-deletes" desc:"how many items of a store may disappear without events, as when it was emptied or restored, before its last content stays in effect until the store has the items again or 'agentctl sources accept NAME' accepts it: a share of more than 20 items ('50%'), a number of items, 'all' (only all of them), or 'off' to follow everything; the disappearance of all items, another store and a store that went back are never followed unless it is 'off'"`
	AllowEmpty         []string      `json:"allow-empty" desc:"names of stores that may be empty: their empty content is followed"`
	StatusPublishers   []string      `json:"status-publishers" desc:"names of the data stores that the states of items are published to, below config-status/; empty: all data stores if ENABLE_STATUS_PUBLISHING is set, otherwise none"`
}

// DefaultQueueCapacity is the default of queue-capacity.
const DefaultQueueCapacity = 200

// DefaultConfig returns the configuration without a file.
func DefaultConfig() Config {
	return Config{InitialSyncTimeout: 30 * time.Second, QueueCapacity: DefaultQueueCapacity, GuardDeletes: guard.Default}
}

// Validate returns an error for invalid values.
func (c Config) Validate() error {
	var check config.Checks
	check.Expect(c.InitialSyncTimeout > 0, "initial-sync-timeout: %v: expected a positive duration", c.InitialSyncTimeout)
	check.Expect(c.QueueCapacity >= 1, "queue-capacity: %d: expected at least 1", c.QueueCapacity)
	_, err := guard.ParseLimit(c.GuardDeletes)
	check.Expect(err == nil, "guard-deletes: %v", err)
	seen := map[string]bool{}
	for i, name := range c.SourcePriority {
		check.Expect(name != "" && !seen[name], "source-priority[%d]: %q: expected a unique name that is not empty", i, name)
		seen[name] = true
	}
	return check.Err()
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
	cfg.GuardDeletes = cmp.Or(cfg.GuardDeletes, guard.Default)
	return cfg
}

// Init reads the configuration and registers the endpoints.
func (p *Plugin) Init() error {
	cfg, _, err := config.Load(p.Cfg, p.defaults())
	if err != nil {
		return err
	}
	p.cfg = cfg
	if p.limit, err = guard.ParseLimit(cfg.GuardDeletes); err != nil {
		return fmt.Errorf("guard-deletes: %w", err)
	}
	if p.Codec == nil {
		set, err := allmodels.Set()
		if err != nil {
			return fmt.Errorf("models: %w", err)
		}
		p.Codec = document.New(set)
	}
	p.synced = make(chan struct{})
	p.turns = fairqueue.New(p.cfg.QueueCapacity, time.Now, p.Context().Done())
	p.reports, p.recalled = map[string]*report{}, map[string]keptStore{}
	if p.clocks.now == nil {
		p.clocks = systemClocks()
	}
	p.quietLift = cmp.Or(p.quietLift, quietLift)
	p.store = store{rank: ranking(p.cfg.SourcePriority, flatten(p.Watcher))}
	if p.State != nil && !p.State.KeepsState() {
		p.State = nil
	}
	if err := p.recall(); err != nil {
		return err
	}
	p.Scheduler.TellRefusals(p.refusals)
	p.Scheduler.TellChanges(p.Changes)
	if p.Metrics != nil {
		if err := p.Metrics.Registry().Register(collector{p}); err != nil {
			return fmt.Errorf("register metrics: %w", err)
		}
	}
	if p.HTTP == nil {
		return nil
	}
	return p.HTTP.Register(p.String(), slices.Concat(p.endpoints(), p.itemEndpoints(), p.planEndpoints())...)
}

// AfterInit starts watching the stores.
func (p *Plugin) AfterInit() error {
	if err := p.watch(); err != nil {
		return err
	}
	p.goOn()
	return p.publishStates()
}

// ranking orders the sources: stores, then unknown sources, then remote and
// local clients, and above them those in source-priority.
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

// sourceName returns the name of a store.
func sourceName(w datasync.KeyValProtoWatcher) string {
	switch w := w.(type) {
	case interface{ Source() string }:
		return w.Source()
	case fmt.Stringer:
		return w.String()
	}
	return "datasync"
}
