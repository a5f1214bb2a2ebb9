package rest

import (
	"cmp"
	"net/http"
	"regexp"
	"strings"

	"github.com/tenuto-dev/tenuto/infra"
)

// openAPI describes the endpoints of the server by OpenAPI 3.1.
type openAPI struct {
	OpenAPI    string                          `json:"openapi"`
	Info       apiInfo                         `json:"info"`
	Paths      map[string]map[string]operation `json:"paths"`
	Components components                      `json:"components"`
	Security   []map[string][]string           `json:"security,omitempty"`
}

type apiInfo struct {
	Title   string `json:"title"`
	Version string `json:"version"`
}

type components struct {
	Schemas         schemas                   `json:"schemas"`
	SecuritySchemes map[string]securityScheme `json:"securitySchemes,omitempty"`
}

type securityScheme struct {
	Type   string `json:"type"`
	Scheme string `json:"scheme,omitempty"`
	Name   string `json:"name,omitempty"`
	In     string `json:"in,omitempty"`
}

type operation struct {
	Summary    string              `json:"summary,omitempty"`
	Tags       []string            `json:"tags"`
	Parameters []parameter         `json:"parameters,omitempty"`
	Responses  map[string]response `json:"responses"`
}

type parameter struct {
	Name     string `json:"name"`
	In       string `json:"in"`
	Required bool   `json:"required"`
	Schema   schema `json:"schema"`
}

type response struct {
	Description string         `json:"description"`
	Content     map[string]any `json:"content,omitempty"`
}

// apiMethod reports whether OpenAPI 3.1 supports a method.
func apiMethod(method string) bool {
	switch method {
	case http.MethodGet, http.MethodPut, http.MethodPost, http.MethodDelete,
		http.MethodOptions, http.MethodHead, http.MethodPatch, http.MethodTrace:
		return true
	}
	return false
}

// pathParameter is a parameter in a pattern of http.ServeMux.
var pathParameter = regexp.MustCompile(`\{([^{}.$]+)(\.\.\.)?\}`)

func (p *Plugin) openAPI(w http.ResponseWriter, _ *http.Request) {
	b := infra.Build{App: "agent"}
	if p.host != nil {
		b = p.host.Build()
	}
	WriteJSON(w, http.StatusOK, p.describe(b))
}

func (p *Plugin) describe(b infra.Build) openAPI {
	api := openAPI{OpenAPI: "3.1.0", Info: apiInfo{b.App, cmp.Or(b.Version, unknown)}, Paths: map[string]map[string]operation{}}
	api.Components.Schemas = schemas{"Error": schema{
		"type": "object", "properties": schema{"error": schema{"type": "string"}, "Error": schema{"type": "string", "description": "the same text"}},
	}}
	if p.guard != nil {
		api.Components.SecuritySchemes = map[string]securityScheme{"basic": {Type: "http", Scheme: "basic"}}
		api.Security = []map[string][]string{{"basic": {}}}
		if p.guard.tokens != nil {
			api.Components.SecuritySchemes["token"] = securityScheme{Type: "http", Scheme: "bearer"}
			api.Components.SecuritySchemes["cookie"] = securityScheme{Type: "apiKey", In: "cookie", Name: cookieName}
			api.Security = append(api.Security, map[string][]string{"token": {}}, map[string][]string{"cookie": {}})
		}
	}
	for _, g := range p.routes().list() {
		for _, e := range g.Endpoints {
			api.add(g.Plugin, e)
		}
	}
	return api
}

func (api openAPI) add(plugin string, e Endpoint) {
	path := pathParameter.ReplaceAllString(strings.TrimSuffix(e.Path, "{$}"), "{$1}")
	done := response{Description: "done"}
	if e.Response != nil {
		done.Content = jsonContent(api.Components.Schemas.response(e.Response))
	}
	op := operation{Summary: e.Doc, Tags: []string{plugin}, Responses: map[string]response{
		"200":     done,
		"default": {Description: "why not", Content: jsonContent(schema{"$ref": "#/components/schemas/Error"})},
	}}
	for _, m := range pathParameter.FindAllStringSubmatch(e.Path, -1) {
		op.Parameters = append(op.Parameters, parameter{Name: m[1], In: "path", Required: true, Schema: schema{"type": "string"}})
	}
	for _, name := range e.Query {
		name, many := strings.CutSuffix(name, "...")
		of := schema{"type": "string"}
		if many {
			of = schema{"type": "array", "items": of}
		}
		op.Parameters = append(op.Parameters, parameter{Name: name, In: "query", Schema: of})
	}
	for _, method := range e.Methods {
		if !apiMethod(method) {
			continue
		}
		if api.Paths[path] == nil {
			api.Paths[path] = map[string]operation{}
		}
		api.Paths[path][strings.ToLower(method)] = op
	}
}

func jsonContent(of schema) map[string]any {
	return map[string]any{"application/json": map[string]any{"schema": of}}
}
