// Package infra defines what a plugin is: the life-cycle contract between a
// plugin and the agent that runs it, and PluginDeps, the set of services that
// every plugin receives (name, logger, configuration, health, goroutines).
package infra

import "fmt"

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

// Defaulter is implemented by plugins that can fill dependencies which were
// left nil. SetDefaults is called before the agent looks at the fields of the
// plugin; it makes the zero value of a DefaultPlugin usable.
type Defaulter interface {
	SetDefaults()
}

// PluginName is the embedded name of a plugin.
type PluginName string

// String returns the name.
func (n PluginName) String() string { return string(n) }

// SetName sets the name. It must not be called after the agent was started.
func (n *PluginName) SetName(name string) { *n = PluginName(name) }
