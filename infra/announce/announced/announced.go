// Package announced defines the message in which an agent publishes where it can be
// reached, and its key below the agent's prefix.
package announced

//go:generate go run github.com/tenuto-dev/tenuto/proto/protogen

// Prefix is the prefix of what an agent publishes about itself, AgentKey the key of its
// Agent message.
const (
	Prefix   = "info/v1/"
	AgentKey = Prefix + "agent"

	// HolderPrefix is the prefix of HolderKey, which names the agent that uses the keys of a
	// label.
	HolderPrefix = "holder/v1/"
	HolderKey    = HolderPrefix + "agent"
)

// AgentPath is the path of the HTTP endpoint that returns the identity of the agent, as
// JSON.
const AgentPath = "/info/agent"
