package agent

import (
	"github.com/tenuto-dev/tenuto/infra"
	"github.com/tenuto-dev/tenuto/infra/config"
)

// Flags returns the flags of the agent and of its plugins, for documentation.
// It reads the command line if that has not been done.
func (a *Agent) Flags() *config.Flags {
	a.prepare()
	return a.flags
}

// Configuration describes the configuration file of a plugin.
type Configuration struct {
	Plugin   string
	Defaults any // a struct, or a pointer to one; see config.Keys
}

// Configurations returns the configurations of all plugins, in the order of
// Init.
func (a *Agent) Configurations() []Configuration {
	a.wire()
	var all []Configuration
	for _, m := range a.wiring.members {
		if defaults := configSpec(m.Plugin); defaults != nil {
			all = append(all, Configuration{m.name, defaults})
		}
	}
	return all
}

// configSpec returns the defaults of the configuration of a plugin, nil if it has none.
func configSpec(p infra.Plugin) any {
	if c, ok := p.(infra.Configurable); ok {
		return c.ConfigSpec()
	}
	return nil
}
