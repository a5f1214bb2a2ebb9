// Command 02_plugin-deps shows what a plugin gets from the agent, and how it
// uses another plugin.
//
// Run it from the root of the repository and stop it with Ctrl-C:
//
//	go run ./examples/tutorials/02_plugin-deps
//
// Both plugins embed infra.PluginDeps: a name, a logger of that name, and a
// configuration file of that name. Greeter has the dependency Words, so the
// agent, which gets only the greeter, finds the words and starts them
// first. Without a file the defaults hold; give it one with
//
//	echo 'greeting: Ahoy' > /tmp/words.conf
//	go run ./examples/tutorials/02_plugin-deps --words-config /tmp/words.conf
//
// "config print" shows the configuration with its comments, "--graph" the
// plugins and what they need. A misspelt key in the file is an error that names
// the line and the key that was meant.
package main

import (
	"fmt"
	"os"

	"github.com/tenuto-dev/tenuto/infra"
	"github.com/tenuto-dev/tenuto/infra/agent"
	"github.com/tenuto-dev/tenuto/infra/config"
)

func main() {
	if err := newAgent().Run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func newAgent(opts ...agent.Option) *agent.Agent {
	words := &Words{}
	words.SetName("words")
	greeter := &Greeter{}
	greeter.SetName("greeter")
	greeter.Words = words
	return agent.NewAgent(append(opts, agent.AllPlugins(greeter))...)
}

// Config is the file words.conf.
type Config struct {
	Greeting string `json:"greeting" desc:"the greeting"`
}

// Words is a plugin with a configuration.
type Words struct {
	infra.PluginDeps
	greeting string
}

// ConfigSpec returns the defaults, for "config print" and "config validate".
func (w *Words) ConfigSpec() any { return Config{Greeting: "Hello"} }

// Init reads the configuration.
func (w *Words) Init() error {
	cfg, found, err := config.Load(w.Cfg, Config{Greeting: "Hello"})
	if err != nil {
		return err
	}
	if found {
		w.Log.Info("configuration read", "greeting", cfg.Greeting)
	} else {
		w.Log.Info("no configuration file, using defaults", "greeting", cfg.Greeting)
	}
	w.greeting = cfg.Greeting
	return nil
}

// Greeting is what to say to someone.
func (w *Words) Greeting(name string) string { return w.greeting + " " + name + "!" }

// Greeter is a plugin that needs something that knows words.
type Greeter struct {
	Deps
}

// Deps is what Greeter needs. An interface would do as well as a plugin's type:
// the agent looks at what is in it.
type Deps struct {
	infra.PluginDeps
	Words *Words
}

// Init is called after the Init of Words.
func (g *Greeter) Init() error {
	g.Log.Info(g.Words.Greeting("World"))
	return nil
}

// Close is called before the Close of Words.
func (g *Greeter) Close() error {
	g.Log.Info("Goodbye World!")
	return nil
}
