package app_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenuto-dev/tenuto/cmd/vpp-agent/app"
	"github.com/tenuto-dev/tenuto/infra"
	"github.com/tenuto-dev/tenuto/infra/agent"
	"github.com/tenuto-dev/tenuto/infra/infratest"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/response"
)

// check runs the command check of an agent.
func check(t *testing.T, opts []app.Option, args ...string) (checked response.Checked, err error) {
	t.Helper()
	a, err := app.New(opts...)
	infratest.Fatal(t, err)
	var out bytes.Buffer
	err = agent.NewAgent(agent.AllPlugins(a), agent.Args(append([]string{"check"}, args...)...), agent.Output(&out)).Run()
	if err == nil {
		infratest.Fatal(t, json.Unmarshal(out.Bytes(), &checked))
	}
	return checked, err
}

// A file is checked with the models and plugins of the program, and with models that it does not have.
func TestCheckCommand(t *testing.T) {
	t.Parallel()
	mine := []app.Option{app.WithModels(thingModel), app.WithPlugins(func(a *app.VPPAgent) infra.Plugin {
		p := &things{Scheduler: a.Scheduler}
		p.SetName("things")
		return p
	})}
	dir := t.TempDir()
	write := func(name string, text []byte) string {
		name = filepath.Join(dir, name)
		infratest.Fatal(t, os.WriteFile(name, text, 0o600))
		return name
	}
	file := write("net.yaml", []byte(network+"customConfig:\n  ValueStatusList:\n  - {key: a, error: loop1}\n  - {key: b, error: loop2}\n"))

	checked, err := check(t, mine, file)
	if err != nil || checked.Outcome == nil || len(checked.Outcome.Results) != 1 || checked.Outcome.Results[0].Key != "config/custom/v1/things/b" ||
		checked.Outcome.Results[0].State != "PENDING" || checked.Models == nil {
		t.Fatalf("with the plugin of the model: %+v, %v; expected b to be PENDING", checked.Outcome, err)
	}
	models, err := json.Marshal(checked.Models)
	infratest.Fatal(t, err)
	exported := write("models.json", models)

	checked, err = check(t, nil, file, exported)
	if err != nil || checked.Outcome == nil || len(checked.Outcome.Results) != 0 || checked.Outcome.Summary.InEffect != checked.Outcome.Summary.Items {
		t.Errorf("with the schema of the model: %+v, %v; expected all items in effect", checked.Outcome, err)
	}
	if checked, err = check(t, mine, file, exported); err != nil || len(checked.Outcome.Results) != 1 {
		t.Errorf("with both: %+v, %v; expected b to be PENDING", checked.Outcome, err)
	}
	checked, err = check(t, nil, file)
	if err != nil || checked.Outcome == nil || checked.Outcome.Summary.Failed > 0 || len(checked.Problems) != 1 || checked.Problems[0].Path != "customConfig" {
		t.Errorf("without the model: %+v, %v; expected a problem of customConfig, and the outcome of the others", checked, err)
	}
}

func TestCheckCommandErrors(t *testing.T) {
	t.Parallel()
	for want, args := range map[string][]string{
		"expected FILE [MODELS]":           {},
		`check ["a" "b" "c"]: expected`:    {"a", "b", "c"},
		"absent.yaml: no such file":        {"absent.yaml"},
		"absent.json: no such file":        {os.DevNull, "absent.json"},
		"output of 'agentctl model export": {os.DevNull, os.DevNull},
	} {
		if _, err := check(t, nil, args...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("check %q: got %v, expected %s", args, err, want)
		}
	}
}
