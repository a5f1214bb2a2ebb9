package rest_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tenuto-dev/tenuto/infra/rest"
)

func TestOpenAPI(t *testing.T) {
	t.Parallel()
	p := start(t, cheap+"enable-token-auth: true\nusers: [{name: a, password: p, permissions: [http]}]")
	type tree struct {
		Name     string    `json:"name"`
		Children []tree    `json:"children,omitempty"`
		Parent   *tree     `json:"parent"`
		Since    time.Time `json:"since,omitzero"`
		Raw      any
	}
	h := func(http.ResponseWriter, *http.Request) {}
	if err := p.Register("logs",
		rest.Endpoint{Path: "/log/{logger}/{level}", Methods: []string{"PUT", "CONNECT"}, Handler: h, Doc: "sets a level"},
		rest.Endpoint{Path: "/tree", Handler: h, Doc: "a tree", Query: []string{"depth", "name..."}, Response: tree{}},
		rest.Endpoint{Path: "/files/{rest...}", Handler: h}); err != nil {
		t.Fatal(err)
	}
	resp, text := do(t, nil, "GET", p.URL()+"/openapi.json", as("a", "p"))
	var api struct {
		OpenAPI string
		Paths   map[string]map[string]struct {
			Summary    string
			Tags       []string
			Parameters []struct{ Name, In string }
			Responses  map[string]struct {
				Content map[string]struct{ Schema map[string]any }
			}
		}
		Components struct {
			Schemas         map[string]map[string]any
			SecuritySchemes map[string]struct{ Type, Scheme string }
		}
		Security []map[string][]string
	}
	if err := json.Unmarshal([]byte(text), &api); err != nil || resp.StatusCode != 200 || api.OpenAPI != "3.1.0" {
		t.Fatalf("%s %v\n%s", resp.Status, err, text)
	}
	for path, methods := range api.Paths {
		for method, op := range methods {
			if path != "/tree" && strings.Count(path, "{") != len(op.Parameters) || strings.ContainsAny(path, "$.") && path != "/openapi.json" || len(op.Tags) != 1 {
				t.Errorf("%s %s: %+v", method, path, op)
			}
		}
	}
	put, ok := api.Paths["/log/{logger}/{level}"]["put"]
	if !ok || put.Summary != "sets a level" || put.Tags[0] != "logs" || put.Parameters[1].Name != "level" || put.Parameters[1].In != "path" {
		t.Errorf("got %+v", put)
	}
	if _, ok := api.Paths["/log/{logger}/{level}"]["connect"]; ok {
		t.Error("CONNECT is not of OpenAPI")
	}
	for _, path := range []string{"/", "/openapi.json", "/info/version", "/files/{rest}", "/auth/login"} {
		if _, ok := api.Paths[path]["get"]; !ok {
			t.Errorf("%s is missing", path)
		}
	}
	get := api.Paths["/tree"]["get"]
	if len(get.Parameters) != 2 || get.Parameters[1].Name != "name" || get.Parameters[1].In != "query" {
		t.Errorf("query parameters: %+v", get.Parameters)
	}
	ref := map[string]any{"$ref": "#/components/schemas/infra.rest_test.tree"}
	null := map[string]any{"type": "null"}
	want := map[string]any{"type": "object", "required": []any{"name", "parent", "Raw"}, "properties": map[string]any{
		"name":     map[string]any{"type": "string"},
		"children": map[string]any{"anyOf": []any{map[string]any{"type": "array", "items": ref}, null}},
		"parent":   map[string]any{"anyOf": []any{ref, null}},
		"since":    map[string]any{"type": "string", "format": "date-time"},
		"Raw":      map[string]any{},
	}}
	if diff := cmp.Diff(ref, get.Responses["200"].Content["application/json"].Schema); diff != "" {
		t.Errorf("schema of the response (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want, api.Components.Schemas["infra.rest_test.tree"]); diff != "" {
		t.Errorf("schema of the type (-want +got):\n%s", diff)
	}
	if api.Components.SecuritySchemes["basic"].Scheme != "basic" || api.Components.SecuritySchemes["token"].Scheme != "bearer" || len(api.Security) != 3 {
		t.Errorf("security: %+v %+v", api.Components, api.Security)
	}
}
