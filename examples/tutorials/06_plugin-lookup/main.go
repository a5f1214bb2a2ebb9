// Command 06_plugin-lookup shows how an agent finds the plugins it consists of,
// in which order they start, and what to do when two plugins need each other.
//
// Run it from the root of the repository and stop it with Ctrl-C:
//
//	go run ./examples/tutorials/06_plugin-lookup
//
// The agent gets only HelloWorld. AllPlugins looks into the exported fields
// of its Deps, finds HelloUniverse there, looks into that one's, and so on; what
// is needed comes before who needs it, and is closed after:
//
//	the universe begins
//	the world begins, in the universe
//	the universe has 1 world: Earth
//	the world is greeted: Hello World!
//	the world ends
//	the universe ends
//
// What the lookup takes for a plugin: pointers to plugins, interfaces that hold
// one, and lists of both, in exported fields of the plugin and of the structs
// embedded in it. One that several need is one plugin. A field that is nil is an
// error of the start, unless it is tagged `optional:"true"`. To see what became of
// the agent, add --graph (the plugins and what they need, in the DOT language).
//
// The world needs the universe, and the universe wants to know its worlds. If
// both had a field of the other, neither could start first; the agent refuses,
// and names the way around:
//
//	agent: dependency cycle: world.Universe -> universe.World
//
// One of the two has to let go. Here the universe does not hold a world, it lets
// worlds register (AddWorld): the dependency points one way, and what has to wait
// until everybody is there is done in AfterInit, which is called when the Init of
// all plugins returned. The design that is refused is in mutual_test.go.
package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/tenuto-dev/tenuto/infra"
	"github.com/tenuto-dev/tenuto/infra/agent"
)

func main() {
	if err := newAgent(os.Stdout).Run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func newAgent(out io.Writer, opts ...agent.Option) *agent.Agent {
	universe := &HelloUniverse{out: out}
	universe.SetName("universe")
	world := &HelloWorld{out: out}
	world.SetName("world")
	world.Universe = universe
	return agent.NewAgent(append(opts, agent.AllPlugins(world))...)
}

// HelloWorld is a plugin that needs a universe.
type HelloWorld struct {
	Deps
	out io.Writer
}

// Deps is what HelloWorld needs. *HelloUniverse would do as the type of the field,
// too; an interface says how little is needed of it.
type Deps struct {
	infra.PluginDeps
	Universe Universe
}

// Universe is where worlds are.
type Universe interface {
	AddWorld(name string)
}

// Init is called after the Init of the universe.
func (p *HelloWorld) Init() error {
	fmt.Fprintln(p.out, "the world begins, in the universe")
	p.Universe.AddWorld("Earth")
	return nil
}

// AfterInit is called after the AfterInit of the universe.
func (p *HelloWorld) AfterInit() error {
	fmt.Fprintln(p.out, "the world is greeted: Hello World!")
	return nil
}

// Close is called before the Close of the universe.
func (p *HelloWorld) Close() error {
	fmt.Fprintln(p.out, "the world ends")
	return nil
}

// HelloUniverse is a plugin that others need, and that knows none of them.
type HelloUniverse struct {
	infra.PluginDeps
	out    io.Writer
	worlds []string
}

// AddWorld adds a world. It is for the Init of plugins, which are called one
// after the other, so there is nothing to lock.
func (p *HelloUniverse) AddWorld(name string) { p.worlds = append(p.worlds, name) }

// Init is called first: the universe has no dependencies.
func (p *HelloUniverse) Init() error {
	fmt.Fprintln(p.out, "the universe begins")
	return nil
}

// AfterInit is called when all worlds are there.
func (p *HelloUniverse) AfterInit() error {
	fmt.Fprintf(p.out, "the universe has %d world: %s\n", len(p.worlds), strings.Join(p.worlds, ", "))
	return nil
}

// Close is called last.
func (p *HelloUniverse) Close() error {
	fmt.Fprintln(p.out, "the universe ends")
	return nil
}
