package rest_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/tenuto-dev/tenuto/infra/rest"
)

func TestWhoMaySeeSecrets(t *testing.T) {
	t.Parallel()
	p := start(t, cheap+`
anonymous: [open]
users:
- {name: viewer, password: v, permissions: [read]}
- {name: keeper, password: k, permissions: [read, secrets]}
- {name: root, password: r, permissions: [all]}
- {name: only, password: o, permissions: [secrets]}
`)
	show := func(w http.ResponseWriter, r *http.Request) {
		if rest.ShowSecrets(r) {
			w.WriteHeader(http.StatusAccepted)
		}
	}
	if err := p.Register("things", rest.Endpoint{Path: "/thing", Handler: show}, rest.Endpoint{Path: "/open", Handler: show, Groups: []string{"open"}}); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		user, password, path string
		want                 int
	}{
		{"viewer", "v", "/thing", 200}, {"viewer", "v", "/thing?show-secrets=false", 200}, {"viewer", "v", "/thing?show-secrets", 403},
		{"viewer", "v", "/thing?show-secrets=1", 403}, {"viewer", "v", "/thing?show-secrets=0&show-secrets=yes", 403},
		{"keeper", "k", "/thing?show-secrets=true", 202}, {"keeper", "k", "/thing", 200}, {"root", "r", "/thing?show-secrets=true", 202},
		{"only", "o", "/thing?show-secrets=true", 403}, {"", "", "/open", 200}, {"", "", "/open?show-secrets", 401},
	} {
		var auth func(*http.Request)
		if test.user != "" {
			auth = as(test.user, test.password)
		}
		resp, body := do(t, nil, "GET", p.URL()+test.path, auth)
		if resp.StatusCode != test.want {
			t.Errorf("%s %s: %d %s", test.user, test.path, resp.StatusCode, body)
		}
		if test.user == "viewer" && test.want == 403 && !strings.Contains(body, `needs the permission \"secrets\"`) {
			t.Errorf("%s %s: %s", test.user, test.path, body)
		}
	}
}

// A server without users is open to all clients.
func TestSecretsWithoutUsers(t *testing.T) {
	t.Parallel()
	p := start(t, "")
	if err := p.Register("things", rest.Endpoint{Path: "/thing", Handler: func(w http.ResponseWriter, r *http.Request) {
		if rest.ShowSecrets(r) {
			w.WriteHeader(http.StatusAccepted)
		}
	}}); err != nil {
		t.Fatal(err)
	}
	if resp, _ := do(t, nil, "GET", p.URL()+"/thing?show-secrets=true", nil); resp.StatusCode != http.StatusAccepted {
		t.Errorf("status %d", resp.StatusCode)
	}
}
