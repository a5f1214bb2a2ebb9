// Package fleetagent is the part of an agent in a fleet: it follows the assignments that controllers
// write into etcd. See package rollout for the protocol.
//
// The configuration of the fleet is a source of the agent, with the name "fleet". Stores that the agent
// watches have a lower priority, clients a higher one; see source-priority.
package fleetagent

import (
	"context"
	"errors"
	"fmt"

	"github.com/tenuto-dev/tenuto/fleet"
	"github.com/tenuto-dev/tenuto/fleet/store"
	"github.com/tenuto-dev/tenuto/infra"
	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/infra/holder"
	"github.com/tenuto-dev/tenuto/infra/kv"
	"github.com/tenuto-dev/tenuto/infra/metrics"
	"github.com/tenuto-dev/tenuto/infra/models"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator"
)

// DefaultName is the name of the plugin; its configuration file is fleet.conf. Source is the name of
// the source of configuration.
const (
	DefaultName = "fleet"
	Source      = "fleet"
)

// Plugin follows the assignments of an agent.
type Plugin struct {
	Deps

	cfg Config
}

// Deps are the dependencies of the plugin.
type Deps struct {
	infra.PluginDeps
	// Engine is the store with the objects of the fleet.
	Engine Engine
	// Orchestrator plans and applies.
	Orchestrator Orchestrator
	// State stores what the agent has done of its assignment.
	State State
	// Identity names the agent.
	Identity Identity
	// Values describes the values of the agent in its status; nil: the status has none.
	Values Values `optional:"true"`
	// Metrics is where the metrics are registered; nil: none.
	Metrics metrics.Registerer `optional:"true"`
}

// Engine is a connector of a store.
type Engine interface {
	DB() kv.DB
	// Usable returns an error if another agent has the label in the store.
	Usable() error
}

// Identity provides the identity of the agent, with its label.
type Identity interface{ Identity() holder.Identity }

// State stores values across restarts.
type State interface {
	KeepsState() bool
	LoadState(name string) (map[string][]byte, error)
	SaveState(name string, put map[string][]byte, all bool) error
}

// Orchestrator is the part of the orchestrator that is used; see orchestrator.Plugin.
type Orchestrator interface {
	Models() *models.Set
	Synced() <-chan struct{}
	PlanData(ctx context.Context, source string, items []orchestrator.KeyVal, opts ...orchestrator.PushOption) (*orchestrator.Plan, error)
	ApplyPlan(ctx context.Context, plan *orchestrator.Plan, o orchestrator.ApplyOptions) (orchestrator.Applied, error)
	ConfirmCommit(id string) (seqNum uint64, err error)
	CancelCommit(ctx context.Context, id string) error
	Unconfirmed() (id string)
	Status(key string) orchestrator.Result
	ListData(name string) []orchestrator.KeyVal
}

// Config is the file fleet.conf.
type Config struct {
	Fleet string `json:"fleet" desc:"name of the fleet whose controllers configure this agent by etcd; empty: none"`
}

// DefaultConfig returns the configuration without a file.
func DefaultConfig() Config { return Config{} }

// Validate returns an error for a name that no fleet can have.
func (c Config) Validate() error {
	if c.Fleet == "" {
		return nil
	}
	if err := fleet.CheckName(c.Fleet); err != nil {
		return fmt.Errorf("fleet: %w", err)
	}
	return nil
}

// SetDefaults sets the name if it is missing.
func (p *Plugin) SetDefaults() {
	if p.String() == "" {
		p.SetName(DefaultName)
	}
}

// ConfigSpec returns the defaults of fleet.conf.
func (p *Plugin) ConfigSpec() any { return DefaultConfig() }

// Init reads the configuration.
func (p *Plugin) Init() (err error) {
	if p.cfg, _, err = config.Load(p.Cfg, DefaultConfig()); err != nil || p.cfg.Fleet == "" {
		return err
	}
	if p.Engine.DB() == nil {
		return errors.New("fleet.conf names a fleet, which needs etcd: write etcd.conf")
	}
	if !p.State.KeepsState() {
		return errors.New("fleet.conf names a fleet, which needs state-dir in kvscheduler.conf: a change must be reverted or confirmed after a restart, too")
	}
	return nil
}

// AfterInit begins to follow the assignments.
func (p *Plugin) AfterInit() error {
	if p.cfg.Fleet == "" {
		return nil
	}
	id := p.Identity.Identity()
	m := &member{
		Deps: &p.Deps, label: id.Label, fleet: store.New(p.Engine.DB(), p.cfg.Fleet),
		hold: store.Hold{Instance: id.Instance, Host: id.Host}, wake: make(chan struct{}, 1), changed: make(chan struct{}, 1),
		engine: p.Health.Scope("etcd"), metrics: collector{fleet: p.cfg.Fleet},
	}
	if err := m.load(); err != nil {
		return fmt.Errorf("assignment of fleet %s: %w", p.cfg.Fleet, err)
	}
	if p.Metrics != nil {
		if err := p.Metrics.Registry().Register(&m.metrics); err != nil {
			return fmt.Errorf("register metrics: %w", err)
		}
	}
	p.Go(m.watch)
	p.Go(m.run)
	p.Go(m.watchStatus)
	return nil
}
