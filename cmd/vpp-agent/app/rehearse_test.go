package app_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/cmd/vpp-agent/app"
	"github.com/tenuto-dev/tenuto/fleet/rehearsal"
	"github.com/tenuto-dev/tenuto/fleet/rollout"
	"github.com/tenuto-dev/tenuto/fleet/store"
	"github.com/tenuto-dev/tenuto/infra/agent"
	"github.com/tenuto-dev/tenuto/infra/infratest"
	"github.com/tenuto-dev/tenuto/infra/kv"
	ifmodel "github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/model"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

// rehearse runs the command rehearse of an agent.
func rehearse(t *testing.T, in rehearsal.Input) (out rehearsal.Result, err error) {
	t.Helper()
	text, err := json.Marshal(in)
	infratest.Fatal(t, err)
	file := filepath.Join(t.TempDir(), "rehearsal.json")
	infratest.Fatal(t, os.WriteFile(file, text, 0o600))
	a, err := app.New()
	infratest.Fatal(t, err)
	var written bytes.Buffer
	err = agent.NewAgent(agent.AllPlugins(a), agent.Args("rehearse", file), agent.Output(&written)).Run()
	if err == nil {
		infratest.Fatal(t, json.Unmarshal(written.Bytes(), &out))
	}
	return out, err
}

func loopback(t *testing.T, mtu uint32) []store.Item {
	t.Helper()
	i := &interfaces.Interface{Name: "loop1", Type: interfaces.Interface_SOFTWARE_LOOPBACK, Enabled: true, Mtu: mtu}
	return itemsOf(t, ifmodel.InterfaceModel.Key(i), i)
}

func itemsOf(t *testing.T, key string, value proto.Message) []store.Item {
	t.Helper()
	encoded, err := kv.Encode(value)
	infratest.Fatal(t, err)
	return []store.Item{{Key: key, Value: encoded}}
}

// has describes the agents at the end of a rehearsal.
func has(out rehearsal.Result) string {
	var all []string
	for _, a := range out.Agents {
		all = append(all, a.Label+" "+string(a.Report.State))
	}
	return strings.Join(all, ", ")
}

// Three agents get a configuration in two waves; two of them have one already. A fault of an agent of the second wave has
// the effect that it has in a fleet.
func TestRehearse(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		fault  rehearsal.Kind
		phase  rollout.Phase
		reason string
		has    string
	}{
		"nothing":   {"", rollout.PhaseSucceeded, "", "a Confirmed, b Confirmed, c Confirmed"},
		"unhealthy": {rehearsal.Unhealthy, rollout.PhaseFailed, "wave 2 was aborted: c: config/vpp/v2/interfaces/loop1 is FAILED", "a Confirmed, b Reverted, c Failed"},
		"offline":   {rehearsal.Offline, rollout.PhaseFailed, "c", "a Planned, b Planned, c Confirmed"},
		"cut off":   {rehearsal.CutOff, rollout.PhaseFailed, "agents were not healthy in time", "a Confirmed, b Reverted, c Planned"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := rehearsal.Input{
				Spec: rollout.Spec{Waves: [][]string{{"a"}, {"b", "c"}}, Offline: rollout.OfflineFail},
				Agents: []rehearsal.Agent{
					{Label: "a", Before: loopback(t, 1500), After: loopback(t, 1400)}, {Label: "b", After: loopback(t, 1400)},
					{Label: "c", Before: loopback(t, 1500), After: loopback(t, 1400)},
				},
			}
			if test.fault != "" {
				in.Faults = []rehearsal.Fault{{Agent: "c", Kind: test.fault}}
			}
			out, err := rehearse(t, in)
			infratest.Fatal(t, err)
			status := out.Rollout.Status
			if status.Phase != test.phase || !strings.Contains(status.Reason, test.reason) || has(out) != test.has || len(out.Warnings) > 0 {
				t.Errorf("%s %q, %s, warnings %q, expected %s %q, %s", status.Phase, status.Reason, has(out), out.Warnings, test.phase, test.reason, test.has)
			}
		})
	}
}

// A warning reports a present configuration that is not possible in the simulation. The rehearsal continues without it.
func TestRehearseFromAnImpossibleState(t *testing.T) {
	t.Parallel()
	bad := &interfaces.Interface{Name: "loop1", Type: interfaces.Interface_SOFTWARE_LOOPBACK, PhysAddress: "no address"}
	out, err := rehearse(t, rehearsal.Input{
		Spec:   rollout.Spec{Waves: [][]string{{"a"}}},
		Agents: []rehearsal.Agent{{Label: "a", Before: itemsOf(t, ifmodel.InterfaceModel.Key(bad), bad), After: loopback(t, 1400)}},
	})
	infratest.Fatal(t, err)
	if has(out) != "a Confirmed" || len(out.Warnings) != 1 || !strings.Contains(out.Warnings[0], "a: the copy begins without a configuration") ||
		!strings.Contains(out.Warnings[0], "phys_address") {
		t.Errorf("%s, warnings %q", has(out), out.Warnings)
	}
}

func TestRehearseBadInput(t *testing.T) {
	t.Parallel()
	one := []rehearsal.Agent{{Label: "a"}}
	waves := rollout.Spec{Waves: [][]string{{"a"}}}
	for want, in := range map[string]rehearsal.Input{
		"spec.waves: empty":                  {Agents: one},
		`spec.waves: "b" is not among`:       {Agents: one, Spec: rollout.Spec{Waves: [][]string{{"b"}}}},
		`agents: label "a" is empty or`:      {Agents: append(one, one...), Spec: waves},
		`faults: "b" is in no wave`:          {Agents: one, Spec: waves, Faults: []rehearsal.Fault{{Agent: "b", Kind: rehearsal.Offline}}},
		`kind "odd", expected unhealthy, of`: {Agents: one, Spec: waves, Faults: []rehearsal.Fault{{Agent: "a", Kind: "odd"}}},
	} {
		if _, err := rehearse(t, in); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, expected %s", err, want)
		}
	}
}
