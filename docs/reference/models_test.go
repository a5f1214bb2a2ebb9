package reference

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/cli"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api/response"
)

// writeModels lists the models of configuration, and explains each.
func writeModels(t *testing.T, w *writer) {
	handled := handledPrefixes(t)
	all, err := cli.Explain(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, root := range []string{"vpp", "linux", "netalloc"} {
		var models []cli.Explained
		implemented := 0
		for _, m := range all {
			if module, _, _ := strings.Cut(m.Spec().Module, "."); module != root {
				continue
			}
			models = append(models, m)
			if slices.Contains(handled, m.KeyPrefix()) {
				implemented++
			} else {
				t.Errorf("%s: no plugin of vpp-agent handles it", m.Spec().ModelName())
			}
		}
		w.printf("\n## %s: %d of %d models implemented\n", root, implemented, len(models))
		w.heading("model", "in files", "key")
		for _, m := range models {
			name := m.Spec().ModelName()
			w.row(fmt.Sprintf("[%s](#%s)", name, strings.ReplaceAll(name, ".", "")), code(m.Place), code(m.Key))
		}
	}
	for _, m := range all {
		w.printf("\n### %s\n\n```text\n%s```\n", m.Spec().ModelName(), m.Text)
	}
}

// handledPrefixes returns the key prefixes of the descriptors of vpp-agent.
func handledPrefixes(t *testing.T) []string {
	t.Helper()
	resp := get(t, startAgentWith(t, nil, map[string]string{}, "--simulate"), "/scheduler/dump")
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	var index response.DumpIndex
	if err == nil {
		err = json.Unmarshal(text, &index)
	}
	if err != nil {
		t.Fatal(err)
	}
	return index.KeyPrefixes
}
