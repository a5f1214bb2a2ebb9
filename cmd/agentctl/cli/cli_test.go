package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/cmdutil"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/exit"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/output"
	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/infra/infratest"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/allmodels"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/response"
)

// The variables that make the test a program: agentctl, for shells, or vpp-agent, for check.
const (
	asProgram = "TEST_IS_AGENTCTL"
	asAgent   = "TEST_IS_VPP_AGENT"
)

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		os.Exit(Run(context.Background(), os.Args[1:], Streams{Out: os.Stdout, Err: os.Stderr}, config.ProcessEnviron))
	}
	if os.Getenv(asAgent) != "" {
		os.Exit(runAgent(os.Args[1:]))
	}
	goleak.VerifyTestMain(m)
}

var update = flag.Bool("update", false, "write the outputs that the commands have now into testdata")

// asked is a request that the fake agent got.
type asked struct {
	method, path string
	query        url.Values
	body         string
	user         string
}

// fakeAgent answers with files, by method, path and some of the query.
type fakeAgent struct {
	*httptest.Server
	mu       sync.Mutex
	requests []asked
}

func newFakeAgent(t *testing.T) *fakeAgent {
	t.Helper()
	f := &fakeAgent{}
	f.Server = httptest.NewServer(http.HandlerFunc(f.serve))
	t.Cleanup(f.Close)
	return f
}

func (f *fakeAgent) serve(w http.ResponseWriter, r *http.Request) {
	body := new(bytes.Buffer)
	_, _ = body.ReadFrom(r.Body)
	user, _, _ := r.BasicAuth()
	if r.URL.Path != "/info/models" { // which most commands ask for
		f.mu.Lock()
		f.requests = append(f.requests, asked{r.Method, r.URL.Path, r.URL.Query(), body.String(), user})
		f.mu.Unlock()
	}
	status, file, text := answerTo(r, body.String())
	if file != "" {
		data, err := os.ReadFile(filepath.Join("testdata", "rest", file))
		if err != nil {
			status, data = http.StatusInternalServerError, []byte(err.Error())
		}
		text = string(data)
	}
	w.WriteHeader(status)
	_, _ = w.Write([]byte(text))
}

// asked returns a request; an empty one if there were fewer.
func (f *fakeAgent) asked(n int) asked {
	f.mu.Lock()
	defer f.mu.Unlock()
	if n >= len(f.requests) {
		return asked{}
	}
	return f.requests[n]
}

// knownModels are the models of vpp-agent, as it returns them.
func knownModels() (all response.Models) {
	for _, m := range allmodels.MustSet().All() {
		all.Models = append(all.Models, orchestrator.DescribeModel(m))
	}
	return all
}

func answerTo(r *http.Request, body string) (status int, file, text string) {
	q := r.URL.Query()
	switch r.Method + " " + r.URL.Path {
	case "GET /readiness":
		return http.StatusServiceUnavailable, "readiness.json", ""
	case "GET /info/models":
		text, _ := json.Marshal(knownModels())
		return http.StatusOK, "", string(text)
	case "GET /info/version":
		return http.StatusOK, "info-version.json", ""
	case "GET /scheduler/status":
		return http.StatusOK, "scheduler-status.json", ""
	case "GET /configuration/items":
		if q.Get("key") == "config/vpp/v2/interfaces/loop7" {
			return http.StatusOK, "", `[{"key": "config/vpp/v2/interfaces/loop7", "source": "grpc", "value": "name: loop7\nmtu: 1500\n",
				"shadowed": [{"source": "filedb", "location": "net.yaml:12", "value": "name: loop7\n"}]}]`
		}
		if q.Has("key") {
			return http.StatusOK, "", "[]"
		}
		return http.StatusOK, "", `[{"key": "config/vpp/l2/v2/bridge-domain/bd1", "source": "etcd"},
			{"key": "config/vpp/v2/interfaces/loop7", "source": "grpc", "shadowed": [{"source": "etcd"}]}]`
	case "GET /scheduler/dump":
		switch q.Get("key-prefix") {
		case "":
			return http.StatusOK, "dump-index.json", ""
		case "config/vpp/v2/interfaces/":
			return http.StatusOK, "dump-interfaces.json", ""
		}
		if q.Get("view") == "SB" {
			return http.StatusBadRequest, "", `{"error": "descriptor vpp-bridge-domain cannot read the southbound"}`
		}
		return http.StatusOK, "dump-bds.json", ""
	case "GET /scheduler/txn-history":
		return history(q)
	case "GET /scheduler/queue":
		return http.StatusOK, "", `{"Length": 3, "Capacity": 200, "Waiting": {"northbound": 2, "notifications": 1, "retries": 0}, "OldestAge": 1.2345,
			"Running": {"Class": "northbound", "Description": "PUT /configuration", "For": 2.5,
				"Progress": {"Phase": "retrieving", "Descriptor": "vpp-route", "Done": 620000}},
			"Changes": {"Capacity": 200, "Waiting": 201, "Clients": 200, "Sources": {"grpc": 200, "filedb": 1}, "Most": "10.0.0.7:999", "MostWaiting": 198, "OldestAge": 61,
				"Running": {"Source": "grpc", "What": "PUT /configuration", "For": 2.75}, "Refused": 12, "Canceled": 3}}`
	case "GET /scheduler/why":
		if key := q.Get("key"); strings.HasSuffix(key, "/gone") || strings.HasSuffix(key, "/lop7") {
			text := key + " NONEXISTENT: not configured"
			return http.StatusOK, "", map[string]string{"text": text + "\n", "json": fmt.Sprintf(`{"Key": %q, "State": "NONEXISTENT", "Reason": "not configured", "NotConfigured": true}`, key)}[q.Get("format")]
		} else if !strings.HasPrefix(key, "config/vpp/l2/") && !strings.HasPrefix(key, "config/vpp/v2/interfaces/") {
			return http.StatusOK, "", fmt.Sprintf(`{"Key": %q, "State": "NONEXISTENT", "Reason": "not configured", "Undescribed": true}`, key)
		}
		return http.StatusOK, map[string]string{"text": "why.txt", "json": "why.json"}[q.Get("format")], ""
	case "PUT /log/govpp/loud":
		return http.StatusBadRequest, "", `{"error": "level \"loud\": expected debug, info, warn or error"}`
	case "GET /metrics/govppmux.stats":
		return http.StatusOK, "", `{"channels_created": 1, "requests_sent": 7}`
	case "GET /scheduler/watch":
		return http.StatusOK, "watch.txt", ""
	case "GET /scheduler/wait":
		return wait(q)
	case "POST /scheduler/downstream-resync":
		if q.Get("verbose") != "" {
			return http.StatusOK, "", `{"SeqNum": 9, "Unread": [{"Descriptor": "vpp-arp", "Reason": "southbound \"vpp\" is disconnected"},
				{"Descriptor": "vpp-route", "Reason": "southbound \"vpp\" is disconnected"}]}`
		}
		return http.StatusOK, "resync.json", ""
	case "GET /scheduler/drift":
		if q.Get("detect") == "" {
			return http.StatusOK, "", `{"Values": 3, "Unread": [{"Descriptor": "vpp-route", "Reason": "southbound \"vpp\" is disconnected"}]}`
		}
		return http.StatusOK, "drift.json", ""
	case "POST /scheduler/drift":
		if q.Get("retry") == "" {
			return http.StatusOK, "", `{"Values": 1, "Drifts": [{"Key": "a", "Kind": "missing"}], "Repairs": [7], "Errors": ["a: refused"]}`
		}
		return http.StatusOK, "", `{"Values": 1, "Drifts": [{"Key": "a", "Kind": "missing"}], "Repairs": [7]}`
	case "GET /scheduler/key-timeline":
		if q.Get("key") != "config/vpp/l2/v2/bridge-domain/bd1" {
			return http.StatusNotFound, "", `{"error": "no such value in the graph nor in the history"}`
		}
		return http.StatusOK, "key-timeline.json", ""
	case "GET /scheduler/summary":
		return http.StatusOK, "summary.json", ""
	case "GET /scheduler/quarantine":
		return http.StatusOK, "quarantine.json", ""
	case "POST /scheduler/quarantine":
		if key := q.Get("key"); key == "x" || strings.HasSuffix(key, "/mmif1") {
			return http.StatusConflict, "", fmt.Sprintf(`{"error": "%s: not in quarantine"}`, key)
		}
		return http.StatusOK, "", `{"Suspects": []}`
	case "GET /scheduler/orphans":
		return http.StatusOK, "orphans.json", ""
	case "POST /scheduler/orphans":
		return removal(q)
	case "GET /topology":
		if q.Get("item") == "vpp.interfaces/none" {
			return http.StatusNotFound, "", `{"error": "parameter item: \"vpp.interfaces/none\": no such part of the network"}`
		} else if q.Get("contains") == "nothing" {
			return http.StatusOK, "", `{"total": 0, "grouped": false, "boxes": [], "nodes": [], "links": []}`
		}
		return http.StatusOK, "topology.json", ""
	case "GET /scheduler/graph":
		if q.Get("format") == "json" {
			return http.StatusOK, "drawing.json", ""
		}
		return http.StatusOK, "", "<" + q.Get("format") + " of " + fmt.Sprint(q["prefix"]) + " " + q.Get("txn") + "/>\n"
	case "POST /configuration/validate", "PUT /configuration":
		return configure(r, body)
	case "POST /scheduler/plan", "POST /scheduler/apply", "POST /scheduler/confirm", "POST /scheduler/cancel", "POST /scheduler/rollback":
		return planned(r, body)
	case "GET /configuration":
		return http.StatusOK, "configuration.yaml", ""
	case "GET /log/list":
		return http.StatusOK, "log-list.json", ""
	case "PUT /log/govpp/debug":
		return http.StatusOK, "", `{"logger": "govpp", "level": "debug"}`
	case "GET /metrics":
		return http.StatusOK, "", "# HELP a_total things\n# TYPE a_total counter\na_total{x=\"1\"} 2\na_total{x=\"2\"} 3\nb 1\n" +
			"# HELP vpp_interface_name_of_many_words_in_bytes Bytes that an interface has received since VPP was started. More is in the documentation.\n" +
			"# TYPE vpp_interface_name_of_many_words_in_bytes gauge\nvpp_interface_name_of_many_words_in_bytes 1\n"
	case "GET /info/simulated":
		return http.StatusOK, "", `{"simulated": ["vpp", "linux"]}`
	case "GET /vpp/capabilities":
		return http.StatusOK, "capabilities.json", ""
	case "POST /vpp/command":
		return vppAnswer(body)
	}
	return http.StatusNotFound, "", fmt.Sprintf(`{"error": "no endpoint %s"}`, r.URL.Path)
}

var startsCapture = regexp.MustCompile(`^pcap trace (rx tx|drop) max \d+ intfc (any|local0) file \S+ max-bytes-per-pkt \d+$`)

// vppAnswer answers a command of VPP as VPP 25.10 does.
func vppAnswer(body string) (status int, file, text string) {
	var request struct{ VPPCLICommand string }
	_ = json.Unmarshal([]byte(body), &request)
	answer := "answer to " + body
	switch command := request.VPPCLICommand; {
	case command == "clear trace" || startsCapture.MatchString(command):
		answer = ""
	case strings.HasPrefix(command, "trace add af-packet-input"):
		answer = ""
	case strings.HasPrefix(command, "trace add"), strings.HasPrefix(command, "pcap trace") && command != "pcap trace status" && command != "pcap trace off":
		return http.StatusBadGateway, "", `{"error": "command \"` + command + `\": VPP refused it: expected something else"}`
	case strings.HasPrefix(command, "show trace"):
		return http.StatusOK, "show-trace.json", ""
	case command == "pcap trace status":
		answer = "pcap dispatch capture disabled\n"
	case command == "pcap trace off":
		answer = "Write 12 packets to /tmp/agentctl.pcap, and stop capture...\n"
	}
	encoded, _ := json.Marshal(answer)
	return http.StatusOK, "", string(encoded)
}

func wait(q url.Values) (status int, file, text string) {
	switch {
	case q.Has("txn"):
		return http.StatusNotFound, "", `{"error": "transaction ` + q.Get("txn") + `: no such transaction in the history"}`
	case q.Get("state") == "ABSENT":
		return http.StatusOK, "", `{"revision": "00c0ffee00c0ffee-7"}`
	}
	reason := fmt.Sprintf("the value cannot reach the state without a change (%s, %s): %s is FAILED (no such host)", q.Get("timeout"), q.Get("prefix"), q.Get("key"))
	return http.StatusConflict, "", fmt.Sprintf(`{"error": %q, "unmet": [{"key": %q, "state": "FAILED", "reason": "no such host", "final": true}], "revision": "00c0ffee00c0ffee-7"}`,
		reason, q.Get("key"))
}

func removal(q url.Values) (status int, file, text string) {
	switch strings.Join(q["key"], " ") {
	case "config/vpp/l2/v2/fib/bd1/mac/aa:bb config/vpp/v2/interfaces/loop2", "one": // --all: without what is unread, and what is foreign
		return http.StatusOK, "", `{"Orphans": [], "SeqNum": 7}`
	case "stuck":
		return http.StatusOK, "", `{"Orphans": [{"Key": "stuck", "Ours": true, "Problem": "in use"}], "SeqNum": 7, "Errors": ["stuck: in use"]}`
	}
	return http.StatusConflict, "", `{"error": "key \"x\": not a leftover of the scheduler: it is foreign"}`
}

func configure(r *http.Request, body string) (status int, file, text string) {
	if strings.Contains(body, "mtuu") {
		return http.StatusBadRequest, "", `[{"path": "vppConfig.interfaces[0].mtuu", "error": "unknown field", "line": 3, "column": 5}]`
	}
	if r.Method == http.MethodPost {
		return http.StatusOK, "", "[]"
	}
	state, summary := "CONFIGURED", `{"items": 1, "in_effect": 1, "failed": 0, "text": "1 of 1 in effect"}`
	if r.URL.Query().Get("replace") == "true" {
		state, summary = "PENDING", `{"items": 1, "in_effect": 0, "states": {"PENDING": 1}, "failed": 0, "text": "0 of 1 in effect"}`
	}
	switch wait := r.URL.Query().Get("wait"); {
	case wait != "" && state == "PENDING":
		return http.StatusOK, "outcome-mixed.json", ""
	case wait != "":
		return http.StatusOK, "", `{"results": [{"key": "a", "state": "PENDING", "source": "grpc", "reason": "waits for b"}],
			"summary": {"items": 2, "in_effect": 1, "states": {"PENDING": 1}, "failed": 0, "text": "1 of 2 in effect, 1 pending (a waits for b)"}}`
	}
	return http.StatusOK, "", fmt.Sprintf(`{"results": [{"key": "config/vpp/v2/interfaces/loop7", "state": %q, "source": "grpc"}], "summary": %s}`, state, summary)
}

func history(q url.Values) (status int, file, text string) {
	switch {
	case q.Get("critical-path") == "1" && q.Get("format") == "text":
		return http.StatusOK, "", "Critical path of " + q.Get("seq-num") + ", at most " + q.Get("limit") + " steps\n"
	case q.Get("critical-path") == "1":
		return http.StatusOK, "critical-path.json", ""
	case q.Get("format") == "text":
		return http.StatusOK, "", "Transaction #" + q.Get("seq-num") + "\n"
	case q.Get("seq-num") == "" && q.Has("brief"):
		return http.StatusOK, "txn-brief.json", ""
	case q.Get("seq-num") == "":
		return http.StatusOK, "txn-history.json", ""
	case q.Get("seq-num") != "6":
		return http.StatusNotFound, "", `{"error": "argument \"seq-num\" is ` + q.Get("seq-num") + `: no such transaction in the history"}`
	}
	if q.Has("brief") {
		return http.StatusOK, "txn-brief-6.json", ""
	}
	return http.StatusOK, "resync.json", ""
}

// result is what a run of agentctl gave.
type result struct {
	line, out, err string
	code           int
}

// wants checks the exit code of a command, and that its errors have a text.
func (r result) wants(t *testing.T, code int, text string) {
	t.Helper()
	if r.code != code || !strings.Contains(r.err, text) {
		t.Errorf("%s: exit %d, expected %d and %q:\n%s%s", r.line, r.code, code, text, r.out, r.err)
	}
}

func (f *fakeAgent) run(t *testing.T, env map[string]string, args ...string) result {
	t.Helper()
	return f.runOn(t, output.Terminal{}, env, args...)
}

// runOn is run with a terminal.
func (f *fakeAgent) runOn(t *testing.T, term output.Terminal, env map[string]string, args ...string) result {
	t.Helper()
	host, port, err := net.SplitHostPort(f.Listener.Addr().String())
	infratest.Fatal(t, err)
	return runOn(t, term, env, append([]string{"--host", host, "--http-port", port}, args...)...)
}

func run(t *testing.T, env map[string]string, args ...string) result {
	t.Helper()
	return runOn(t, output.Terminal{}, env, args...)
}

func runOn(t *testing.T, term output.Terminal, env map[string]string, args ...string) result {
	t.Helper()
	return runWith(t, term, func() time.Time { return before(0) }, env, args...)
}

// runAt is run at another time.
func runAt(t *testing.T, now func() time.Time, env map[string]string, args ...string) result {
	t.Helper()
	return runWith(t, output.Terminal{}, now, env, args...)
}

func runWith(t *testing.T, term output.Terminal, now func() time.Time, env map[string]string, args ...string) result {
	t.Helper()
	var out, errs bytes.Buffer
	f := cmdutil.NewFactory(Streams{Out: &out, Err: &errs}, config.EnvMap(env), now, term)
	code := execute(t.Context(), f, args)
	return result{strings.Join(args, " "), out.String(), errs.String(), code}
}

// TestCommands runs the command lines in testdata/commands and compares what
// they print with what is written below each.
func TestCommands(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/commands/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no command lines", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			t.Parallel()
			f := newFakeAgent(t)
			text, err := os.ReadFile(file)
			infratest.Fatal(t, err)
			var got strings.Builder
			for line := range strings.Lines(string(text)) {
				command, ok := strings.CutPrefix(strings.TrimSpace(line), "$ agentctl ")
				if !ok {
					continue
				}
				r := f.run(t, nil, words(command)...)
				fmt.Fprintf(&got, "$ agentctl %s\n%s%s[exit %d]\n\n", command, r.out, r.err, r.code)
			}
			want := string(text)
			if *update {
				infratest.Fatal(t, os.WriteFile(file, []byte(got.String()), 0o644))
				return
			}
			if got.String() != want {
				t.Errorf("%s: the commands print\n%s\nexpected\n%s\n(-update writes what they print)", file, got.String(), want)
			}
		})
	}
}

// words splits a command line at spaces, except within single quotes.
func words(line string) (list []string) {
	for i, part := range strings.Split(line, "'") {
		if i%2 == 1 {
			list = append(list, part)
		} else {
			list = append(list, strings.Fields(part)...)
		}
	}
	return list
}

// The status of an agent without scheduler has no queue and no values.
func TestStatusWithoutScheduler(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		file := map[string]string{"/readiness": "readiness.json", "/info/version": "info-version.json"}[r.URL.Path]
		if file == "" {
			http.NotFound(w, r)
			return
		}
		http.ServeFile(w, r, filepath.Join("testdata", "rest", file))
	}))
	t.Cleanup(server.Close)
	f := &fakeAgent{Server: server}
	r := f.run(t, nil, "status")
	if r.code != exit.CodeFinding || !strings.Contains(r.out, "PLUGINS") || strings.Contains(r.out, "QUEUE") || strings.Contains(r.out, "VALUES") {
		t.Errorf("exit %d, %s%s", r.code, r.out, r.err)
	}
}

func TestEnvironmentAndFile(t *testing.T) {
	t.Parallel()
	f := newFakeAgent(t)
	host, port, _ := net.SplitHostPort(f.Listener.Addr().String())
	env := map[string]string{"AGENT_HOST": host, "HTTP_PORT": port, "AGENTCTL_HTTP_BASIC_AUTH": "me:secret"}
	if r := run(t, env, "log", "list"); r.code != 0 || f.asked(0).user != "me" {
		t.Errorf("by environment: exit %d, %s, first %v, second %v", r.code, r.err, f.asked(0), f.asked(1))
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "config.yaml")
	infratest.Fatal(t, os.WriteFile(file, []byte("host: "+host+"\nhttp-port: "+port+"\nhttp-basic-auth: you:secret\n"), 0o600))
	if r := run(t, nil, "--config-dir", dir, "log", "list"); r.code != 0 || f.asked(1).user != "you" {
		t.Errorf("by file: exit %d, %s, first %v, second %v", r.code, r.err, f.asked(0), f.asked(1))
	}
	run(t, map[string]string{"HTTP_PORT": "many"}, "log", "list").wants(t, exit.CodeUsage, "HTTP_PORT")
	infratest.Fatal(t, os.WriteFile(file, []byte("hots: x\n"), 0o600))
	run(t, nil, "--config", file, "log", "list").wants(t, exit.CodeError, "config.yaml:1")
}

func TestGraphIntoFile(t *testing.T) {
	t.Parallel()
	f := newFakeAgent(t)
	file := filepath.Join(t.TempDir(), "graph.dot")
	if r := f.run(t, nil, "graph", "--out", file); r.code != 0 || r.out != "" {
		t.Fatalf("exit %d, %s%s", r.code, r.out, r.err)
	}
	if text, err := os.ReadFile(file); err != nil || !strings.HasPrefix(string(text), "<dot") {
		t.Errorf("%v: %q", err, text)
	}
}

func TestCompletion(t *testing.T) {
	t.Parallel()
	f := newFakeAgent(t)
	for _, c := range []struct{ args, want string }{
		{"__complete dump vpp.l2.", "vpp.l2.bridge-domain"},
		{"__complete why vpp/bd/", "vpp/bd/bd1/interface/if1"},
		{"__complete values -f y", "yaml"},
	} {
		if r := f.run(t, nil, strings.Fields(c.args)...); !strings.Contains(r.out, c.want) {
			t.Errorf("%s: %q lacks %q", c.args, r.out, c.want)
		}
	}
	if r := f.run(t, nil, "completion", "bash"); r.code != 0 || !strings.Contains(r.out, "agentctl") {
		t.Errorf("completion bash: exit %d, %s", r.code, r.err)
	}
}

// Keys may be given in short wherever values are named.
func TestShortKeys(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"quarantine", "release", "vpp.interfaces/tap1"}, {"orphans", "--remove", "vpp.interfaces/tap1"}, {"why", "vpp.interfaces/tap1"},
	} {
		f := newFakeAgent(t)
		f.run(t, nil, args...)
		if key := f.asked(0).query.Get("key"); key != "config/vpp/v2/interfaces/tap1" {
			t.Errorf("%q asks for %q", args, key)
		}
	}
}
