// Package servicelabel is the plugin that knows the label of the agent: agents
// with the same label share one configuration, those with different labels see
// different parts of a key-value store.
package servicelabel

import (
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"github.com/tenuto-dev/tenuto/infra"
)

const (
	// DefaultLabel is the label of an agent that was given none.
	DefaultLabel = "vpp1"
	// labelFlag can also be given as MICROSERVICE_LABEL.
	labelFlag = "microservice-label"
	// allAgents is what the keys of all agents begin with.
	allAgents = "/vnf-agent/"
)

// ReaderAPI tells the label and the prefixes of keys that come from it.
type ReaderAPI interface {
	// GetAgentLabel returns the label of this agent ("vpp1").
	GetAgentLabel() string
	// GetAgentPrefix returns what the keys of this agent begin with ("/vnf-agent/vpp1/").
	GetAgentPrefix() string
	// GetDifferentAgentPrefix returns what the keys of another agent begin with.
	GetDifferentAgentPrefix(label string) string
	// GetAllAgentsPrefix returns what the keys of all agents begin with.
	GetAllAgentsPrefix() string
}

// Plugin holds the label. The flag wins over UseLabel, which wins over
// DefaultLabel; it is settled when Init has run.
type Plugin struct {
	Deps
	label string // of UseLabel
	given string // of the flag or the environment
}

// Deps is what the plugin needs.
type Deps struct {
	infra.PluginDeps
}

var _ ReaderAPI = (*Plugin)(nil)

// DefineFlags adds --microservice-label.
func (p *Plugin) DefineFlags(fs *pflag.FlagSet) {
	fs.StringVar(&p.given, labelFlag, p.GetAgentLabel(),
		"`label` of the agent: the part of keys that tells its configuration from that of others")
}

// Init checks the label.
func (p *Plugin) Init() error {
	label := p.GetAgentLabel()
	if strings.ContainsAny(label, "/ \t\n") {
		return fmt.Errorf("--%s: %q: expected a label without slashes and spaces", labelFlag, label)
	}
	p.Log.Debug("label of the agent", "label", label)
	return nil
}

// GetAgentLabel returns the label of this agent.
func (p *Plugin) GetAgentLabel() string {
	for _, label := range []string{p.given, p.label} {
		if label != "" {
			return label
		}
	}
	return DefaultLabel
}

// GetAgentPrefix returns what the keys of this agent begin with.
func (p *Plugin) GetAgentPrefix() string { return p.GetDifferentAgentPrefix(p.GetAgentLabel()) }

// GetDifferentAgentPrefix returns what the keys of another agent begin with.
func (p *Plugin) GetDifferentAgentPrefix(label string) string { return allAgents + label + "/" }

// GetAllAgentsPrefix returns what the keys of all agents begin with.
func (p *Plugin) GetAllAgentsPrefix() string { return allAgents }
