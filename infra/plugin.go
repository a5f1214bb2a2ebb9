// Package infra defines what a plugin is: the life-cycle contract between a
// plugin and the agent that runs it, and PluginDeps, the set of services that
// every plugin receives (name, logger, configuration, health, goroutines).
package infra

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/pflag"
)

// Plugin is a component with a life cycle, run by an agent.
//
// Init is called once, after Init of every plugin found in its Deps. Close is
// called once, in the reverse order, and only if Init returned nil; the Close
// of every initialised plugin runs even if others fail, and their errors are
// joined. String returns the name, unique within one agent; it also names the
// plugin's logger, configuration file and health scope.
//
// Init, AfterInit and Close are called from one goroutine, never concurrently.
type Plugin interface {
	Init() error
	Close() error
	fmt.Stringer
}

// PostInit is implemented by plugins that have work to do once all plugins
// are initialised. AfterInit runs in the same order as Init. If it fails, the
// start fails and all initialised plugins are closed.
type PostInit interface {
	AfterInit() error
}

// Summarizer is implemented by plugins that describe the work of the agent in a few
// words, such as "17 of 20 values in effect". The agent calls Summary concurrently, while
// it runs, and shows the text to the service manager.
type Summarizer interface {
	Summary() string
}

// Defaulter is implemented by plugins that can fill nil dependencies.
// SetDefaults is called before the agent reads the fields of the plugin. It
// makes the zero value of a DefaultPlugin usable.
type Defaulter interface {
	SetDefaults()
}

// PluginName is the embedded name of a plugin.
type PluginName string

// String returns the name.
func (n PluginName) String() string { return string(n) }

// SetName sets the name. It must not be called after the agent was started.
func (n *PluginName) SetName(name string) { *n = PluginName(name) }

// SetDefaultName sets the name if there is none.
func (n *PluginName) SetDefaultName(name string) {
	if *n == "" {
		n.SetName(name)
	}
}

// New applies the options of a constructor to a plugin, then its defaults, and returns
// the plugin.
func New[P Defaulter, O ~func(P)](p P, opts []O) P {
	for _, o := range opts {
		o(p)
	}
	p.SetDefaults()
	return p
}

// Configurable is implemented by plugins that have a configuration file. The
// agent needs it for the commands "config print" and "config validate"; the
// plugin itself calls config.Load in Init.
type Configurable interface {
	// ConfigSpec returns the defaults of the plugin's configuration: a struct, or
	// a pointer to one, whose fields have the tags `yaml` or `json` (the key) and
	// `desc` (what it is for, with units). nil: the plugin has none.
	ConfigSpec() any
}

// Commander is implemented by plugins that add commands to the program, such as "check FILE".
type Commander interface {
	// CommandHelp describes the commands in lines for the help.
	CommandHelp() string
	// RunCommand executes the arguments of the command line that are no flags. known is false if
	// they are no command of the plugin. No plugin is initialized; ctx ends with the signals
	// that stop the program.
	RunCommand(ctx context.Context, args []string, output io.Writer) (known bool, err error)
}

// FlagDefiner is implemented by plugins with flags of their own besides
// --<plugin>-config. DefineFlags is called once before the command line is
// read; the values are set when Init is called. Every flag can also be set by
// an environment variable (config.EnvName).
type FlagDefiner interface {
	DefineFlags(fs *pflag.FlagSet)
}
