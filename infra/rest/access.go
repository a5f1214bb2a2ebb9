package rest

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
)

const accessPath = "/info/access"

// Access is the response of /info/access: what the client of the request may do.
type Access struct {
	// User is empty if the request had no credentials.
	User string `json:"user,omitempty"`
	// Login is the path of the form to log in, if the server has one.
	Login string `json:"login,omitempty"`
	// Endpoints are the methods and paths that the client may use.
	Endpoints []string `json:"endpoints"`
}

// parameterValue replaces parameters of paths.
var parameterValue = regexp.MustCompile(`\{[^{}]*\}`)

func (p *Plugin) access(w http.ResponseWriter, r *http.Request) {
	user, _ := Caller(r)
	a := Access{User: user, Endpoints: []string{}}
	if p.guard != nil && p.guard.tokens != nil {
		a.Login = loginPath
	}
	for _, g := range p.routes().list() {
		for _, e := range g.Endpoints {
			for _, method := range e.Methods {
				if p.guard == nil || p.guard.permits(user, method, parameterValue.ReplaceAllString(e.Path, "x")) {
					a.Endpoints = append(a.Endpoints, method+" "+strings.TrimSuffix(e.Path, "{$}"))
				}
			}
		}
	}
	slices.Sort(a.Endpoints)
	WriteJSON(w, http.StatusOK, a)
}

// permits reports whether a user, or a client without credentials if it is empty, may
// make a request.
func (g *guard) permits(user, method, path string) bool {
	r, err := http.NewRequest(method, path, http.NoBody)
	if err != nil {
		return false
	}
	permissions := slices.Clone(g.users.Get().anonymous)
	if account := g.users.Get().Lookup(user); user != "" && account != nil {
		permissions = append(permissions, account.Permissions...)
	}
	return g.groups.Allow(permissions, r)
}
