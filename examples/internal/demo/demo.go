// Package demo runs an agent for as long as a demonstration takes.
package demo

import (
	"context"

	"github.com/tenuto-dev/tenuto/infra"
	"github.com/tenuto-dev/tenuto/infra/agent"
)

// Run starts an agent with the plugins and all that they need, calls demo, stops
// the agent and returns the error of whichever failed. Ctrl-C ends the context of
// demo.
func Run(demo func(ctx context.Context) error, plugins []infra.Plugin, opts ...agent.Option) error {
	p := &player{demo: demo, started: make(chan struct{}), over: make(chan struct{})}
	p.SetName("demo")
	p.Plugins = plugins
	events := func(e agent.Event) {
		if _, ok := e.(agent.Started); ok {
			close(p.started)
		}
	}
	opts = append(opts, agent.AllPlugins(p), agent.Events(events), agent.QuitOnClose(p.over))
	if err := agent.NewAgent(opts...).Run(); err != nil {
		return err
	}
	return p.err
}

// player is the plugin that plays the demonstration.
type player struct {
	Deps
	demo    func(context.Context) error
	started chan struct{} // closed when the whole agent is
	over    chan struct{} // closed when demo returned
	err     error         // of demo; valid from then on
}

// Deps is what is on the stage.
type Deps struct {
	infra.PluginDeps
	Plugins []infra.Plugin
}

// Init has nothing to do.
func (p *player) Init() error { return nil }

// AfterInit begins the demonstration once all plugins have started: to quit before
// would be to interrupt the start.
func (p *player) AfterInit() error {
	p.Go(func(ctx context.Context) {
		defer close(p.over)
		select {
		case <-p.started:
		case <-ctx.Done():
			return
		}
		if err := p.demo(ctx); ctx.Err() == nil {
			p.err = err
		}
	})
	return nil
}
