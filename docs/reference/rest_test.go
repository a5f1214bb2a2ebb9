package reference

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
)

// writeEndpoints lists what /openapi.json has, by plugin.
func writeEndpoints(t *testing.T, w *writer) {
	// With Linux, whose endpoints exist only if the agent has its plugins.
	resp := get(t, startAgentWith(t, nil, map[string]string{}, "--simulate"), "/openapi.json")
	defer resp.Body.Close()
	var api struct {
		Paths map[string]map[string]struct {
			Summary string
			Tags    []string
		}
	}
	if err := json.NewDecoder(resp.Body).Decode(&api); err != nil {
		t.Fatal(err)
	}
	type endpoint struct{ path, methods, doc string }
	byPlugin := map[string][]endpoint{}
	for _, path := range sorted(api.Paths) {
		// Methods with the same description are one endpoint.
		methods, plugins := map[string][]string{}, map[string]string{}
		for _, method := range sorted(api.Paths[path]) {
			op := api.Paths[path][method]
			if op.Summary == "" || len(op.Tags) != 1 {
				t.Errorf("%s %s has no description, or no plugin %v", method, path, op.Tags)
				continue
			}
			methods[op.Summary] = append(methods[op.Summary], strings.ToUpper(method))
			plugins[op.Summary] = op.Tags[0]
		}
		for _, doc := range slices.Sorted(maps.Keys(methods)) {
			byPlugin[plugins[doc]] = append(byPlugin[plugins[doc]], endpoint{path, strings.Join(methods[doc], ", "), doc})
		}
	}
	for _, plugin := range sorted(byPlugin) {
		w.printf("\n## %s\n", plugin)
		w.heading("endpoint", "method", "")
		for _, e := range byPlugin[plugin] {
			w.row(code(e.path), e.methods, e.doc)
		}
	}
}
