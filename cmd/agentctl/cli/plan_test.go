package cli

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/exit"
	"github.com/tenuto-dev/tenuto/infra/infratest"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/response"
)

// planned answers for the endpoints of plans.
func planned(r *http.Request, body string) (status int, file, text string) {
	q := r.URL.Query()
	switch r.URL.Path {
	case "/scheduler/confirm", "/scheduler/cancel":
		if id := q.Get("id"); id != "" && id != "3f9a01c2" {
			return http.StatusConflict, "", `{"error": "another change is waiting for confirmation: its ID is \"3f9a01c2\", not \"` + id + `\""}`
		}
		return http.StatusOK, "", `{"seq_num": 12}`
	case "/scheduler/rollback":
		switch {
		case q.Get("to") != "6":
			return http.StatusBadRequest, "", `{"error": "transaction ` + q.Get("to") + `: not in the history, which has 0 to 6"}`
		case q.Has("dry-run"):
			return http.StatusOK, "plan.json", ""
		}
		return http.StatusConflict, "", `{"error": "not restored: 1 value: config/vpp/v2/interfaces/loop2: source etcd has a higher priority", "results": [],
			"seq_num": 13, "summary": {"text": "0 of 0 in effect"}, "left": [{"Key": "config/vpp/v2/interfaces/loop2", "Reason": "source etcd has a higher priority"}]}`
	case "/scheduler/apply":
		if q.Get("confirm-timeout") == "1m0s" && q.Get("verify") == "true" && q.Get("revert") == "true" {
			return http.StatusOK, "applied.json", ""
		}
		if q.Get("fingerprint") == "stale" {
			return http.StatusConflict, "", `{"results": [], "error": "the plan is stale: changed since then: config/vpp/v2/interfaces/loop1"}`
		}
		return http.StatusOK, "", `{"results": [{"key": "a", "state": "FAILED", "error": "no memory"}], "seq_num": 12,
			"summary": {"items": 1, "in_effect": 0, "states": {"FAILED": 1}, "failed": 1, "text": "0 of 1 in effect"}}`
	}
	if q.Get("replace") == "true" {
		return http.StatusOK, "plan-empty.json", ""
	}
	if strings.Contains(body, "10.0.0.2/24") {
		text, _ := api.SealPlan(sealedPlan{Fingerprint: "f", Changes: &api.Plan{}, Findings: []response.Finding{
			{Constraint: "address-overlap", Refused: true, Key: "config/vpp/v2/interfaces/b", Field: "ip_addresses[0]", Line: 4, Column: 5, Text: "10.0.0.2/24 overlaps 10.0.0.1/24 of interface a"},
			{Constraint: "disabled-with-addresses", Key: "config/vpp/v2/interfaces/c", Field: "enabled", Text: "it is down"},
		}})
		return http.StatusOK, "", string(text)
	}
	if strings.Contains(body, "mtuu") {
		return configure(r, body)
	}
	return http.StatusOK, "plan.json", ""
}

// A plan names the items that VPP will refuse, and likely mistakes.
func TestPlanPredictsRefusals(t *testing.T) {
	t.Parallel()
	f := newFakeAgent(t)
	file := write(t, "net.yaml", "vppConfig:\n  interfaces:\n  - name: b\n    ipAddresses: [10.0.0.2/24]\n")
	r := f.run(t, nil, "plan", file)
	r.wants(t, exit.CodeError, "error: "+file+":4:5: vpp.interfaces/b: ip_addresses[0]: 10.0.0.2/24 overlaps 10.0.0.1/24 of interface a")
	r.wants(t, exit.CodeError, "\nwarning: vpp.interfaces/c: enabled: it is down\n")
	r.wants(t, exit.CodeError, file+": items that VPP or Linux would refuse or break: 1")
	f.run(t, nil, "apply", file, "--yes").wants(t, exit.CodeError, "1 of 1 items failed") // it is applied all the same, and the fake agent answers so
}

// The request of a plan is saved, for its owner only, and applied with its fingerprint.
func TestSavePlan(t *testing.T) {
	t.Parallel()
	f := newFakeAgent(t)
	saved := filepath.Join(t.TempDir(), "net.plan")
	if r := f.run(t, nil, "plan", "-f", "testdata/rest/configuration.yaml", "--out", saved); r.code != exit.CodeFinding {
		t.Fatalf("exit %d, %s%s", r.code, r.out, r.err)
	}
	document, err := os.ReadFile("testdata/rest/configuration.yaml")
	infratest.Fatal(t, err)
	got, err := os.ReadFile(saved)
	infratest.Fatal(t, err)
	var plan struct{ Request struct{ Document string } }
	if err := api.OpenPlan(got, &plan); err != nil || plan.Request.Document != string(document) {
		t.Errorf("%v: saved\n%s", err, got)
	}
	if info, err := os.Stat(saved); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v: mode %v", err, info.Mode())
	}
	if r := f.run(t, nil, "apply", "testdata/rest/saved.json", "--verify", "--revert-on-failure", "--confirm-timeout", "60s"); r.code != 0 || f.asked(1).query.Get("fingerprint") != "f1" {
		t.Errorf("exit %d, %s%s", r.code, r.out, r.err)
	}
}

// Of a plan that a newer program saved, unknown fields are ignored, and a newer format is refused.
func TestPlanOfNewerProgram(t *testing.T) {
	t.Parallel()
	f := newFakeAgent(t)
	text, err := api.SealPlan(map[string]any{
		"Request": map[string]any{"Document": "vppConfig: {}", "Novelty": 1}, "Fingerprint": "f1", "Forced": map[string]any{"k": []string{"mtu"}},
	})
	infratest.Fatal(t, err)
	saved := write(t, "net.plan", string(text))
	f.run(t, nil, "apply", saved, "--verify").wants(t, exit.CodeError, "1 of 1 items failed") // as the fake agent answers
	if r := f.asked(0); r.query.Get("fingerprint") != "f1" || r.body != "vppConfig: {}" {
		t.Errorf("requested %+v", r)
	}
	newer := write(t, "newer.plan", strings.Replace(string(text), `"PlanFormat": 1`, `"PlanFormat": 2`, 1))
	f.run(t, nil, "apply", newer).wants(t, exit.CodeError, newer+": the plan was made by another version: it has format 2, and this program reads format 1")
}
