// Command 01_hello-world is the smallest agent: one plugin, no dependencies.
//
// Run it from the root of the repository and stop it with Ctrl-C:
//
//	go run ./examples/tutorials/01_hello-world
//
// A plugin is anything with Init, Close and String. The agent calls Init,
// then AfterInit where there is one, waits for a signal, and calls Close:
//
//	Hello World!
//	All systems go!
//	Goodbye World!
//
// (the agent's own log goes to standard error). "--help" lists the flags that
// every agent has. Next: 02_plugin-deps, a plugin that needs others.
package main

import (
	"fmt"
	"io"
	"os"

	"github.com/tenuto-dev/tenuto/infra/agent"
)

func main() {
	if err := newAgent(os.Stdout).Run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func newAgent(out io.Writer, opts ...agent.Option) *agent.Agent {
	p := &HelloWorld{out: out}
	return agent.NewAgent(append(opts, agent.Plugins(p))...)
}

// HelloWorld is a plugin that greets.
type HelloWorld struct {
	out io.Writer
}

// String is the name of the plugin, unique within the agent.
func (p *HelloWorld) String() string { return "HelloWorld" }

// Init is called first. An error here would end the start of the agent.
func (p *HelloWorld) Init() error {
	_, err := fmt.Fprintln(p.out, "Hello World!")
	return err
}

// AfterInit is optional; it is called when the Init of all plugins returned.
func (p *HelloWorld) AfterInit() error {
	_, err := fmt.Fprintln(p.out, "All systems go!")
	return err
}

// Close is called when the agent stops.
func (p *HelloWorld) Close() error {
	_, err := fmt.Fprintln(p.out, "Goodbye World!")
	return err
}
