package rest_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/tenuto-dev/tenuto/infra/rest"
)

func TestOpenAPI(t *testing.T) {
	t.Parallel()
	p := start(t, cheap+"enable-token-auth: true\nusers: [{name: a, password: p, permissions: [http]}]")
	h := func(http.ResponseWriter, *http.Request) {}
	if err := p.Register("logs",
		rest.Endpoint{Path: "/log/{logger}/{level}", Methods: []string{"PUT", "CONNECT"}, Handler: h, Doc: "sets a level"},
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
		}
		Components struct {
			SecuritySchemes map[string]struct{ Type, Scheme string }
		}
		Security []map[string][]string
	}
	if err := json.Unmarshal([]byte(text), &api); err != nil || resp.StatusCode != 200 || api.OpenAPI != "3.1.0" {
		t.Fatalf("%s %v\n%s", resp.Status, err, text)
	}
	validate(t, text)
	for path, methods := range api.Paths {
		for method, op := range methods {
			if strings.Count(path, "{") != len(op.Parameters) || strings.ContainsAny(path, "$.") && path != "/openapi.json" || len(op.Tags) != 1 {
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
	if api.Components.SecuritySchemes["basic"].Scheme != "basic" || api.Components.SecuritySchemes["token"].Scheme != "bearer" || len(api.Security) != 3 {
		t.Errorf("security: %+v %+v", api.Components, api.Security)
	}
}

// validate holds a description against the specification of OpenAPI.
func validate(t *testing.T, text string) {
	t.Helper()
	doc, err := openapi3.NewLoader().LoadFromData([]byte(text))
	if err == nil {
		err = doc.Validate(t.Context())
	}
	if err != nil {
		t.Errorf("not what OpenAPI calls a description: %v", err)
	}
}
