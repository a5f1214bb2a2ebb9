package cli

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/tenuto-dev/tenuto/infra/infratest"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/response"
	"github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

// sealedPlan is a plan as the agent sends it.
type sealedPlan struct {
	Source, Fingerprint string
	Changes             *api.Plan
	Findings            []response.Finding
}

// secretAgent makes plans with a secret that is hidden unless it is asked for, and
// records what it applies.
func secretAgent(t *testing.T) (flags []string, applied *string) {
	t.Helper()
	memif := func(secret string) *interfaces.Interface {
		return &interfaces.Interface{Name: "m", Link: &interfaces.Interface_Memif{Memif: &interfaces.MemifLink{Secret: secret}}}
	}
	plan := sealedPlan{Source: "grpc", Changes: &api.Plan{Operations: []api.RecordedTxnOp{
		{Operation: kvscheduler.TxnOperation_CREATE, Key: "new", NewValue: memif("geheim"), NewState: kvscheduler.ValueState_CONFIGURED},
		{Operation: kvscheduler.TxnOperation_CREATE, Key: "new/part", Base: "new", IsDerived: true, NewValue: &emptypb.Empty{}, NewState: kvscheduler.ValueState_CONFIGURED},
		{Operation: kvscheduler.TxnOperation_UPDATE, Key: "changed", PrevValue: memif("geheim"), NewValue: memif("geheimer"),
			PrevState: kvscheduler.ValueState_CONFIGURED, NewState: kvscheduler.ValueState_CONFIGURED},
	}}}
	applied = new(string)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/scheduler/apply" {
			text, err := io.ReadAll(r.Body)
			if err != nil {
				t.Error(err)
			}
			*applied = string(text)
			_, _ = w.Write([]byte(`{"results": [], "seq_num": 1}`))
			return
		}
		p := plan
		if r.URL.Query().Get("show-secrets") != "true" {
			p.Changes = p.Changes.HideSecrets()
		}
		text, err := api.SealPlan(p)
		if err != nil {
			t.Error(err)
		}
		_, _ = w.Write(text)
	}))
	t.Cleanup(server.Close)
	host, port, _ := strings.Cut(server.Listener.Addr().String(), ":")
	return []string{"--host", host, "--http-port", port}, applied
}

func TestSecretsOfPlans(t *testing.T) {
	t.Parallel()
	flags, applied := secretAgent(t)
	file := filepath.Join(t.TempDir(), "net.plan")
	if err := os.WriteFile(file, []byte("what others could read"), 0o644); err != nil {
		t.Fatal(err)
	}
	agentctl := func(args ...string) result { return run(t, nil, append(args, flags...)...) }
	const document = "testdata/rest/configuration.yaml"
	const shown = "  + new\n      + memif.secret: \"***\"\n      + name: \"m\"\n  ~ changed\n      ~ memif.secret: a secret differs\n"

	if r := agentctl("plan", "-f", document, "--out", file); !strings.Contains(r.out, shown) || strings.Contains(r.out, "geheim") {
		t.Errorf("exit %d, %s%s", r.code, r.out, r.err)
	}
	saved, err := os.ReadFile(file)
	if err != nil || strings.Contains(string(saved), "geheim") {
		t.Errorf("%v: saved\n%s", err, saved)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v: mode %v", err, info.Mode())
	}
	if r := agentctl("plan", "-f", document, "--show-secrets"); !strings.Contains(r.out, `memif.secret: "geheim" -> "geheimer"`) {
		t.Errorf("exit %d, %s%s", r.code, r.out, r.err)
	}
	text, err := os.ReadFile(document)
	infratest.Fatal(t, err)
	if r := agentctl("apply", "-f", document); r.code != 0 || !strings.Contains(r.out, shown) || strings.Contains(r.out, "geheim") || *applied != string(text) {
		t.Errorf("exit %d, %s%s, applied\n%s", r.code, r.out, r.err, *applied)
	}
}
