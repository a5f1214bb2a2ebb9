package render

import (
	"fmt"

	"github.com/tenuto-dev/tenuto/plugins/orchestrator/document"
)

// ReadAllocations reads allocations in YAML or JSON: a mapping of pools, each with a mapping of agents and
// their values. An empty text has none.
func ReadAllocations(file string, text []byte) (Allocations, []error) {
	all := Allocations{}
	var errs []error
	fail := func(t *document.Tree, path, what string) {
		errs = append(errs, &document.Error{Position: t.Position, Field: path, Msg: "expected " + what})
	}
	roots, problems := document.ParseTrees(file, text)
	for _, p := range problems {
		errs = append(errs, p)
	}
	if len(problems) > 0 || len(roots) == 0 {
		return all, errs
	}
	if len(roots) > 1 {
		fail(roots[1], "", "one YAML document")
	}
	if roots[0].Kind != document.Mapping {
		fail(roots[0], "", "pools with agents and their values, such as {loopbacks: {edge-1: 10.0.0.1}}")
	}
	for _, pool := range roots[0].Fields {
		if pool.Value.Kind != document.Mapping {
			fail(pool.Value, pool.Name, "agents with their values, such as {edge-1: 10.0.0.1}")
			continue
		}
		all[pool.Name] = map[string]string{}
		for _, agent := range pool.Value.Fields {
			if kind := agent.Value.Kind; kind != document.String && kind != document.Integer {
				fail(agent.Value, fmt.Sprintf("%s.%s", pool.Name, agent.Name), "a value")
			}
			all[pool.Name][agent.Name] = agent.Value.Text
		}
	}
	return all, errs
}
