package fleet_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/tenuto-dev/tenuto/fleet"
	"github.com/tenuto-dev/tenuto/infra/infratest"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/document"
)

var update = flag.Bool("update", false, "write the errors of now into testdata")

// TestErrors decodes the cases of testdata/errors.txt, which begin with "## ", and compares the errors
// with those below "-- errors --".
func TestErrors(t *testing.T) {
	t.Parallel()
	const file = "testdata/errors.txt"
	text, err := os.ReadFile(file)
	infratest.Fatal(t, err)
	var got strings.Builder
	for _, c := range strings.Split(string(text), "## ")[1:] {
		name, body, _ := strings.Cut(c, "\n")
		input, _, _ := strings.Cut(body, "-- errors --\n")
		fmt.Fprintf(&got, "## %s\n%s-- errors --\n", name, input)
		_, errs := fleet.Decode("a.yaml", []byte(input))
		for _, e := range errs {
			fmt.Fprintln(&got, e)
		}
		got.WriteString("\n")
	}
	if *update {
		infratest.Fatal(t, os.WriteFile(file, []byte(got.String()), 0o644))
	}
	if !*update && got.String() != string(text) {
		t.Errorf("%s: got\n%s\nexpected\n%s", file, got.String(), text)
	}
}

const objects = `# all kinds
apiVersion: fleet.tenuto.dev/v1alpha1
kind: Agent
metadata: {name: edge-1, labels: {site: paris, example.com/rack: a-1}}
spec:
  values: {loopback: 10.0.0.1, mtu: 1500, uplinks: [{name: wan, vlan: 7}], spare:}
---
apiVersion: fleet.tenuto.dev/v1alpha1
kind: Agent
metadata: {name: edge-2}
---
apiVersion: fleet.tenuto.dev/v1alpha1
kind: NetworkConfig
metadata: {name: underlay}
spec:
  selector:
    matchLabels: {site: paris}
    matchExpressions: [{key: old, operator: DoesNotExist}, {key: rack, operator: In, values: [a, b]}]
  priority: -5
  variables:
    loopback: {type: address, pool: loopbacks, description: of the node}
    mtu: {type: integer, default: 9e3}
    any:
  forEach: {peers: {}}
  template: {vppConfig: {interfaces: [{name: loop0}]}}
---
apiVersion: fleet.tenuto.dev/v1alpha1
kind: Pool
metadata: {name: loopbacks}
spec: {type: ipv4, ranges: [10.0.0.0/24, 10.0.1.5-10.0.1.9], exclude: [10.0.0.1]}
`

func TestDecode(t *testing.T) {
	t.Parallel()
	got, errs := fleet.Decode("a.yaml", []byte(objects))
	infratest.Fatal(t, errs...)
	template := got.NetworkConfigs[0].Spec.Template
	if text := fmt.Sprint(template.Value()); text != "map[vppConfig:map[interfaces:[map[name:loop0]]]]" || template.Line != 25 {
		t.Errorf("template %s in line %d", text, template.Line)
	}
	got.NetworkConfigs[0].Spec.Template = nil
	at := func(line int) document.Position { return document.Position{File: "a.yaml", Line: line, Column: 1} }
	want := fleet.Objects{
		Agents: []fleet.Agent{
			{
				Metadata: fleet.Metadata{Name: "edge-1", Labels: map[string]string{"site": "paris", "example.com/rack": "a-1"}, Source: at(2)},
				Spec: fleet.AgentSpec{Values: map[string]any{
					"loopback": "10.0.0.1", "mtu": int64(1500), "uplinks": []any{map[string]any{"name": "wan", "vlan": int64(7)}},
				}},
			},
			{Metadata: fleet.Metadata{Name: "edge-2", Source: at(8)}},
		},
		NetworkConfigs: []fleet.NetworkConfig{{
			Metadata: fleet.Metadata{Name: "underlay", Source: at(12)},
			Spec: fleet.NetworkConfigSpec{
				Selector: fleet.Selector{
					MatchLabels:      map[string]string{"site": "paris"},
					MatchExpressions: []fleet.Requirement{{Key: "old", Operator: fleet.DoesNotExist}, {Key: "rack", Operator: fleet.In, Values: []string{"a", "b"}}},
				},
				Priority: -5,
				Variables: map[string]fleet.Variable{
					"loopback": {Type: fleet.TypeAddress, Pool: "loopbacks", Description: "of the node"}, "mtu": {Type: fleet.TypeInteger, Default: int64(9000)}, "any": {},
				},
				ForEach: &fleet.ForEach{},
			},
		}},
		Pools: []fleet.Pool{{
			Metadata: fleet.Metadata{Name: "loopbacks", Source: at(27)},
			Spec:     fleet.PoolSpec{Type: fleet.PoolIPv4, Ranges: []string{"10.0.0.0/24", "10.0.1.5-10.0.1.9"}, Exclude: []string{"10.0.0.1"}},
		}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%+v\nexpected\n%+v", got, want)
	}
	if got.Len() != 4 {
		t.Errorf("%d objects", got.Len())
	}
}

// An object in JSON is read as one in YAML.
func TestDecodeJSON(t *testing.T) {
	t.Parallel()
	const pool = `{"apiVersion": "fleet.tenuto.dev/v1alpha1", "kind": "Pool", "metadata": {"name": "p"}, "spec": {"type": "integer", "ranges": ["1-9"]}}`
	for _, file := range []string{"a.json", "a.yaml"} {
		if got, errs := fleet.Decode(file, []byte(pool)); len(errs) > 0 || len(got.Pools) != 1 || got.Pools[0].Spec.Ranges[0] != "1-9" {
			t.Errorf("%s: %v, %v", file, got, errs)
		}
	}
	if _, errs := fleet.Decode("a.json", []byte("kind: Pool")); len(errs) != 1 || !strings.Contains(errs[0].Error(), "malformed JSON") {
		t.Errorf("YAML in a file with JSON: %v", errs)
	}
}

func TestDecodeAll(t *testing.T) {
	t.Parallel()
	const head = "apiVersion: fleet.tenuto.dev/v1alpha1\nkind: "
	_, errs := fleet.DecodeAll([]fleet.Source{
		{File: "a.yaml", Text: []byte(head + "Agent\nmetadata: {name: e}\n---\n" + head + "Pool\nmetadata: {name: p}\nspec: {type: prefix, ranges: [10.0.0.0/16], prefixLength: 24}\n")},
		{File: "b.yaml", Text: []byte(head + "Agent\nmetadata: {name: e}\n---\n" + head + "Pool\nmetadata: {name: q}\nspec: {type: prefix, ranges: [10.0.9.0/24], prefixLength: 28}\n")},
		{File: "c.yaml", Text: nil},
	})
	want := []string{
		"b.yaml:1:1: second Agent e, the first is in a.yaml:1",
		"c.yaml: no objects; expected objects of the kinds Agent, NetworkConfig, Pool",
		"b.yaml:5:1: spec.ranges: pools q and p overlap: both have 10.0.9.0, the other one is in a.yaml:5; exclude it in one of them",
	}
	if fmt.Sprint(errs) != fmt.Sprint(want) {
		t.Errorf("got\n%v\nexpected\n%v", errs, want)
	}
	_, errs = fleet.Decode("a.yaml", []byte(strings.Repeat("kind: Agent\n---\n", 150)))
	if len(errs) != 101 || errs[100].Error() != "and 50 more errors" {
		t.Errorf("%d errors, the last one %v", len(errs), errs[len(errs)-1])
	}
}

func TestFind(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"b.yaml", "a/x.yml", "a/y.json", "README.md", ".git/z.yaml", ".hidden.yaml", "skip.yaml"} {
		infratest.Fatal(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700), os.WriteFile(filepath.Join(dir, name), nil, 0o600))
	}
	files, err := fleet.Find([]string{dir, filepath.Join(dir, "README.md"), filepath.Join(dir, "b.yaml")}, func(file string) bool { return filepath.Base(file) == "skip.yaml" })
	infratest.Fatal(t, err)
	if got := strings.ReplaceAll(strings.Join(files, " "), dir+"/", ""); got != "a/x.yml a/y.json b.yaml README.md" {
		t.Errorf("found %s", got)
	}
	if _, err := fleet.Find([]string{filepath.Join(dir, ".git")}, nil); err != nil {
		t.Errorf("a hidden directory that is given: %v", err)
	}
	if _, err := fleet.Find([]string{t.TempDir()}, nil); err == nil || !strings.Contains(err.Error(), "no files with objects") {
		t.Errorf("an empty directory: %v", err)
	}
	if _, err := fleet.Find([]string{filepath.Join(dir, "none")}, nil); err == nil {
		t.Error("a directory that does not exist is found")
	}
}

// FuzzDecode: a text is objects or errors, and objects that are read can be used.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(objects))
	text, err := os.ReadFile("testdata/errors.txt")
	infratest.Fatal(f, err)
	for _, c := range strings.Split(string(text), "## ")[1:] {
		_, body, _ := strings.Cut(c, "\n")
		input, _, _ := strings.Cut(body, "-- errors --\n")
		f.Add([]byte(input))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		got, errs := fleet.Decode("a.yaml", text)
		if len(errs) > 101 {
			t.Errorf("%d errors", len(errs))
		}
		if len(errs) > 0 {
			return
		}
		for _, c := range got.NetworkConfigs {
			if err := c.Spec.Selector.Validate(); err != nil {
				t.Error(err)
			}
			if again, err := fleet.ParseSelector(c.Spec.Selector.String()); err != nil || again.Matches(nil) != c.Spec.Selector.Matches(nil) {
				t.Errorf("%s: %v", c.Spec.Selector, err)
			}
		}
	})
}
