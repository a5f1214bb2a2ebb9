// Package openapi tests /openapi.json of vpp-agent against the OpenAPI specification, and
// responses of the agent against their schemas. It is a module of its own, so that programs
// that import the agent do not require the validator.
package openapi
