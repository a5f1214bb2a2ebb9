package cli

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/cmdutil"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/output"
	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/infra/infratest"
)

const exampleNet = "../../../examples/fleet/net"

// withInput runs a command line with a text as the standard input.
func withInput(t *testing.T, in string, args ...string) result {
	t.Helper()
	var out, errs bytes.Buffer
	f := cmdutil.NewFactory(Streams{Out: &out, Err: &errs}, config.NoEnviron, time.Now, output.Terminal{})
	f.In = strings.NewReader(in)
	code := execute(t.Context(), f, args)
	return result{strings.Join(args, " "), out.String(), errs.String(), code}
}

// What render prints for each agent of the example is a configuration without mistakes, also in JSON.
func TestFleetExample(t *testing.T) {
	t.Parallel()
	program := agentProgram(t)
	for _, agent := range []string{"edge-1", "edge-2", "edge-3"} {
		for _, format := range []string{"yaml", "json"} {
			r := run(t, nil, "fleet", "render", "-f", exampleNet, "--agent", agent, "-o", format)
			if r.code != 0 || !strings.Contains(r.err, "1 agent, 12 items") {
				t.Fatalf("%s: exit code %d\n%s", agent, r.code, r.err)
			}
			checked := withInput(t, r.out, "check", "--assume-links", "--program", program, "-")
			if checked.code != 0 || !strings.Contains(checked.out, "OK: 12 items") {
				t.Errorf("%s: exit code %d\n%s%s\n%s", agent, checked.code, checked.out, checked.err, r.out)
			}
		}
	}
	all := run(t, nil, "fleet", "render", "-f", exampleNet)
	if all.code != 0 || strings.Count(all.out, "# agent: ") != 3 || strings.Count(all.out, "---\n") != 2 {
		t.Errorf("exit code %d\n%s%s", all.code, all.out, all.err)
	}
	var objects strings.Builder
	for _, file := range []string{"agents", "mesh", "pools", "underlay"} {
		text, err := os.ReadFile(filepath.Join(exampleNet, file+".yaml"))
		infratest.Fatal(t, err)
		fmt.Fprintf(&objects, "---\n%s", text)
	}
	if r := withInput(t, objects.String(), "fleet", "render", "-"); r.out != all.out {
		t.Errorf("from the standard input: exit code %d\n%s%s", r.code, r.out, r.err)
	}
}

// Allocations are kept in a file: agents that are added do not change what others have.
func TestFleetAllocations(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	infratest.Fatal(t, os.CopyFS(dir, os.DirFS(exampleNet)))
	file := filepath.Join(dir, "allocations.yaml") // next to the objects, but no object
	render := func(args ...string) result {
		t.Helper()
		r := run(t, nil, append([]string{"fleet", "render", "-f", dir, "--allocations", file}, args...)...)
		if r.code != 0 {
			t.Fatalf("%s: exit code %d\n%s", r.line, r.code, r.err)
		}
		return r
	}
	before := render("--agent", "edge-2")
	if !strings.Contains(before.err, "1 agent, 12 items, 6 new allocations in "+file) {
		t.Errorf("got %s", before.err)
	}
	text, err := os.ReadFile(file)
	infratest.Fatal(t, err)
	if !strings.HasSuffix(string(text), "loopbacks:\n  edge-1: 10.0.0.1\n  edge-2: 10.0.0.2\n  edge-3: 10.0.0.3\noverlay:\n  edge-1: 10.0.1.2\n  edge-2: 10.0.1.3\n  edge-3: 10.0.1.4\n") {
		t.Errorf("allocations:\n%s", text)
	}
	infratest.Fatal(t, os.Chmod(file, 0o640), os.WriteFile(filepath.Join(dir, "first.yaml"), []byte("apiVersion: fleet.tenuto.dev/v1alpha1\nkind: Agent\n"+
		"metadata: {name: a-first, labels: {role: edge}}\nspec: {values: {uplink: {interface: e, address: 192.0.2.9}, lan: {interface: f, address: 10.1.9.1, network: 10.1.9.0/24}, mac: 02:00:00:00:00:09}}\n"), 0o600))
	after := render("--agent", "edge-2")
	for line := range strings.Lines(before.out) {
		if !strings.Contains(after.out, line) {
			t.Errorf("no line %q in\n%s", line, after.out)
		}
	}
	text, err = os.ReadFile(file)
	infratest.Fatal(t, err)
	if !strings.Contains(string(text), "a-first: 10.0.0.4\n") {
		t.Errorf("allocations:\n%s", text)
	}
	info, err := os.Stat(file)
	infratest.Fatal(t, err)
	if again := render("--agent", "edge-2"); again.out != after.out || strings.Contains(again.err, "allocation") || info.Mode().Perm() != 0o640 {
		t.Errorf("with all allocations, mode %v: %s%s", info.Mode(), again.out, again.err)
	}
	left, err := filepath.Glob(filepath.Join(dir, ".*"))
	infratest.Fatal(t, err)
	if len(left) > 0 {
		t.Errorf("files are left: %v", left)
	}
	r := run(t, nil, "fleet", "render", "-f", exampleNet, "--allocations", filepath.Join(dir, "none", "a.yaml"))
	if r.code != 1 || r.out != "" || !strings.Contains(r.err, "--allocations: ") {
		t.Errorf("without a directory: exit code %d\n%s%s", r.code, r.out, r.err)
	}
}

// A file for each agent is written into a directory, but never over a file of others.
func TestFleetOutDir(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "net")
	infratest.Fatal(t, os.CopyFS(dir, os.DirFS(exampleNet)))
	out := filepath.Join(dir, "rendered") // below the objects, but no objects
	render := func(code int, args ...string) result {
		t.Helper()
		r := run(t, nil, append([]string{"fleet", "render", "-f", dir, "--out-dir", out}, args...)...)
		if r.code != code || r.out != "" {
			t.Fatalf("%s: exit code %d\n%s%s", r.line, r.code, r.out, r.err)
		}
		return r
	}
	names := func() (list []string) {
		entries, err := os.ReadDir(out)
		infratest.Fatal(t, err)
		for _, e := range entries {
			list = append(list, e.Name())
		}
		return list
	}
	render(0)
	if got := names(); !slices.Equal(got, []string{"edge-1.yaml", "edge-2.yaml", "edge-3.yaml"}) {
		t.Errorf("files %v", got)
	}
	first := filepath.Join(out, "edge-1.yaml")
	info, err := os.Stat(first)
	infratest.Fatal(t, err)
	text, err := os.ReadFile(first)
	infratest.Fatal(t, err)
	const head = "# agent: edge-1\n# Written by agentctl fleet render, which replaces it.\n# NetworkConfigs: mesh, underlay\nvppConfig:\n"
	if !strings.HasPrefix(string(text), head) || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v\n%s", info.Mode(), text)
	}
	render(0)
	if now, err := os.Stat(first); err != nil || !os.SameFile(now, info) {
		t.Errorf("a file that does not change was written again: %v", err)
	}
	infratest.Fatal(t, os.WriteFile(filepath.Join(out, "gone.yaml"), text, 0o600), os.WriteFile(filepath.Join(out, "other.yaml"), []byte("{}\n"), 0o600))
	r := render(0)
	if !strings.Contains(r.err, "WARNING: "+filepath.Join(out, "gone.yaml")+" is left from before") || strings.Contains(r.err, "other.yaml") {
		t.Errorf("got %s", r.err)
	}
	infratest.Fatal(t, os.WriteFile(filepath.Join(out, "edge-3.yaml"), []byte("vppConfig: {}\n"), 0o600), os.Remove(first))
	if r = render(1); !strings.Contains(r.err, filepath.Join(out, "edge-3.yaml")+" exists and was not written by this command; nothing was written") {
		t.Errorf("got %s", r.err)
	}
	if _, err := os.Stat(first); err == nil {
		t.Error("a part of the files was written")
	}
	render(0, "-l", "site=paris")
	infratest.Fatal(t, os.WriteFile(filepath.Join(dir, "file"), nil, 0o600))
	if r := run(t, nil, "fleet", "render", "-f", exampleNet, "--out-dir", filepath.Join(dir, "file")); r.code != 1 || !strings.Contains(r.err, "--out-dir: ") {
		t.Errorf("a file as directory: exit code %d, %s", r.code, r.err)
	}
}

func TestFleetCompletion(t *testing.T) {
	t.Parallel()
	if r := run(t, nil, "__complete", "fleet", "render", "-f", exampleNet, "--agent", "edge"); !strings.HasPrefix(r.out, "edge-1\nedge-2\nedge-3\n") {
		t.Errorf("got %s%s", r.out, r.err)
	}
}
