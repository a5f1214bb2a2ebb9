// Package fleet has the objects with which many agents are configured as one network.
//
// Operators write intent: Agent (labels and values of one agent), NetworkConfig (a document with
// references to values, for the agents that a selector matches) and Pool (addresses and numbers of
// which each agent gets one). Package render makes the configuration of each agent from them.
//
// Objects have the form of Kubernetes objects. Files in YAML or JSON have one or several of them;
// see Decode.
package fleet

import (
	"fmt"
	"regexp"
	"time"

	"github.com/tenuto-dev/tenuto/plugins/orchestrator/document"
)

// APIVersion is the version of the objects in files.
const APIVersion = "fleet.tenuto.dev/v1alpha1"

// Kinds of objects.
const (
	KindAgent         = "Agent"
	KindNetworkConfig = "NetworkConfig"
	KindPool          = "Pool"
)

// Objects are the objects of a fleet.
type Objects struct {
	Agents         []Agent
	NetworkConfigs []NetworkConfig
	Pools          []Pool
}

// Len returns the number of objects.
func (o *Objects) Len() int { return len(o.Agents) + len(o.NetworkConfigs) + len(o.Pools) }

// Metadata identifies an object.
type Metadata struct {
	// Name is unique among the objects of a kind. The name of an Agent is its microservice label.
	Name string `json:"name"`
	// Labels are what selectors match.
	Labels map[string]string `json:"labels,omitempty"`
	// Created is when an object in a store was created, and CreatedBy by whom.
	Created   time.Time `json:"creationTimestamp,omitzero"`
	CreatedBy string    `json:"createdBy,omitempty"`
	// Source is where the object was read from; the zero value for others.
	Source document.Position `json:"-"`
}

// Agent is an agent of the fleet: one node.
type Agent struct {
	Metadata Metadata  `json:"metadata"`
	Spec     AgentSpec `json:"spec"`
}

// AgentSpec is what operators say about an agent.
type AgentSpec struct {
	// Values are what differs from agent to agent, such as addresses: strings, numbers, booleans,
	// and lists and objects of them. Templates refer to them: ${agent.values.loopback}.
	Values map[string]any `json:"values,omitempty"`
	// Maintenance leaves the agent out of rollouts.
	Maintenance bool `json:"maintenance,omitempty"`
}

// NetworkConfig is a part of the configuration of the selected agents.
type NetworkConfig struct {
	Metadata Metadata          `json:"metadata"`
	Spec     NetworkConfigSpec `json:"spec"`
}

// NetworkConfigSpec is the specification of a NetworkConfig.
type NetworkConfigSpec struct {
	// Selector selects agents by their labels. An empty selector selects all.
	Selector Selector `json:"selector"`
	// Priority decides if several configurations have an item with the same key for one agent:
	// the item with the highest priority is used. Equal priorities are an error.
	Priority int `json:"priority,omitempty"`
	// Variables declare values of agents that the template uses, by name. A value that is not
	// declared may be of any type and is required where the template refers to it.
	Variables map[string]Variable `json:"variables,omitempty"`
	// ForEach repeats the template.
	ForEach *ForEach `json:"forEach,omitempty"`
	// Template is a configuration as in network.yaml, in which strings refer to values:
	// ${agent.label}, ${agent.labels.site}, ${agent.values.loopback}, ${pool.underlay}, and with
	// ForEach ${peer.label}, ${peer.values.loopback} and so on. A string that is only a reference
	// gets the type of the value. "$${" stands for "${". It keeps the positions of the text, so that
	// errors can name them.
	Template *document.Tree `json:"template"`
}

// Variable declares a value of agents.
type Variable struct {
	// Type is the type of the value; empty: any.
	Type VariableType `json:"type,omitempty"`
	// Default is used for agents that do not have the value.
	Default any `json:"default,omitempty"`
	// Pool is the name of the pool from which agents get the value that do not have it.
	Pool string `json:"pool,omitempty"`
	// Description is for people.
	Description string `json:"description,omitempty"`
}

// VariableType is a type of values.
type VariableType string

// Types of values.
const (
	TypeString  VariableType = "string"
	TypeInteger VariableType = "integer"
	TypeBoolean VariableType = "boolean"
	TypeAddress VariableType = "address" // an IPv4 or IPv6 address: 10.0.0.1
	TypePrefix  VariableType = "prefix"  // an address with a prefix length: 10.0.0.1/24
	TypeMAC     VariableType = "mac"
	TypeList    VariableType = "list"
	TypeObject  VariableType = "object"
)

// VariableTypes are all types of values.
func VariableTypes() []VariableType {
	return []VariableType{TypeString, TypeInteger, TypeBoolean, TypeAddress, TypePrefix, TypeMAC, TypeList, TypeObject}
}

// ForEach repeats a template, or an element of a list in a template, for other agents.
type ForEach struct {
	// Peers selects the agents, without the one that is configured. The template or element is repeated
	// for each, with the peer as ${peer...}.
	Peers Selector `json:"peers"`
}

// Pool is a set of values. Each agent gets one of them. The allocation stays until it is released.
type Pool struct {
	Metadata Metadata `json:"metadata"`
	Spec     PoolSpec `json:"spec"`
}

// PoolSpec is the specification of a Pool.
type PoolSpec struct {
	// Type is the type of the values.
	Type PoolType `json:"type"`
	// Ranges are what values are taken from, in this order: networks ("10.0.0.0/24"), first and
	// last address ("10.0.0.10-10.0.0.99"), or first and last number ("100-199"). Addresses are not
	// taken from the ends of a network: the first address names it, and the last one of IPv4 is for broadcasts.
	Ranges []string `json:"ranges"`
	// PrefixLength is the length of the prefixes that are allocated; of pools of type prefix.
	PrefixLength int `json:"prefixLength,omitempty"`
	// Exclude are ranges that are not allocated.
	Exclude []string `json:"exclude,omitempty"`
}

// PoolType is the type of the values of a pool.
type PoolType string

// Types of pools.
const (
	PoolIPv4    PoolType = "ipv4"    // addresses: 10.0.0.1
	PoolIPv6    PoolType = "ipv6"    // addresses: fd00::1
	PoolPrefix  PoolType = "prefix"  // networks of PrefixLength: 10.0.4.0/24
	PoolInteger PoolType = "integer" // numbers
)

// PoolTypes are all types of pools.
func PoolTypes() []PoolType { return []PoolType{PoolIPv4, PoolIPv6, PoolPrefix, PoolInteger} }

// names are the names of fleets: a part of a key.
var names = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$`)

// CheckName returns an error for a name that no fleet can have.
func CheckName(name string) error {
	if !names.MatchString(name) {
		return fmt.Errorf("%q, expected letters, digits, '.', '_' and '-', at most 63, a letter or digit first", name)
	}
	return nil
}
