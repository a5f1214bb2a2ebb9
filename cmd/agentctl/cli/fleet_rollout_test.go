package cli

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/exit"
	"github.com/tenuto-dev/tenuto/infra/infratest"
	"github.com/tenuto-dev/tenuto/infra/kv/kvtest"
)

// startMember starts an agent with simulated southbounds that is a member of the fleet "default".
func startMember(t *testing.T, label, etcd string) {
	t.Helper()
	startAgentConfigured(t, label, map[string]string{
		"etcd.conf":        "endpoints: ['" + etcd + "']\ndial-timeout: 1m\noperation-timeout: 1m\n",
		"kvscheduler.conf": "state-dir: " + t.TempDir() + "\n", "fleet.conf": "fleet: default\n",
	})
}

const fleetAgents = `
apiVersion: fleet.tenuto.dev/v1alpha1
kind: Agent
metadata: {name: edge-1, labels: {role: edge}}
spec: {values: {loopback: 10.255.0.1/32}}
---
apiVersion: fleet.tenuto.dev/v1alpha1
kind: Agent
metadata: {name: edge-2, labels: {role: edge}}
spec: {values: {loopback: 10.255.0.2/32}}
---
apiVersion: fleet.tenuto.dev/v1alpha1
kind: NetworkConfig
metadata: {name: loopbacks}
spec:
  selector: {matchLabels: {role: edge}}
  template:
    vppConfig:
      interfaces:
      - {name: loop0, type: SOFTWARE_LOOPBACK, enabled: true, mtu: MTU, ip_addresses: ["${agent.values.loopback}"]}
`

// A fleet is configured, changed, refuses what it cannot have, and goes back.
func TestFleet(t *testing.T) {
	t.Parallel()
	server := kvtest.Etcd(t)
	env := map[string]string{"ETCD_ENDPOINTS": server.Direct}
	for _, label := range []string{"edge-1", "edge-2"} {
		startMember(t, label, server.Direct)
	}
	agentctl := func(line string) result { return run(t, env, words(line)...) }
	program := agentProgram(t)
	for n := 0; n != 2; { // until both are there
		n = strings.Count(agentctl("fleet agents").out, "edge-")
		infratest.Fatal(t, t.Context().Err())
	}
	net := func(mtu string) string {
		return write(t, "net.yaml", strings.ReplaceAll(fleetAgents, "MTU", mtu))
	}
	for _, step := range []struct {
		line string
		code int
		out  []string // lines of the output
		err  string
	}{
		{"fleet plan -f " + net("1500"), 2, []string{"revision 1 for 2 agents:", "    2 agents: 1 to create (edge-1 edge-2)", "        edge-1: + vpp.interfaces/loop0"}, ""},
		{"fleet apply -f " + net("1500") + " -y --waves 1", 0, []string{
			"revision 2 for 2 agents:", "wave 1 of 2, 1 agent: COMMIT", "wave 2 of 2, 1 agent: COMMIT", "rollout r-2: 2 agents have revision 2",
		}, ""},
		{"fleet agents", 0, []string{"edge-1 ", "edge-2 "}, ""},
		{"fleet plan -f " + net("1500"), 0, []string{"    2 agents: no changes (edge-1 edge-2)"}, ""},
		{"fleet apply -y -f " + net("1400"), 0, []string{"    2 agents: 1 to change (edge-1 edge-2)", "rollout r-4: 2 agents have revision 4"}, ""},
		{"fleet undo -y r-4", 0, []string{"    2 agents: 1 to change (edge-1 edge-2)", "rollout r-4-undo: 2 agents have revision 2"}, ""},
		{"fleet rehearse --program " + program + " -f " + net("1300") + " --waves 1", 0, []string{
			"rollout rehearsal, revision 2: Succeeded", "1      edge-1   Confirmed   1 to change", "2      edge-2   Confirmed   1 to change",
		}, "2 simulated agents"},
		{"fleet rehearse --program " + program + " -f " + net("1300") + " --waves 1 --fault edge-2=unhealthy", 1, []string{
			"1      edge-1   Confirmed   1 to change", "2      edge-2   Failed ",
		}, "the rollout would fail: wave 2 was aborted: edge-2: vpp.interfaces/loop0 is FAILED"},
		{"fleet rehearse --program " + program + " -f " + net("1300") + " --waves 1 --fault edge-2", 125, nil, `--fault: "edge-2": expected AGENT=KIND, with a KIND of unhealthy, offline, cut-off`},
		{"fleet rehearse --program " + program + " -f " + net("1300") + " --waves 1 --fault edge-9=offline", 1, nil, `--fault: "edge-9" is in no wave of the rollout`},
		{"fleet rehearse --program /nowhere -f " + net("1300"), 1, nil, "/nowhere rehearse:"},
		{"fleet apply -y -f " + net("99999"), 1, nil, "99999"},
		{"fleet show r-4", 0, []string{"rollout r-4, revision 4: Succeeded", "wave 1: COMMIT by agentctl", "1      edge-1"}, ""},
		{"fleet rollouts", 0, []string{"r-4 ", "r-2 "}, ""},
		{"fleet show r-44", 1, nil, `no rollout has the name "r-44"; did you mean "r-4"?`},
		{"fleet pause", 1, nil, "no rollout is running"},
		{"fleet abort r-4", 1, nil, "rollout r-4 has ended: Succeeded"},
		{"fleet label edge-3 role=edge", 0, nil, ""},
		{"fleet set edge-3 loopback=10.255.0.3/32", 0, nil, ""},
		{"fleet apply -y --deadline 2s -f " + net("1500"), 1, []string{"    1 agent: cannot: does not run (edge-3)"}, "agents did not plan the revision: edge-3 does not run"},
		{"fleet apply -y --deadline 1s --skip-offline -f " + net("1500"), 0, []string{"wave 1 of 1, 2 agents: COMMIT", "rollout r-6: 2 agents have revision 6, and not: edge-3"}, ""},
		{"fleet maintenance edge-3 on", 0, nil, ""},
		{"fleet apply -y -f " + net("1300"), 0, nil, "NOTE: edge-3 is left out until its maintenance ends"},
		{"fleet forget edge-1 -y", 1, nil, "edge-1: the agent is in use: it runs on "},
		{"fleet forget edge-3 -y", 0, []string{"removed edge-3, released no values"}, ""},
		{"fleet agents --selector role=nothing", 0, []string{"AGENT "}, ""},
		{"fleet apply -y -f " + write(t, "none.yaml", strings.ReplaceAll(fleetAgents, "matchLabels: {role: edge}", "matchLabels: {role: egde}")), 1, nil,
			"2 agents would lose all items, since no NetworkConfig gives them one: edge-1, edge-2; if that is right: --allow-empty"},
		{"fleet apply -y -f " + t.TempDir(), 1, nil, "no files"},
		{"fleet apply -y --soak 50s -f " + net("1300"), 1, nil, "--soak 50s: expected less than half of --confirm-timeout (1m0s)"},
		{"fleet apply -y --max-unavailable 1 -f " + net("1300"), 0, []string{"wave 1 of 1, 2 agents: COMMIT"}, ""},
		{"fleet apply -y --max-unavailable 0% -f " + net("1300"), 1, nil, `--max-unavailable: "0%", expected a number of agents or a percentage, such as 2 or 10%`},
		{"fleet apply -y --max-unavailable 50% --soak 25s -f " + net("1300"), 1, nil, "--max-unavailable 50%: a wave of 2 agents, 1 at a time with --soak 25s, takes 50s, expected at most three quarters of --confirm-timeout (1m0s)"},
		{"fleet apply -y --waves x -f " + net("1300"), 1, nil, `--waves: "x", expected numbers of agents and percentages`},
	} {
		r := agentctl(step.line)
		if r.code != step.code || !strings.Contains(r.err, step.err) {
			t.Errorf("%s: exit %d, expected %d and %q:\n%s%s", step.line, r.code, step.code, step.err, r.out, r.err)
		}
		for _, line := range step.out {
			if !strings.Contains("\n"+r.out, "\n"+line) {
				t.Errorf("%s: no line %q in\n%s%s", step.line, line, r.out, r.err)
			}
		}
	}
}

var updateFleet = flag.Bool("update-fleet", false, "write the outputs of docs/fleet.md")

// The rollouts of docs/fleet.md are as the page shows them. The blocks are "text", since they need agents.
func TestFleetDocument(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(fleetFile)
	infratest.Fatal(t, err)
	server := kvtest.Etcd(t)
	env := map[string]string{"ETCD_ENDPOINTS": server.Direct}
	for _, label := range []string{"edge-1", "edge-2"} {
		startMember(t, label, server.Direct)
	}
	for n := 0; n != 2; {
		n = strings.Count(run(t, env, "fleet", "agents").out, "edge-")
		infratest.Fatal(t, t.Context().Err())
	}
	net, program := filesOf(t, string(text), "net/"), agentProgram(t)
	host, err := os.Hostname()
	infratest.Fatal(t, err)
	env["USER"] = "ann"
	checkSection(t, "## Rollouts\n", func(line string) (string, bool) {
		if strings.HasPrefix(line, "fleet rehearse") {
			line += " --program " + program
		}
		var r result
		for { // an agent writes its status after its report
			r = runAt(t, time.Now, env, words(strings.ReplaceAll(line, "net/", net))...)
			if line != "fleet history edge-1" || strings.Contains(r.out, "undo") || t.Context().Err() != nil {
				break
			}
		}
		if r.code != 0 && r.code != exit.CodeFinding && !strings.Contains(line, "--fault") {
			t.Errorf("%s: exit %d\n%s", line, r.code, r.err)
		}
		out := strings.ReplaceAll(r.out, host, "host")
		return durations.ReplaceAllString(stamps.ReplaceAllString(out, "2026-11-20 10:15:00"), "3s"), true
	})
}

// The times in outputs.
var (
	durations = regexp.MustCompile(`\b[0-9]+s\b`)
	stamps    = regexp.MustCompile(`\b[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}\b`)
)

// checkSection compares the blocks of "text" in a section of the page with what their command lines print; output is
// not asked for the lines that it does not know. -update-fleet writes them.
func checkSection(t *testing.T, heading string, output func(line string) (out string, known bool)) {
	t.Helper()
	fleetPage.Lock()
	text, err := os.ReadFile(fleetFile)
	fleetPage.Unlock()
	infratest.Fatal(t, err)
	_, section, ok := strings.Cut(string(text), heading)
	if !ok {
		t.Fatalf("the page has no section %q", heading)
	}
	section, _, _ = strings.Cut(section, "\n## ")
	shown := textBlocks.ReplaceAllStringFunc(section, func(block string) string {
		var b strings.Builder
		b.WriteString("```text\n")
		for line := range strings.Lines(block) {
			command, ok := strings.CutPrefix(line, "$ agentctl ")
			if !ok {
				continue
			}
			b.WriteString(line)
			out, known := output(strings.TrimSpace(command))
			if !known {
				t.Errorf("the page has an unknown command line: %s", line)
			}
			b.WriteString(out)
		}
		return b.String() + "```"
	})
	if *updateFleet {
		fleetPage.Lock()
		defer fleetPage.Unlock()
		text, err := os.ReadFile(fleetFile) // another test may have written it
		infratest.Fatal(t, err)
		infratest.Fatal(t, os.WriteFile(fleetFile, []byte(strings.Replace(string(text), section, shown, 1)), 0o600))
		return
	}
	if strings.Join(strings.Fields(shown), " ") != strings.Join(strings.Fields(section), " ") { // the columns are as wide as the name of the host
		t.Errorf("the page shows other outputs (-update-fleet writes them):\n%s", shown)
	}
}

// fleetFile is docs/fleet.md, which several tests write with -update-fleet.
const fleetFile = "../../../docs/fleet.md"

var fleetPage sync.Mutex

var textBlocks = regexp.MustCompile("(?s)```text\n.*?```")

// filesOf writes the files of a page below a directory of the page, and returns where.
func filesOf(t *testing.T, page, dir string) string {
	t.Helper()
	to := t.TempDir()
	files := regexp.MustCompile("(?s)<!-- file: "+dir+"([a-z.]+) -->\n```yaml\n(.*?)```").FindAllStringSubmatch(page, -1)
	if len(files) == 0 {
		t.Fatalf("the page has no files in %s", dir)
	}
	for _, f := range files {
		infratest.Fatal(t, os.WriteFile(filepath.Join(to, f[1]), []byte(f[2]), 0o600))
	}
	return to
}
