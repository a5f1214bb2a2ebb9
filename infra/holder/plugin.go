package holder

import (
	"crypto/rand"
	"encoding/hex"
	"os"
	"path/filepath"
	"time"

	"github.com/tenuto-dev/tenuto/infra"
)

// DefaultName is the name of the plugin.
const DefaultName = "identity"

// Plugin provides the identity of an agent, from Init on.
type Plugin struct {
	Deps
	identity Identity
}

// Deps are the dependencies of the plugin.
type Deps struct {
	infra.PluginDeps
	Label Labeller
	// State stores the instance across restarts; it may be nil.
	State State `optional:"true"`
}

// Labeller provides the label of the agent.
type Labeller interface{ GetAgentLabel() string }

// State stores values in a state-dir across restarts.
type State interface {
	// StateDirectory is empty without a state-dir.
	StateDirectory() string
	LoadState(name string) (map[string][]byte, error)
	SaveState(name string, put map[string][]byte, all bool) error
}

// NewPlugin returns a plugin for the agent with the given label.
func NewPlugin(label Labeller, state State) *Plugin {
	p := &Plugin{Deps: Deps{Label: label, State: state}}
	p.SetName(DefaultName)
	return p
}

// Key of the instance in the state-dir.
const (
	stateName   = "identity"
	instanceKey = "instance"
)

// Init determines the identity of the agent.
func (p *Plugin) Init() error {
	host, err := os.Hostname()
	if err != nil {
		p.Log.Debug("cannot read the host name", "error", err)
	}
	p.identity = Identity{
		Program: filepath.Base(os.Args[0]), Label: p.Label.GetAgentLabel(), PID: os.Getpid(), Host: host, Since: time.Now(),
	}
	if p.State != nil {
		p.identity.StateDir = p.State.StateDirectory()
	}
	p.identity.Instance = p.instance()
	p.Log.Debug("identity of the agent", "instance", p.identity.Instance, "label", p.identity.Label)
	return nil
}

// Identity returns the identity of the agent.
func (p *Plugin) Identity() Identity { return p.identity }

// instance returns the stored instance, or a new one.
func (p *Plugin) instance() string {
	var random [4]byte
	_, _ = rand.Read(random[:]) // never fails
	id := hex.EncodeToString(random[:])
	if p.State == nil {
		return id
	}
	kept, err := p.State.LoadState(stateName)
	if err != nil {
		p.Log.Warn("cannot read the instance of the agent; using a new one", "error", err)
	}
	if known := string(kept[instanceKey]); known != "" {
		return known
	}
	if err := p.State.SaveState(stateName, map[string][]byte{instanceKey: []byte(id)}, true); err != nil {
		p.Log.Warn("cannot store the instance of the agent; it will change with the next restart", "error", err)
	}
	return id
}
