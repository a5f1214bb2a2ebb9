package docs

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/cli"
	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/infra/infratest"
)

// Tutorial 101 is an agent in a module of its own: "go generate" works there, and its models are like
// all others for agentctl, which does not contain them.
func TestCustomAgentInItsOwnModule(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long; make test runs it")
	}
	t.Parallel()
	dir := copyTutorial(t, "../examples/tutorials/101_custom-agent", "example.com/custom-agent")
	program := filepath.Join(t.TempDir(), "custom-agent")
	if err := os.Remove(filepath.Join(dir, "hosts", "model", "host.pb.go")); err != nil {
		t.Fatal(err)
	}
	completeModule(t, dir)
	inModule(t, dir, "go generate ./...", "GOFLAGS="+moduleFlags) // its command has -mod=mod, which no workspace takes
	inModule(t, dir, "go build -o "+program+" .")
	port, hosts := freePort(t), filepath.Join(t.TempDir(), "hosts")
	if err := os.WriteFile(filepath.Join(dir, "hosts.conf"), []byte("path: "+hosts+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	startProgram(t, program, dir, "--http-port", port)
	global := []string{"--http-port", port}
	var out bytes.Buffer
	for _, wait := range []string{"status --wait", "wait config/tutorial/v1/hosts/gateway"} {
		if code := cli.Run(t.Context(), append(strings.Fields(wait), global...), cli.Streams{Out: &out, Err: &out}, config.NoEnviron); code != 0 {
			t.Fatalf("agentctl %s: exit code %d\n%s", wait, code, &out)
		}
	}
	if text, err := os.ReadFile(hosts); string(text) != "10.1.0.2 gateway # interface loop1\n" {
		t.Errorf("the file of hosts has %q, %v", text, err)
	}
	file := filepath.Join(dir, "more.yaml")
	if err := os.WriteFile(file, []byte("tutorialConfig:\n  HostList:\n  - {name: scanner, address: 10.1.0.3, interface: loop1}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ line, want string }{
		{"model list", "tutorial.hosts config tenuto.tutorial.Host config/tutorial/v1/hosts/"},
		{"model inspect tutorial.hosts", `"ProtoName": "tenuto.tutorial.Host"`},
		{"generate tutorial.hosts", "tutorialConfig: HostList: - # Name of the host; it is the last part of the key. name: NAME"},
		{"explain tutorial.hosts", "IN FILES: tutorialConfig.HostList[]"},
		{"explain tutorial.hosts.address", "address <string> IP address of the host."},
		{"why config/tutorial/v1/hosts/printer", "waits for vpp.interfaces/loop2"},
		{"dump tutorial.hosts", "address: 10.1.0.2"},
		{"values tutorial.hosts", "tutorial.hosts/gateway CONFIGURED"},
		{"get tutorial.hosts/gateway", "address: 10.1.0.2"},
		{"config get", "tutorialConfig: HostList: - name: gateway"},
		{"plan /tmp/more.yaml", "+ tutorial.hosts/scanner"},
		{"apply -y /tmp/more.yaml", "OK: 1 of 1 in effect"},
		{"get tutorial.hosts/scanner", "address: 10.1.0.3"},
		{"drift", "No drift"},
		{"get tutorial.hosts/gateway -o proto", "# proto-message: tenuto.tutorial.Host # key: config/tutorial/v1/hosts/gateway name: \"gateway\" address: \"10.1.0.2\""},
		{"config get -o proto", "# key: config/tutorial/v1/hosts/scanner"},
		{"model inspect tutorial.hosts", `"NameTemplate": "{{.Name}}"`},
		{"dump tutorial.hosts -o proto", "address: \"10.1.0.3\""},
	} {
		if got := squeeze(run(t, global, dir, test.line)); !strings.Contains(got, test.want) {
			t.Errorf("agentctl %s: got %s\nexpected %q", test.line, got, test.want)
		}
	}
	checkOffline(t, global, dir)
	for words, want := range map[string]string{
		"dump tut": "tutorial.hosts", "get tutorial.hosts/g": "tutorial.hosts/gateway", "explain tutorial.hosts.a": "tutorial.hosts.address",
	} {
		line := "--http-port " + port + " __complete " + words
		if got := squeeze(run(t, nil, dir, line)); !strings.Contains(got, want) {
			t.Errorf("agentctl %s: got %s\nexpected %q", line, got, want)
		}
	}
}

// checkOffline checks files with the models of the agent, without asking it.
func checkOffline(t *testing.T, global []string, dir string) {
	t.Helper()
	exported, programs := filepath.Join(dir, "models.json"), t.TempDir()
	if err := os.WriteFile(exported, []byte(run(t, global, dir, "model export")), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := infratest.Programs(t.Context(), programs, "vpp-agent"); err != nil {
		t.Fatal(err)
	}
	for items, want := range map[string]struct {
		text string
		code int
	}{
		"  - {name: scanner, address: 10.1.0.3, interface: loop1}\n":      {"OK: 1 items", 0},
		"  - {name: scanner, adress: 10.1.0.3}\n":                         {"3:21: tutorialConfig.HostList[0].adress: unknown field of Host; did you mean address?", 1},
		"  - {name: a}\n  - {name: a}\n":                                  {"second value for key tutorial.hosts/a, the first is in line 3", 1},
		"  - {name: a}\nlinuxConfig:\n  interfaces: [{name: if1}]\n":      {"linuxConfig", 1},
		"  - {name: a}\nvppConfig:\n  interfaces: [{name: if1, mtuu: 1}]": {"mtuu", 1},
	} {
		file := filepath.Join(dir, "check.yaml")
		if err := os.WriteFile(file, []byte("tutorialConfig:\n  HostList:\n"+items), 0o600); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		args := []string{"--http-port", "1", "check", "--models", exported, "--program", filepath.Join(programs, "vpp-agent"), file}
		code := cli.Run(t.Context(), args, cli.Streams{Out: &out, Err: &out}, config.NoEnviron)
		if code != want.code || !strings.Contains(out.String(), want.text) {
			t.Errorf("check of\n%sexit %d, expected %d and %q:\n%s", items, code, want.code, want.text, &out)
		}
	}
}

// copyTutorial copies the folder of a tutorial, without its tests, into a new module that
// requires what this one does.
func copyTutorial(t *testing.T, from, module string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	path := "github.com/tenuto-dev/tenuto" + strings.TrimPrefix(filepath.ToSlash(from), "..")
	err := filepath.WalkDir(dir, func(name string, d os.DirEntry, err error) error {
		switch {
		case err != nil || d.IsDir() || filepath.Ext(name) != ".go":
			return err
		case strings.HasSuffix(name, "_test.go"):
			return os.Remove(name)
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		return os.WriteFile(name, []byte(strings.ReplaceAll(string(text), path, module)), 0o600)
	})
	if err != nil {
		t.Fatal(err)
	}
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"go.mod", "go.sum"} {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		if name == "go.mod" {
			text = []byte(strings.Replace(string(text), "module github.com/tenuto-dev/tenuto\n", "module "+module+"\n", 1) +
				"\nrequire github.com/tenuto-dev/tenuto v0.0.0\n\nreplace github.com/tenuto-dev/tenuto => " + root + "\n")
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
