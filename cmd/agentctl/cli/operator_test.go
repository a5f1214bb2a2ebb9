package cli

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/known/durationpb"

	vppagent "github.com/tenuto-dev/tenuto/cmd/vpp-agent/app"
	"github.com/tenuto-dev/tenuto/infra/agent"
	"github.com/tenuto-dev/tenuto/infra/infratest"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/response"
)

// write writes a file into a directory of the test and returns its path.
func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	infratest.Fatal(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// runAgent is vpp-agent.
func runAgent(args []string) (code int) {
	plugins, err := vppagent.New()
	if err == nil {
		err = agent.NewAgent(agent.AllPlugins(plugins), agent.Args(args...)).Run()
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "ERROR: %v\n", err)
		return 1
	}
	return 0
}

// agentProgram returns the program of vpp-agent.
func agentProgram(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	infratest.Fatal(t, err)
	file := filepath.Join(t.TempDir(), "vpp-agent")
	infratest.Fatal(t, infratest.Script(file, "#!/bin/sh\n"+asAgent+"=1 exec '"+self+"' \"$@\"\n"))
	return file
}

// check needs no agent and finds mistakes of all kinds, with their lines.
func TestCheck(t *testing.T) {
	t.Parallel()
	program := agentProgram(t)
	const loop = "vppConfig:\n  interfaces:\n  - {name: loop1, type: SOFTWARE_LOOPBACK}\n"
	both := func(a, b string) string {
		const item = "  - {name: %s, type: SOFTWARE_LOOPBACK, enabled: true, ipAddresses: [%s]}\n"
		return "vppConfig:\n  interfaces:\n" + fmt.Sprintf(item+item, "a", a, "b", b)
	}
	for _, c := range []struct {
		text, want string
		code       int
	}{
		{loop, "OK: 1 items\n", 0},
		{loop + "  - name: loop2\n    type: SOFTWARE_LOOPBACK\n    ipAddresses:\n    - 10.0.0.1/24\n    - 10.300.0.1/24\n",
			`FILE:8:7: vpp.interfaces/loop2: ip_addresses[1]: "10.300.0.1/24": expected an IP address`, 1},
		{loop + "tutorialConfig:\n  Host_list: []\n", "agentctl check --models models.json", 1},
		{loop + "    mtu: 1\n", "FILE:4:5: malformed YAML: expected a field with the indentation", 1},
		{loop + "  bridgeDomains:\n  - name: bd1\n    interfaces: [{name: loop1}, {name: tap9}]\n",
			"FILE:6:40: vpp.l2.bridge-domain/bd1: interfaces[1].name: there is no vpp.interfaces/tap9 in this file\n", 2},
		{both("10.0.0.1/24", "10.0.1.1/24"), "OK: 2 items\n", 0},
		{both("10.0.0.1/24", "10.0.0.2/24"), "error: FILE:4:69: vpp.interfaces/b: ip_addresses[0]: 10.0.0.2/24 overlaps 10.0.0.1/24 of interface a in VRF 0\nERROR: FILE is refused: 1 mistake\n", 1},
		{both("10.0.0.1/24", "10.0.300.2/24"), "expected an IP address", 1},
		{strings.Replace(both("10.0.0.1/24", "10.0.1.2/24"), "enabled: true", "enabled: false", 1),
			"OK: 2 items, 1 with a likely mistake\nwarning: FILE:3:70: vpp.interfaces/a: ip_addresses[0]: the interface has addresses, but enabled is not set: it is down\n", 0},
		{both("10.0.0.1/24", "10.0.0.2/24") + "  - {name: c, type: SOFTWARE_LOOPBACK, mtu: 99999}\n", "FILE is refused: 2 mistakes", 1},
	} {
		file := write(t, "net.yaml", c.text)
		r := run(t, nil, "check", "--program", program, file)
		if got := strings.ReplaceAll(r.out+r.err, file, "FILE"); r.code != c.code || !strings.Contains(got, c.want) {
			t.Errorf("%s\nexit %d, expected %d and %s:\n%s", c.text, r.code, c.code, c.want, got)
		}
	}
}

// TestCheckWithoutProgram checks that errors of the program are printed, and where it is looked for.
func TestCheckWithoutProgram(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	file := write(t, "net.yaml", "vppConfig: {}\n")
	broken := filepath.Join(t.TempDir(), "broken")
	infratest.Fatal(t, infratest.Script(broken, "#!/bin/sh\necho 'ERROR: no way' >&2; exit 1\n"))
	talking := filepath.Join(t.TempDir(), "talking")
	infratest.Fatal(t, infratest.Script(talking, "#!/bin/sh\necho OK\n"))
	for want, args := range map[string][]string{
		"'check' runs the program vpp-agent, which is neither next to agentctl nor in PATH (--program)": {file},
		broken + " check: no way":                                  {"--program", broken, file},
		talking + " check: expected a result in JSON":              {"--program", talking, file},
		"/nonexistent check: fork/exec /nonexistent: no such file": {"--program", "/nonexistent", file},
		"models.json: no such file":                                {"--models", "models.json", file},
	} {
		if r := run(t, nil, append([]string{"check"}, args...)...); r.code != 1 || !strings.Contains(r.err, want) {
			t.Errorf("%q: exit %d, expected 1 and %s:\n%s", args, r.code, want, r.err)
		}
	}
}

// TestModelsOfNoAgent checks that an error about an unknown model says why the models of the
// agent are unknown.
func TestModelsOfNoAgent(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"explain", "tutorial.hosts"}, {"dump", "tutorial.hosts"}} {
		r := run(t, nil, append([]string{"--http-port", "1"}, args...)...)
		if r.code == 0 || !strings.Contains(r.err, "no agent answers at http://127.0.0.1:1") {
			t.Errorf("%q: exit %d, %s", args, r.code, r.err)
		}
	}
	r := run(t, nil, "--http-port", "1", "model", "list", "vpp.l2.fib")
	if r.code != 0 || !strings.Contains(r.err, "These are the models of vpp-agent; the models of this agent are unknown: no agent answers") {
		t.Errorf("model list: exit %d, %s", r.code, r.err)
	}
	r = newFakeAgent(t).run(t, nil, "explain", "tutorial.hosts")
	if r.code == 0 || strings.Contains(r.err, "vpp-agent") {
		t.Errorf("with an agent: exit %d, %s", r.code, r.err)
	}
}

// With -o the output is a list of what was found, empty if that is nothing.
func TestCheckForPrograms(t *testing.T) {
	t.Parallel()
	program := agentProgram(t)
	const loop = "vppConfig:\n  interfaces:\n  - {name: loop1, type: SOFTWARE_LOOPBACK}\n"
	waiting := write(t, "net.yaml", loop+"  bridgeDomains:\n  - name: bd1\n    forward: true\n    interfaces: [{name: loop1}, {name: tap9}]\n")
	wrong := write(t, "net.yaml", loop+"    mtuu: 1\n  - {name: 7, ip: 1}\n")
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{write(t, "net.yaml", loop), "-o", "json"}, 0, "[]\n"},
		{[]string{"-f", write(t, "net.yaml", loop), "-o", "name"}, 0, ""},
		{[]string{waiting, "-o", "yaml"}, 2, "- file: " + waiting + "\n  line: 7\n  column: 40\n  key: config/vpp/l2/v2/bridge-domain/bd1\n  field: interfaces[1].name\n  state: PENDING\n" +
			"  message: there is no vpp.interfaces/tap9 in this file\n"},
		{[]string{waiting, "-o", "name"}, 2, "vpp.l2.bridge-domain/bd1\n"},
		{[]string{wrong, "-o", "jsonpath={range [*]}{.line}:{.column} {.message}\\n{end}"}, 1, "4:5 malformed YAML"},
		{[]string{wrong, "-o", "xml"}, 125, ""},
	} {
		r := run(t, nil, append([]string{"check", "--program", program}, c.args...)...)
		if r.code != c.code || !strings.HasPrefix(r.out, c.want) || c.want == "" && r.out != "" {
			t.Errorf("%q: exit %d, expected %d and\n%s\nprinted\n%s%s", c.args, r.code, c.code, c.want, r.out, r.err)
		}
	}
}

// edit applies what the editor made of an item, and nothing if that is nothing.
func TestEdit(t *testing.T) {
	t.Parallel()
	for editor, want := range map[string]string{
		"sed -i s/1500/9000/": "transaction 12", "true": "nothing was changed", "false": `editor "false" ($VISUAL, $EDITOR): exit status 1`,
		"sed -i s/mtu/mtuu/":    "mtuu: unknown field",
		"sed -i s/loop7/loop9/": "the saved text has vpp.interfaces/loop9 instead of vpp.interfaces/loop7, and edit renames no items",
		"sed -i '/^vpp/,$d'":    "the saved text lacks vpp.interfaces/loop7, and edit removes no items",
		`printf '%s\n' --- vppConfig: '  interfaces:' '  - name: loop8' | tee -a`: "transaction 12",
	} {
		f := newFakeAgent(t)
		r := f.run(t, map[string]string{"EDITOR": editor}, "edit", "vpp.interfaces/loop7", "--verify")
		if !strings.Contains(r.out+r.err, want) {
			t.Errorf("%s: exit %d\n%s%s", editor, r.code, r.out, r.err)
		}
		if strings.Contains(want, "edit re") && f.asked(1).path != "" {
			t.Errorf("%s: requested %+v", editor, f.asked(1))
		}
		if _, file, kept := strings.Cut(r.err, "(your text is in "); kept {
			infratest.Fatal(t, os.Remove(strings.TrimSuffix(file, ")\n")))
		}
		if strings.Contains(editor, "9000") && !strings.Contains(f.asked(1).body, "vppConfig:\n  interfaces:\n  -\n    name: loop7\n    mtu: 9000\n") {
			t.Errorf("applied\n%s", f.asked(1).body)
		}
	}
}

// TestEditConflict checks that edit does not undo what another client changes meanwhile.
func TestEditConflict(t *testing.T) {
	t.Parallel()
	f := newFakeAgent(t)
	var reads atomic.Int32
	f.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/configuration/items" && reads.Add(1) == 2 {
			_, _ = w.Write([]byte(`[{"key": "config/vpp/v2/interfaces/loop7", "value": "name: loop7\nmtu: 1600\n"}]`))
			return
		}
		f.serve(w, r)
	})
	r := f.run(t, map[string]string{"EDITOR": "sed -i s/1500/9000/"}, "edit", "vpp.interfaces/loop7")
	_, file, kept := strings.Cut(r.err, "(your text is in ")
	if r.code != 1 || !kept || !strings.Contains(r.err, "nothing was applied: the items were changed while they were edited") || strings.Contains(r.out, "transaction") {
		t.Fatalf("exit %d\n%s%s", r.code, r.out, r.err)
	}
	infratest.Fatal(t, os.Remove(strings.TrimSuffix(file, ")\n")))
}

// A context has the settings of an agent; the comments of the file stay.
func TestContexts(t *testing.T) {
	t.Parallel()
	f := newFakeAgent(t)
	host, port, _ := strings.Cut(strings.TrimPrefix(f.URL, "http://"), ":")
	file := write(t, "config.yaml", "# mine\nhost: 192.0.2.1\ntimeout: 1m\n")
	agentctl := func(args ...string) result { return run(t, nil, append([]string{"--config", file}, args...)...) }
	if r := agentctl("context", "list", "-o", "json"); r.code != 0 || r.out != "[]\n" {
		t.Errorf("no contexts: exit %d, %s%s", r.code, r.out, r.err)
	}
	if r := agentctl("context", "set", "lab", "host="+host, "http-port="+port); r.code != 0 {
		t.Fatal(r.err)
	}
	agentctl("--context", "lab", "log", "list").wants(t, 0, "")
	if r := agentctl("context", "use", "lab"); r.code != 0 {
		t.Error(r.err)
	}
	agentctl("log", "list").wants(t, 0, "")
	if r := agentctl("context", "list"); !strings.Contains(r.out, "*         lab    "+host) {
		t.Errorf("%s%s", r.out, r.err)
	}
	for command, want := range map[string]string{
		"context use lba": `no context "lba"; did you mean "lab"?`, "--context x version": "'agentctl context set x host=ADDRESS' adds it",
		"context set lab hots=x": `did you mean "host"?`, "context set lab host": "expected KEY=VALUE", "context delete x": `no context "x"`,
	} {
		if r := agentctl(strings.Fields(command)...); r.code == 0 || !strings.Contains(r.err, want) {
			t.Errorf("%s: exit %d, %s", command, r.code, r.err)
		}
	}
	if r := agentctl("context", "delete", "lab"); r.code != 0 {
		t.Error(r.err)
	}
	if text, err := os.ReadFile(file); err != nil || !strings.HasPrefix(string(text), "# mine\nhost: 192.0.2.1\n") || strings.Contains(string(text), "lab") {
		t.Errorf("%v\n%s", err, text)
	}
}

// newCustomAgent returns an agent that answers as others do, but has a single model, which
// agentctl was not built with.
func newCustomAgent(t *testing.T) *fakeAgent {
	t.Helper()
	file := protodesc.ToFileDescriptorProto((&durationpb.Duration{}).ProtoReflect().Descriptor().ParentFile())
	file.Name, file.Package = proto.String("mine/host.proto"), proto.String("mine")
	file.MessageType[0].Name = proto.String("Host")
	files, err := proto.Marshal(&descriptorpb.FileDescriptorSet{File: []*descriptorpb.FileDescriptorProto{file}})
	infratest.Fatal(t, err)
	models := response.Models{Descriptors: files, Models: []response.Model{
		{Name: "mine.hosts", Class: "config", Module: "mine", Type: "hosts", Version: "v1", KeyPrefix: "config/mine/v1/hosts/", ProtoName: "mine.Host", ProtoFile: "mine/host.proto",
			Schema: "syntax = \"proto3\";\npackage mine;\n// Host is a name.\nmessage Host {\n  // Whole seconds of a host.\n  int64 seconds = 1;\n  int32 nanos = 2;\n}\n"},
	}}
	fake := newFakeAgent(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/info/models" {
			answer := models
			if !r.URL.Query().Has("descriptors") {
				answer.Descriptors, answer.Models = nil, slices.Clone(models.Models)
				answer.Models[0].Schema = ""
			}
			_ = json.NewEncoder(w).Encode(answer)
			return
		}
		fake.serve(w, r)
	}))
	t.Cleanup(server.Close)
	return &fakeAgent{Server: server}
}

// agentctl gets models that it was not built with from the agent, as descriptors.
func TestCustomModels(t *testing.T) {
	t.Parallel()
	f := newCustomAgent(t)
	for command, want := range map[string]string{
		"model list":                    "mine.hosts   config   mine.Host       config/mine/v1/hosts/\n",
		"explain mine.hosts":            "  seconds  <int64>",
		"explain mine.hosts -o json":    `"about": "Host is a name."`,
		"explain mine.hosts.seconds":    "Whole seconds of a host.",
		"generate mine.hosts":           "# Host is a name.\nmineConfig:\n  HostList:\n  -\n    # Whole seconds of a host.\n    seconds: 0\n",
		"generate mine.hosts -o json":   `"seconds": "0"`,
		"explain mine.host":             `no model "mine.host", did you mean "mine.hosts"?`,
		"why mine.hosts/":               "no model has keys like",
		"__complete dump mi":            "mine.hosts",
		"model inspect mine.hosts":      `"ProtoFile": "mine/host.proto"`,
		"model list vpp.interfaces":     `no model "vpp.interfaces"`,
		"values mine.hosts -o name":     "",
		"explain mine.hosts.nanoss":     `did you mean "nanos"?`,
		"generate mine.hosts -o proto ": "seconds: 0",
	} {
		if r := f.run(t, nil, strings.Fields(command)...); !strings.Contains(r.out+r.err, want) {
			t.Errorf("%s: exit %d\n%s%s", command, r.code, r.out, r.err)
		}
	}
}

// The schema has the fields by the names that are asked for, with their comments.
func TestModelSchema(t *testing.T) {
	t.Parallel()
	for flag, want := range map[string][2]bool{"": {true, true}, "onlyjson": {true, false}, "onlyproto": {false, true}} {
		r := run(t, nil, "model", "schema", "--fieldnames", flag)
		var schema struct {
			Defs map[string]struct {
				Properties map[string]struct{ Description string }
			} `json:"$defs"`
		}
		if err := json.Unmarshal([]byte(r.out), &schema); err != nil || r.code != 0 {
			t.Fatalf("--fieldnames %q: exit %d, %v, %s", flag, r.code, err, r.err)
		}
		fields := schema.Defs["ligato.vpp.l2.FIBEntry"].Properties
		for i, name := range []string{"physAddress", "phys_address"} {
			if f, ok := fields[name]; ok != want[i] || ok && f.Description != "MAC address." {
				t.Errorf("--fieldnames %q: %s: %v, %+v", flag, name, ok, f)
			}
		}
	}
}
