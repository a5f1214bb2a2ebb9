// Package openapi tests /openapi.json of vpp-agent against the OpenAPI specification,
// responses of the agent against their schemas, and example files against the JSON Schema
// for editors. It is a module of its own, so that programs that import the agent do not
// require the validators.
package openapi
