// Package status defines the messages in which an agent publishes its health,
// and their keys below the agent's prefix.
package status

//go:generate go run github.com/tenuto-dev/tenuto/proto/protogen

// The key prefix, and the prefixes of the keys of the agent and of its
// plugins, whose names follow.
const (
	Prefix       = "check/status/v1/"
	AgentKey     = Prefix + "agent"
	PluginPrefix = Prefix + "plugin/"
)
