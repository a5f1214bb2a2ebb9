package controller

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/tenuto-dev/tenuto/fleet"
	"github.com/tenuto-dev/tenuto/fleet/store"
	"github.com/tenuto-dev/tenuto/infra"
	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/infra/kv"
	"github.com/tenuto-dev/tenuto/infra/metrics"
)

// DefaultName is the name of the plugin; its configuration file is controller.conf.
const DefaultName = "controller"

// Plugin executes all rollouts of a fleet that no other controller executes.
type Plugin struct {
	Deps

	cfg     Config
	metrics collector

	mu      sync.Mutex
	running map[string]*state // by rollout
	lists   error             // of the last list of rollouts
}

// Deps are the dependencies of the plugin.
type Deps struct {
	infra.PluginDeps
	// Engine is the store with the objects of the fleet.
	Engine interface{ DB() kv.DB }
	// Metrics is where the metrics are registered; nil: none.
	Metrics metrics.Registerer `optional:"true"`
}

// Config is the file controller.conf.
type Config struct {
	Fleet string `json:"fleet" desc:"name of the fleet whose rollouts are executed"`
	Keep  int    `json:"keep" desc:"number of revisions, and of ended rollouts, that are kept besides those that agents have or can go back to; 0: all"`
}

// DefaultConfig returns the configuration without a file.
func DefaultConfig() Config { return Config{Fleet: "default", Keep: store.DefaultKeep} }

// Validate returns an error for a name that no fleet can have.
func (c Config) Validate() error {
	if err := fleet.CheckName(c.Fleet); err != nil {
		return fmt.Errorf("fleet: %w", err)
	}
	if c.Keep < 0 {
		return fmt.Errorf("keep: %d, expected a number of revisions, or 0", c.Keep)
	}
	return nil
}

// state is what the plugin knows of a rollout that has not ended.
type state struct {
	leads bool
	err   error // of the last attempt to read or write
	seen  string
}

// SetDefaults sets the name if it is missing.
func (p *Plugin) SetDefaults() { p.SetDefaultName(DefaultName) }

// ConfigSpec returns the defaults of controller.conf.
func (p *Plugin) ConfigSpec() any { return DefaultConfig() }

// Init reads the configuration.
func (p *Plugin) Init() (err error) {
	p.running = map[string]*state{}
	p.metrics.plugin = p
	if p.cfg, _, err = config.Load(p.Cfg, DefaultConfig()); err != nil {
		return err
	}
	if p.Engine.DB() == nil {
		return errors.New("a controller of a fleet needs etcd: write etcd.conf")
	}
	if p.Metrics != nil {
		if err := p.Metrics.Registry().Register(&p.metrics); err != nil {
			return fmt.Errorf("register metrics: %w", err)
		}
	}
	return nil
}

// AfterInit begins to execute rollouts.
func (p *Plugin) AfterInit() error {
	p.Go(p.run)
	return nil
}

// run executes the rollouts that have not ended.
func (p *Plugin) run(ctx context.Context) {
	s := store.New(p.Engine.DB(), p.cfg.Fleet)
	r := &run{Controller: Controller{Store: s}, changes: make(chan struct{}, 1), failed: func(error) {}} // list reports the error
	var tasks sync.WaitGroup
	tasks.Go(func() { r.watch(ctx) })
	defer tasks.Wait()
	for ctx.Err() == nil {
		rollouts, err := s.Rollouts(ctx)
		if ctx.Err() != nil {
			return
		}
		p.change(func() { p.lists = err })
		for name, known := range rollouts {
			if known.Rollout.Status.Phase.Ended() {
				continue
			}
			if st := p.begin(name); st != nil {
				tasks.Go(func() { p.execute(ctx, s, name, st) })
			}
		}
		pause(ctx) // agents change much more often than rollouts begin
		select {
		case <-ctx.Done():
		case <-r.changes:
		}
	}
}

// begin returns the state of a rollout that begins; nil if it has begun already.
func (p *Plugin) begin(name string) (st *state) {
	p.change(func() {
		if p.running[name] == nil {
			st = &state{}
			p.running[name] = st
		}
	})
	return st
}

// execute executes a rollout, or follows the controller that does.
func (p *Plugin) execute(ctx context.Context, s store.Store, name string, st *state) {
	log := p.Log.With("rollout", name)
	c := Controller{
		Store: s, Name: "tenuto-controller",
		Follows: func(other store.Controller) {
			log.Info("another controller executes the rollout", "controller", other.String())
		},
		Leads: func(leads bool) { p.change(func() { st.leads = leads }) },
	}
	_, err := c.Run(ctx, name, func(v View) {
		status := v.Rollout.Rollout.Status
		seen := fmt.Sprint(status.Phase, status.Wave, status.Reason, status.Stalled)
		news := false
		p.change(func() { news, st.seen, st.err = seen != st.seen, seen, nil })
		if news {
			log.Info("rollout", "phase", string(status.Phase), "wave", status.Wave+1, "revision", v.Rollout.Rollout.Spec.Revision,
				"stalled", status.Stalled, "reason", status.Reason)
		}
	}, func(err error) {
		p.metrics.errors.Add(1)
		p.change(func() { st.err = err })
	})
	if err != nil && ctx.Err() == nil {
		log.Warn("the rollout is no longer executed", "error", err)
	}
	if err == nil && p.cfg.Keep > 0 {
		switch c, err := s.Collect(ctx, p.cfg.Keep); {
		case err != nil && ctx.Err() == nil:
			log.Warn("old revisions are not removed", "error", err)
		case c != (store.Collected{}):
			log.Info("removed what is old", "revisions", c.Revisions, "rollouts", c.Rollouts, "objects", c.Objects)
		}
	}
	p.change(func() { delete(p.running, name) })
}

// change changes the state, and reports the health.
func (p *Plugin) change(f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f()
	errs := p.lists
	for name, st := range p.running {
		if st.err != nil && errs == nil {
			errs = fmt.Errorf("rollout %s: %w", name, st.err)
		}
	}
	if errs != nil {
		p.Health.Degraded("etcd", errs)
	} else {
		p.Health.OK(p.summary())
	}
}

// counts returns how many rollouts the plugin executes, and how many others do.
func (p *Plugin) counts() (executes, follows int) {
	for _, st := range p.running {
		if st.leads {
			executes++
		} else {
			follows++
		}
	}
	return executes, follows
}

func (p *Plugin) summary() string {
	executes, follows := p.counts()
	text := fmt.Sprintf("fleet %s: executes %d rollouts", p.cfg.Fleet, executes)
	if follows > 0 {
		text += fmt.Sprintf(", follows %d", follows)
	}
	return text
}

// Summary describes the work of the controller to the service manager.
func (p *Plugin) Summary() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.summary()
}
