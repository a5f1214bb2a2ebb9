// Package status has the messages in which an agent publishes its health, and
// the keys that they have below its prefix.
package status

//go:generate sh ../../../../proto/generate-one.sh

// What the keys begin with, and those of the agent and of its plugins, whose
// names follow.
const (
	Prefix       = "check/status/v1/"
	AgentKey     = Prefix + "agent"
	PluginPrefix = Prefix + "plugin/"
)
