package agent

import (
	"github.com/tenuto-dev/tenuto/infra"
	"github.com/tenuto-dev/tenuto/infra/config"
)

// Flags returns the flags of the agent, those of its plugins included, for
// documentation. The command line is read if it was not yet.
func (a *Agent) Flags() *config.Flags {
	a.prepare()
	return a.flags
}

// Configuration is what the configuration file of a plugin can contain.
type Configuration struct {
	Plugin   string
	Defaults any // a struct, or a pointer to one; see config.Keys
}

// Configurations returns those of all plugins, in the order of Init.
func (a *Agent) Configurations() []Configuration {
	a.wire()
	var all []Configuration
	for _, m := range a.wiring.members {
		if c, ok := m.Plugin.(infra.Configurable); ok {
			all = append(all, Configuration{m.name, c.ConfigSpec()})
		}
	}
	return all
}
