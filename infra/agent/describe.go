package agent

import (
	"fmt"
	"io"
	"strings"

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

// Graph writes the wired plugins in the DOT language. An arrow points from a
// plugin to its dependency; the number is the position in the order of Init.
func (a *Agent) Graph(w io.Writer) error {
	a.wire()
	if err := a.wiring.err(); err != nil {
		return fmt.Errorf("agent: %w", err)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "digraph %q {\n\trankdir=LR;\n\tnode [shape=box];\n", a.opts.build.App)
	for i, m := range a.wiring.members {
		fmt.Fprintf(&b, "\t%q [label=\"%d. %s\\n%s\"];\n", m.name, i+1, m.name,
			strings.TrimPrefix(fmt.Sprintf("%T", m.Plugin), "*"))
	}
	for _, m := range a.wiring.members {
		for _, need := range m.needs {
			fmt.Fprintf(&b, "\t%q -> %q;\n", m.name, need.name)
		}
	}
	b.WriteString("}\n")
	_, err := io.WriteString(w, b.String())
	return err
}
