package docs

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// original is a program of the predecessor's tutorials and documents, in its original
// form with other import paths: a folder of testdata/originals.
type original struct {
	name  string
	files map[string]string // configuration files, in the working directory
	args  func(t *testing.T) []string
	// want are parts of lines that it writes, in this order. After the last one the program
	// is interrupted, and must end without an error.
	want []string
	// then is done after the last line, before the interrupt.
	then func(t *testing.T)
	// fails: it ends by itself, with an error.
	fails bool
	// nowhere must not be in the output.
	nowhere []string
}

func TestOriginals(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long; make test runs it")
	}
	t.Parallel()
	programs := t.TempDir()
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", programs, "./testdata/originals/...").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	tested := map[string]bool{}
	for _, o := range originals(t) {
		tested[o.name] = true
		t.Run(o.name, func(t *testing.T) {
			t.Parallel()
			o.run(t, filepath.Join(programs, o.name))
		})
	}
	dirs, err := os.ReadDir("testdata/originals")
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range dirs {
		if !tested[d.Name()] {
			t.Errorf("testdata/originals/%s is not run", d.Name())
		}
	}
}

func originals(t *testing.T) []original {
	port := freePort(t)
	return []original{
		{name: "01_hello-world", want: []string{"Hello World!", "All systems go!"}},
		{
			name: "02_plugin-deps", files: map[string]string{"my.conf": "greeting: Ahoy\n"},
			args: func(*testing.T) []string { return []string{"-helloworld-config=my.conf", "-shout", "--whom", "Ada"} },
			want: []string{
				"DEBUG defaultLogger the program begins", "INFO helloworld Config file loaded: {Greeting:Ahoy}",
				`DEBUG helloworld Ahoy Ada! {"shout": true}`, `INFO helloworld configured {"config": true}`, "ERROR helloworld an error, as an argument",
			},
		},
		{
			name: "03_rest-handler", args: func(*testing.T) []string { return []string{"-http-port", port} },
			want: []string{"INFO helloworld Hello World!"},
			then: func(t *testing.T) {
				for body, want := range map[string]string{
					`{"name": "Ada"}`: "200 {\n  \"greeting\": \"Hello Ada\"\n}\n", "Ada": "400 invalid character 'A' looking for beginning of value",
				} {
					if got := greet(t, port, body); got != want {
						t.Errorf("%s: got %q, expected %q", body, got, want)
					}
				}
			},
		},
		{
			name: "04_kv-store", files: map[string]string{"bolt.conf": "db-path: bolt.db\n"},
			want: []string{
				"INFO myplugin No greetings found..", "INFO myplugin greetings/hello: Hello", "INFO myplugin Found some greetings: Hello",
				"INFO myplugin Listed txn: Bye",
			},
			nowhere: []string{" ERROR "},
		},
		{
			// Its descriptors have no Delete, and it ignores the error of their
			// registration. The last message says which descriptor lacks what.
			name: "05_kv-scheduler",
			want: []string{
				`ERROR kvscheduler descriptor refused: its values will be INVALID {"descriptor": "if-descriptor`,
				`ERROR kvscheduler descriptor refused: its values will be INVALID {"descriptor": "route-descriptor`,
				`descriptor "if-descriptor": Create without Delete`,
			},
		},
		{name: "06_plugin-lookup", want: []string{"agent: dependency cycle: helloworld.Universe -> hellouniverse.World"}, fails: true},
		{
			name: "07_vpp-connection", files: map[string]string{"govpp.conf": "binapi-socket-path: " + simulatedVPP(t) + "\nreply-timeout: 1m\n"},
			want: []string{
				"INFO helloworld Sync call created loopback with index 1", "INFO helloworld Async call created loopbacks with indexes 2 and 3",
				"INFO helloworld Multi call found interfaces [0 1 2 3]",
			},
			nowhere: []string{" ERROR "},
		},
		{
			name: "08_grpc", args: func(t *testing.T) []string {
				socket := filepath.Join(t.TempDir(), "grpc.sock")
				startWith(t, t.TempDir(), network, "--simulate", "--grpc-socket", socket)
				return []string{"-address", "unix:" + socket}
			},
			// The agent has another source, whose interface stays.
			want: []string{"INFO client Configured interface1", "INFO client Dumped "},
		},
		{
			name: "101_custom-vppagent",
			files: map[string]string{
				"govpp.conf":          "binapi-socket-path: " + simulatedVPP(t) + "\n",
				"linux-nsplugin.conf": "disabled: true\n", "http.conf": "disabled: true\n",
				"kvscheduler.conf": "print-txn-summary: true\n",
			},
			want: []string{
				"INFO custom-agent Initializing agent",
				"config/vpp/v2/interfaces/loop1", "INFO custom-agent Agent is ready",
			},
			nowhere: []string{"ERROR custom-agent"},
		},
		{
			name: "concepts", files: map[string]string{
				"bolt.conf": "db-path: bolt.db\nfile-mode: 0600\n", "concepts.conf": "db-path: /tmp/bolt.db\nfile-mode: 0654\n",
				"kvscheduler.conf": "print-txn-summary: false\n",
			},
			want: []string{
				"INFO concepts config: true /tmp/bolt.db -rw-r-xr-- 1s", "INFO concepts event: resync",
				"INFO concepts event: greetings/hello", "INFO concepts event: greetings/hello",
				"INFO concepts local configuration: local, host", "INFO concepts done",
			},
			nowhere: []string{"ERROR concepts"},
		},
	}
}

// greet sends a request to the program 03_rest-handler, and returns the status and the body.
func greet(t *testing.T, port, body string) string {
	t.Helper()
	resp, err := http.Post("http://127.0.0.1:"+port+"/greeting", "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(resp.StatusCode, " ", string(text))
}

func (o original) run(t *testing.T, program string) {
	dir := t.TempDir()
	for name, text := range o.files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, program)
	if o.args != nil {
		cmd.Args = append(cmd.Args, o.args(t)...)
	}
	cmd.Dir = dir
	out, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	cmd.Stdout, cmd.Stderr = w, w
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	text, missing := await(out, o.want, !o.fails)
	if o.then != nil && missing == "" {
		o.then(t)
	}
	if !o.fails {
		_ = cmd.Process.Signal(os.Interrupt) // it may have ended with an error, which Wait returns
	}
	rest, _ := io.ReadAll(out)
	text += string(rest)
	if err := cmd.Wait(); (err != nil) != o.fails {
		t.Errorf("the program ended with %v", err)
	}
	if missing != "" {
		t.Errorf("no line with %q", missing)
	}
	for _, bad := range o.nowhere {
		if strings.Contains(text, bad) {
			t.Errorf("expected no %q in the output", bad)
		}
	}
	if t.Failed() {
		t.Log(text)
	}
}

// await reads lines until all parts were found, in their order, and with started the line
// that the agent runs: it may come at any time. missing is the first part that was not
// found.
func await(r io.Reader, parts []string, started bool) (text, missing string) {
	const runs = " agent started "
	lines := bufio.NewReader(r)
	for len(parts) > 0 || started {
		line, err := lines.ReadString('\n')
		text += line
		started = started && !strings.Contains(line, runs)
		if len(parts) > 0 && strings.Contains(line, parts[0]) {
			parts = parts[1:]
		}
		if err != nil {
			break
		}
	}
	switch {
	case len(parts) > 0:
		missing = parts[0]
	case started:
		missing = runs
	}
	rest := make([]byte, lines.Buffered())
	_, _ = io.ReadFull(lines, rest)
	return text + string(rest), missing
}
