// Package access controls access to the HTTP server: tokens that expire, and
// groups of endpoints.
package access

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// Built-in groups.
const (
	// Everything is the group of all endpoints.
	Everything = "all"
	// Reading is the group of endpoints that change nothing.
	Reading = "read"
	// Secrets has no endpoints: it is the permission to see secrets in
	// responses.
	Secrets = "secrets"
)

// Groups are named sets of endpoints. It may be used concurrently.
type Groups struct {
	mu    sync.RWMutex
	muxes map[string][]*http.ServeMux // one per pattern, since the patterns of a group may overlap
}

// NewGroups returns groups without endpoints.
func NewGroups() *Groups { return &Groups{muxes: map[string][]*http.ServeMux{}} }

// member marks requests that match a pattern of the group. A ServeMux has other
// handlers for redirects and errors.
type member struct{}

func (*member) ServeHTTP(http.ResponseWriter, *http.Request) {}

// Add adds the requests that match a pattern of http.ServeMux ("PUT
// /log/{logger}/{level}", "/dump/") to a group.
func (g *Groups) Add(group, pattern string) (err error) {
	path := pattern[strings.LastIndexAny(pattern, " \t")+1:]
	if !strings.HasPrefix(path, "/") {
		return fmt.Errorf("%q: expected a path, or a method and a path (PUT /log/{logger}/{level})", pattern)
	}
	defer func() { // ServeMux panics on malformed patterns
		if p := recover(); p != nil {
			err = fmt.Errorf("%q: %v", pattern, p)
		}
	}()
	mux := http.NewServeMux()
	mux.Handle(pattern, &member{})
	g.mu.Lock()
	defer g.mu.Unlock()
	g.muxes[group] = append(g.muxes[group], mux)
	return nil
}

// Known reports whether a group has endpoints.
func (g *Groups) Known(group string) bool {
	g.mu.RLock()
	defer g.mu.RUnlock()
	return group == Everything || group == Reading || group == Secrets || len(g.muxes[group]) > 0
}

// Names returns all groups, sorted.
func (g *Groups) Names() []string {
	g.mu.RLock()
	defer g.mu.RUnlock()
	names := []string{Everything, Reading}
	for name := range g.muxes {
		if !strings.Contains(name, "/") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Of returns the groups of a request.
func (g *Groups) Of(r *http.Request) []string {
	var names []string
	for _, name := range g.Names() {
		if g.Allow([]string{name}, r) {
			names = append(names, name)
		}
	}
	return names
}

// Allow reports whether a request is in one of the groups.
func (g *Groups) Allow(groups []string, r *http.Request) bool {
	g.mu.RLock()
	defer g.mu.RUnlock()
	for _, name := range groups {
		if name == Everything || name == Reading && (r.Method == http.MethodGet || r.Method == http.MethodHead) {
			return true
		}
		for _, mux := range g.muxes[name] {
			h, _ := mux.Handler(r)
			if _, ok := h.(*member); ok {
				return true
			}
		}
	}
	return false
}
