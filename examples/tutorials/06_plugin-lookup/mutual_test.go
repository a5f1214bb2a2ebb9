package main

import (
	"github.com/tenuto-dev/tenuto/infra"
	"github.com/tenuto-dev/tenuto/infra/agent"
)

// newMutualAgent wires two plugins that need each other. The start of this agent
// fails, before any Init is called.
func newMutualAgent(opts ...agent.Option) *agent.Agent {
	world, universe := &mutualWorld{}, &mutualUniverse{}
	world.SetName("world")
	universe.SetName("universe")
	world.Universe, universe.World = universe, world
	return agent.NewAgent(append(opts, agent.AllPlugins(world))...)
}

// mutualWorld needs a mutualUniverse.
type mutualWorld struct {
	infra.PluginDeps
	Universe *mutualUniverse
}

func (*mutualWorld) Init() error { return nil }

// mutualUniverse needs a mutualWorld.
type mutualUniverse struct {
	infra.PluginDeps
	World *mutualWorld
}

func (*mutualUniverse) Init() error { return nil }
