// Package servicelabel is the plugin that provides the label of the agent.
// Agents with the same label share one configuration; those with different
// labels use different parts of a key-value store.
package servicelabel

import (
	"cmp"
	"fmt"
	"strings"
	"unicode"

	"github.com/spf13/pflag"

	"github.com/tenuto-dev/tenuto/infra"
)

const (
	// DefaultLabel is the default label of an agent.
	DefaultLabel = "vpp1"
	// labelFlag can also be set as MICROSERVICE_LABEL.
	labelFlag = "microservice-label"
	// allAgents is the prefix of the keys of all agents.
	allAgents = "/vnf-agent/"
)

// ReaderAPI provides the label and the key prefixes derived from it.
type ReaderAPI interface {
	// GetAgentLabel returns the label of this agent ("vpp1").
	GetAgentLabel() string
	// GetAgentPrefix returns the key prefix of this agent ("/vnf-agent/vpp1/").
	GetAgentPrefix() string
	// GetDifferentAgentPrefix returns the key prefix of another agent.
	GetDifferentAgentPrefix(label string) string
	// GetAllAgentsPrefix returns the key prefix of all agents.
	GetAllAgentsPrefix() string
}

// Plugin holds the label. The flag takes precedence over UseLabel, which takes
// precedence over DefaultLabel. The label does not change after Init.
type Plugin struct {
	Deps
	label string // set by UseLabel
	given string // set by the flag or the environment
}

// Deps are the dependencies of the plugin.
type Deps struct {
	infra.PluginDeps
}

var _ ReaderAPI = (*Plugin)(nil)

// DefineFlags adds --microservice-label.
func (p *Plugin) DefineFlags(fs *pflag.FlagSet) {
	fs.StringVar(&p.given, labelFlag, p.GetAgentLabel(),
		"`label` of the agent: the part of keys that separates its configuration from other agents' configurations")
}

// Init checks the label.
func (p *Plugin) Init() error {
	label := p.GetAgentLabel()
	if err := Check(label); err != nil {
		return fmt.Errorf("--%s: %w", labelFlag, err)
	}
	p.Log.Debug("label of the agent", "label", label)
	return nil
}

// Check reports whether a text can be the label of an agent.
func Check(label string) error {
	if label == "" || strings.ContainsFunc(label, func(r rune) bool { return r == '/' || unicode.IsSpace(r) || unicode.IsControl(r) }) {
		return fmt.Errorf("%q: expected a label without slashes and spaces", label)
	}
	return nil
}

// GetAgentLabel returns the label of this agent.
func (p *Plugin) GetAgentLabel() string { return cmp.Or(p.given, p.label, DefaultLabel) }

// GetAgentPrefix returns the key prefix of this agent.
func (p *Plugin) GetAgentPrefix() string { return p.GetDifferentAgentPrefix(p.GetAgentLabel()) }

// GetDifferentAgentPrefix returns the key prefix of another agent.
func (p *Plugin) GetDifferentAgentPrefix(label string) string { return allAgents + label + "/" }

// GetAllAgentsPrefix returns the key prefix of all agents.
func (p *Plugin) GetAllAgentsPrefix() string { return allAgents }
