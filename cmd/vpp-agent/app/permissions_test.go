package app_test

import (
	"net/http"
	"strings"
	"testing"
)

// Users may do what the groups of their permissions are for, over paths with
// parameters as well, and nothing else.
func TestPermissionsOfTheAgent(t *testing.T) {
	t.Parallel()
	h := newHouse(t, network, "--simulate")
	h.write(t, "http.conf", `password-hash-cost: 4
anonymous: [probe]
users:
- {name: viewer, password: p, permissions: [nbConfigRead, dump]}
- {name: checker, password: p, permissions: [nbConfigValidation]}
- {name: writer, password: p, permissions: [nbConfigWrite]}
- {name: counter, password: p, permissions: [stats]}
- {name: monitor, password: p, permissions: [telemetry, info]}
- {name: logger, password: p, permissions: ['PUT /log/{logger}/{level}']}
- {name: root, password: p, permissions: [all]}
`)
	h.start(t)
	const everybody = "nobody viewer checker writer counter monitor logger root"
	for _, test := range []struct{ method, path, who string }{
		{"GET", "/configuration", "viewer root"},
		{"GET", "/configuration/sources", "viewer root"},
		{"PUT", "/configuration", "writer root"},
		{"POST", "/configuration/validate", "checker root"},
		{"POST", "/scheduler/plan", "checker root"},
		{"POST", "/scheduler/apply", "writer root"},
		{"POST", "/scheduler/rollback", "writer root"},
		{"GET", "/scheduler/dump", "viewer root"},
		{"GET", "/scheduler/status", "viewer root"},
		{"GET", "/scheduler/txn-history", "viewer root"},
		{"GET", "/scheduler/stats", "counter root"},
		{"GET", "/govppmux/stats", "counter root"},
		{"POST", "/scheduler/downstream-resync", "root"},
		{"POST", "/vpp/command", "root"},
		{"PUT", "/log/kvscheduler/debug", "logger root"},
		{"GET", "/log/list", "root"},
		{"GET", "/metrics", "monitor root"},
		{"GET", "/info/version", "monitor root"},
		{"GET", "/readiness", everybody},
		{"GET", "/liveness", everybody},
		{"GET", "/no/such/path", "root"},
	} {
		for _, user := range strings.Fields(everybody) {
			refused := http.StatusForbidden
			if user == "nobody" {
				refused = http.StatusUnauthorized
			}
			may := strings.Contains(test.who, user)
			if status := ask(t, test.method, h.HTTP.URL()+test.path, user); may == (status == refused) || user != "nobody" && status == http.StatusUnauthorized {
				t.Errorf("%s %s as %s: %d", test.method, test.path, user, status)
			}
		}
	}
}

// ask returns the status of an answer; "nobody" has no password.
func ask(t *testing.T, method, url, user string) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if user != "nobody" {
		req.SetBasicAuth(user, "p")
	}
	client := &http.Client{Timeout: patience}
	defer client.CloseIdleConnections()
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	return resp.StatusCode
}
