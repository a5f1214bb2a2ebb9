package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/cmdutil"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/output"
	vppagent "github.com/tenuto-dev/tenuto/cmd/vpp-agent/app"
	"github.com/tenuto-dev/tenuto/infra/agent"
	"github.com/tenuto-dev/tenuto/infra/agent/agenttest"
	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/infra/infratest"
	"github.com/tenuto-dev/tenuto/infra/kv/kvtest"
)

// startAgent starts an agent with simulated southbounds that publishes its address in etcd.
func startAgent(t *testing.T, label, etcd string) (stop func()) {
	t.Helper()
	return startAgentWith(t, label, "etcd.conf", "endpoints: ['"+etcd+"']\ndial-timeout: 1m\noperation-timeout: 1m\n")
}

// startAgentWith is startAgent for the store of a configuration file.
func startAgentWith(t *testing.T, label, storeFile, storeConf string) (stop func()) {
	t.Helper()
	return startAgentConfigured(t, label, map[string]string{storeFile: storeConf})
}

// startAgentConfigured starts an agent with simulated southbounds and configuration files.
func startAgentConfigured(t *testing.T, label string, files map[string]string) (stop func()) {
	t.Helper()
	dir := t.TempDir()
	files = maps.Clone(files)
	files["http.conf"], files["grpc.conf"] = "endpoint: 127.0.0.1:0\n", "endpoint: 127.0.0.1:0\n"
	for name, conf := range files {
		infratest.Fatal(t, os.WriteFile(filepath.Join(dir, name), []byte(conf), 0o600))
	}
	plugins, err := vppagent.New()
	infratest.Fatal(t, err)
	a := agenttest.New(t, agent.AllPlugins(plugins), agent.Args("--config-dir", dir, "--simulate", "--microservice-label", label))
	infratest.Fatal(t, a.Start(t.Context()))
	return func() {
		if err := a.Stop(); err != nil {
			t.Error(err)
		}
	}
}

// awaitTarget waits until an agent is published, or is no longer.
func awaitTarget(t *testing.T, env map[string]string, label string, published bool) {
	t.Helper()
	for {
		if r := run(t, env, "targets", label); (r.code == 0) == published {
			return
		}
		if t.Context().Err() != nil {
			t.Fatalf("agent %s: still not published: %v", label, published)
		}
	}
}

func TestTargets(t *testing.T) {
	t.Parallel()
	server := kvtest.Etcd(t)
	env := map[string]string{"ETCD_ENDPOINTS": server.Direct}
	startAgent(t, "edge-1", server.Direct)
	stop := startAgent(t, "edge-2", server.Direct)
	for _, label := range []string{"edge-1", "edge-2"} {
		awaitTarget(t, env, label, true)
	}
	agentctl := func(line string) result { return run(t, env, words(line)...) }
	if r := agentctl("kvdb put /vnf-agent/core/config/x {}"); r.code != 0 { // an agent that does not run
		t.Fatal(r.err)
	}
	net := write(t, "net.yaml", "vppConfig:\n  interfaces:\n  - {name: loop1, type: SOFTWARE_LOOPBACK}\n")
	bad := write(t, "bad.yaml", "vppConfig:\n  interfaces:\n  - {name: loop1, mtuu: 1}\n")
	for _, step := range []struct {
		line string
		code int
		out  []string // lines of the output
		err  string
	}{
		{"targets -o name", 0, []string{"edge-1", "edge-2"}, ""},
		{"targets edge-*2 -o jsonpath=$[*].label", 0, []string{"edge-2"}, ""},
		// All of them, some of them, one of them.
		{"--target edge-1,edge-2 plan " + net, 2, []string{"edge-1: 1 item to create (1 operation)", "edge-2: 1 item to create (1 operation)"}, "found on 2 of 2 agents: edge-1, edge-2"},
		{"--target edge-2,edge-1 apply -y " + net, 0, []string{"edge-1: OK: 1 of 1 in effect", "edge-2: OK: 1 of 1 in effect"}, ""},
		{"--target edge-* values -o name", 0, []string{"edge-1: vpp.interfaces/loop1", "edge-2: vpp.interfaces/loop1"}, ""},
		{"--target edge-* config get -o jsonpath=$..name", 0, []string{"edge-1: loop1", "edge-2: loop1"}, ""}, // over gRPC
		{"--target edge-1 get vpp.interfaces/loop1 -o name", 0, []string{"vpp.interfaces/loop1"}, ""},
		{"--target edge-[2-9] get vpp.interfaces/loop1 -o name", 0, []string{"edge-2: vpp.interfaces/loop1"}, ""},
		// An agent that should run is named.
		{"targets", 0, []string{"edge-1 ", "edge-2 "}, `WARNING: no agent with the label "core" publishes its address in the store; the store has keys of this label`},
		{"--target * values -o name", 1, []string{"edge-1: vpp.interfaces/loop1", "edge-2: vpp.interfaces/loop1"}, `core: ERROR: no agent with the label "core" publishes its address`},
		{"--target all values -o name", 1, []string{"edge-1: vpp.interfaces/loop1"}, "1 of 3 agents failed: core"},
		// Failures, of all and of some.
		{"--target edge-* apply -y " + bad, 1, nil, "2 of 2 agents failed: edge-1, edge-2"},
		{"--target edge-1,edge-9 values -o name", 1, []string{"edge-1: vpp.interfaces/loop1"}, `edge-9: ERROR: no agent with the label "edge-9" publishes its address in the store; did you mean "edge-1"?`},
		{"--target edge-9,edge-1 values -o name", 1, nil, "1 of 2 agents failed: edge-9"},
		{"--target edge-1 get vpp.interfaces/nosuch", 1, nil, "ERROR: there is no value"},
		{"--target core status", 1, nil, `no agent with the label "core" publishes its address`},
		{"--target west-* status", 1, nil, "no agent with the label west-* publishes its address"},
		{"--target [ status", 125, nil, "malformed pattern"},
		{"--target edge-1,edge-2 values --orgin x", 125, nil, "unknown flag"},
		{"--target edge-1,edge-2 dump all --view x", 125, nil, "expected cached, NB or SB"},
		// What is not for several agents, or for none.
		{"--target edge-1,edge-2 top", 125, nil, "--target: 'agentctl top' is for one agent at a time"},
		{"--target edge-1,edge-2 edit vpp.interfaces/loop1", 125, nil, "'agentctl edit' is for one agent at a time"},
		{"--target * graph --out x.svg", 125, nil, "'agentctl graph' is for one agent at a time"},
		{"--target edge-1 kvdb list", 125, nil, "--target: 'agentctl kvdb list' asks no agent"},
		{"--target edge-1 import x", 125, nil, "'agentctl import' asks no agent"},
		{"--target edge-1 check " + net, 125, nil, "'agentctl check' asks no agent"},
		{"--target edge-1 --host h status", 125, nil, "--target, --host: expected one of them"},
		{"__complete --target edge-1,e", 0, []string{"edge-1,edge-1", "edge-1,edge-2"}, ""},
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
	targetsAsData(t, env)
	sharedInput(t, env, net)
	wrongAgent(t, env)
	stop()
	awaitTarget(t, env, "edge-2", false)
}

// Agents are found in each kind of store.
func TestTargetsInOtherStores(t *testing.T) {
	t.Parallel()
	t.Run("Redis", func(t *testing.T) {
		t.Parallel()
		server := kvtest.Redis(t)
		targetsIn(t, "redis", server.Direct, "redis.conf", "endpoint: "+server.Direct+"\n", func() {
			left, err := strconv.Atoi(strings.Trim(server.Reply("PTTL", "/vnf-agent/edge-1/info/v1/agent"), ":\r\n"))
			if err != nil || left <= 0 || left > 30_000 {
				t.Errorf("the entry of a crashed agent would remain for %d ms, %v; expected at most 30 s", left, err)
			}
		})
	})
	t.Run("Consul", func(t *testing.T) {
		t.Parallel()
		server := kvtest.Consul(t)
		targetsIn(t, "consul", server.Direct, "consul.conf", "address: "+server.Direct+"\n", func() {
			resp, err := http.Get("http://" + server.Direct + "/v1/kv/vnf-agent/edge-1/info/v1/agent")
			infratest.Fatal(t, err)
			defer resp.Body.Close()
			var entries []struct{ Session string }
			if err := json.NewDecoder(resp.Body).Decode(&entries); err != nil || len(entries) != 1 || entries[0].Session == "" {
				t.Errorf("the entry %+v, %v: expected one with a session, which ends after a crash", entries, err)
			}
		})
	})
}

// targetsIn finds agents in the store at a URL.
func targetsIn(t *testing.T, scheme, address, storeFile, storeConf string, published func()) {
	t.Helper()
	store := scheme + "://" + address
	env := map[string]string{"AGENTCTL_STORE": store}
	startAgentWith(t, "edge-1", storeFile, storeConf)
	stop := startAgentWith(t, "edge-2", storeFile, storeConf)
	for _, label := range []string{"edge-1", "edge-2"} {
		awaitTarget(t, env, label, true)
	}
	published()
	for _, step := range []struct {
		line string
		code int
		out  string
		err  string
	}{
		{"targets -o name", 0, "edge-1\nedge-2\n", ""},
		{"--store " + store + " targets edge-*2 -o name", 0, "edge-2\n", ""},
		{"--target * values -o name", 0, "", ""},
		{"kvdb put /vnf-agent/core/config/x {}", 0, "OK\n", ""},
		{"kvdb get /vnf-agent/core/config/x", 0, "{}\n", ""},
		{"targets core", 1, "", `no agent with the label "core" publishes its address in the store`},
		{"targets edge-3", 1, "", "did you mean"},
		{"targets west-*", 1, "", "no agent with the label west-* publishes its address in the store at " + store},
		{"--store " + scheme + "://user:secret@ targets", 1, "", "expected host:port after the scheme"},
		{"--store ftp://" + address + " targets", 1, "", "expected etcd://HOST:PORT"},
		{"--store " + store + " --etcd-endpoints " + address + " targets", 125, "", "--store, --etcd-endpoints: expected one of them"},
	} {
		r := run(t, env, words(step.line)...)
		if r.code != step.code || step.out != "" && r.out != step.out || !strings.Contains(r.err, step.err) || strings.Contains(r.err, "secret") {
			t.Errorf("%s: exit %d, expected %d, %q and %q:\n%s%s", step.line, r.code, step.code, step.out, step.err, r.out, r.err)
		}
	}
	stop()
	awaitTarget(t, env, "edge-2", false)
}

// With -o json there is one list, with the output and the error of each agent.
func targetsAsData(t *testing.T, env map[string]string) {
	t.Helper()
	for _, format := range []string{"json", "yaml"} {
		r := run(t, env, "--target", "edge-1,edge-9", "values", "-o", format)
		text := []byte(r.out)
		if format == "yaml" {
			var data any
			infratest.Fatal(t, yaml.Unmarshal(text, &data))
			var err error
			text, err = json.Marshal(data)
			infratest.Fatal(t, err)
		}
		var results []struct {
			Target, Address, Error string
			ExitCode               int `json:"exitCode"`
			Output                 []map[string]any
		}
		if err := json.Unmarshal(text, &results); err != nil {
			t.Fatalf("%v in\n%s", err, r.out)
		}
		ok := len(results) == 2 && results[0].Target == "edge-1" && results[0].Address != "" && results[0].ExitCode == 0 && len(results[0].Output) > 0
		if !ok || results[1].ExitCode != 1 || !strings.Contains(results[1].Error, `did you mean "edge-1"?`) || r.code != 1 {
			t.Errorf("-o %s: exit %d\n%s", format, r.code, r.out)
		}
	}
}

// All agents get what the standard input has.
func sharedInput(t *testing.T, env map[string]string, file string) {
	t.Helper()
	in, err := os.ReadFile(file)
	infratest.Fatal(t, err)
	var out, errs bytes.Buffer
	f := cmdutil.NewFactory(Streams{Out: &out, Err: &errs}, config.EnvMap(env), time.Now, output.Terminal{})
	f.In = bytes.NewReader(in)
	if code := execute(t.Context(), f, []string{"--target", "edge-*", "plan", "-"}); code != 0 || strings.Count(out.String(), "edge-") < 2 {
		t.Errorf("exit %d\n%s%s", code, &out, &errs)
	}
}

// Nothing is asked of an agent that is not the one with the label.
func wrongAgent(t *testing.T, env map[string]string) {
	t.Helper()
	r := run(t, env, "targets", "edge-1", "-o", "json")
	var list []json.RawMessage
	if err := json.Unmarshal([]byte(r.out), &list); err != nil || len(list) != 1 {
		t.Fatalf("%v: %s", err, r.out)
	}
	for _, change := range []struct{ label, old, with, want string }{
		{"edge-3", `"edge-1"`, `"edge-3"`, `has the label "edge-1", not "edge-3"; set http-endpoint in the announce.conf of edge-3`},
		{"edge-1", `"instance":"`, `"instance":"x`, "it was restarted now, or another agent has its address"},
		{"edge-3", `"http"`, `"htp"`, "serves no HTTP on TCP"},
		{"edge-3", `127.0.0.1:`, `127.0.0.1/`, "expected host:port"},
		{"edge-3", `{`, `[`, "agent/edge-3/info/v1/agent"},
	} {
		var compact bytes.Buffer
		infratest.Fatal(t, json.Compact(&compact, list[0]))
		text := strings.Replace(compact.String(), change.old, change.with, 1)
		if r := run(t, env, "kvdb", "put", "/vnf-agent/"+change.label+"/info/v1/agent", text); r.code != 0 {
			t.Fatal(r.err)
		}
		if r := run(t, env, "--target", change.label, "status"); r.code != 1 || r.out != "" || !strings.Contains(r.err, change.want) {
			t.Errorf("with %s: exit %d, %s%s, expected %q", text, r.code, r.out, r.err, change.want)
		}
	}
	if r := run(t, env, "kvdb", "del", "/vnf-agent/edge-3/info/v1/agent"); r.code != 0 {
		t.Error(r.err)
	}
}

// Commands that do not run on every agent say so, and their subcommands with them.
func TestTargetRules(t *testing.T) {
	t.Parallel()
	want := map[string]cmdutil.TargetRule{
		"config watch": cmdutil.FollowTarget, "service call": cmdutil.FollowTarget,
		"edit": cmdutil.OneTarget, "login": cmdutil.OneTarget, "logout": cmdutil.OneTarget, "report": cmdutil.OneTarget, "top": cmdutil.OneTarget, "vpp pcap": cmdutil.OneTarget,
		"check": cmdutil.NoTarget, "completion bash": cmdutil.NoTarget, "context set": cmdutil.NoTarget, "kvdb get": cmdutil.NoTarget,
		"options": cmdutil.NoTarget, "put": cmdutil.NoTarget, "targets": cmdutil.NoTarget, "help": cmdutil.NoTarget, "": cmdutil.NoTarget,
		"import": cmdutil.NoTarget, "import --grpc": cmdutil.EachTarget, "values": cmdutil.EachTarget, "values --watch": cmdutil.FollowTarget, "values --watch=false": cmdutil.EachTarget,
		"plan": cmdutil.EachTarget, "plan --out=x": cmdutil.OneTarget, "graph": cmdutil.EachTarget, "graph --out=x": cmdutil.OneTarget,
	}
	for line, rule := range want {
		cmd, flags, err := Commands().Find(strings.Fields(line))
		if err = errors.Join(err, cmd.ParseFlags(flags)); err != nil {
			t.Errorf("%s: %v", line, err)
		}
		if got := cmdutil.TargetRuleOf(cmd); got != rule {
			t.Errorf("%q: rule %q, expected %q", line, got, rule)
		}
	}
}

// A variable for all commands does not prevent those that ask no agent.
func TestTargetVariable(t *testing.T) {
	t.Parallel()
	run(t, map[string]string{"AGENTCTL_TARGET": "a,b"}, "kvdb", "keygen", filepath.Join(t.TempDir(), "key.pem")).wants(t, 0, "")
	f := newFakeAgent(t)
	f.run(t, map[string]string{"AGENTCTL_TARGET": "a,b"}, "log", "list").wants(t, 0, "")
}
