// Package restapi is the HTTP interface of the scheduler: its state, history and
// graph, in the JSON of packages api and response. It uses the interfaces of the
// scheduler only, so that it can be tested without one.
package restapi
