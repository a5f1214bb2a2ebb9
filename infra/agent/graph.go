package agent

import (
	"fmt"
	"io"
	"strings"
)

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
