package document_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/tenuto-dev/tenuto/infra/infratest"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/document"
)

// A tree has the types, positions and order of the text; aliases and merges are resolved.
func TestParseTrees(t *testing.T) {
	t.Parallel()
	roots, errs := document.ParseTrees("a.yaml", []byte(`b: &x {k: 1, l: [true, ~, 1.50, 0x10, "5", 2024-01-01]}
a:
  <<: *x
  k: two
---
---
c: 18446744073709551615
`))
	if len(errs) > 0 || len(roots) != 2 {
		t.Fatalf("%d roots, %v", len(roots), errs)
	}
	text, err := json.Marshal(roots[0])
	infratest.Fatal(t, err)
	const list = `[true,null,1.5,16,"5","2024-01-01"]`
	if want := `{"b":{"k":1,"l":` + list + `},"a":{"k":"two","l":` + list + `}}`; string(text) != want {
		t.Errorf("%s, expected %s", text, want)
	}
	if at := roots[0].Find("a.k"); at.Line != 4 || at.Column != 6 {
		t.Errorf("a.k is at %v:%d", at.Position, at.Column)
	}
	if at := roots[0].Find("a.none"); at != roots[0].Field("a") {
		t.Errorf("a.none is found in %v", at)
	}
	want := map[string]any{"c": uint64(1<<64 - 1)}
	if got := roots[1].Value(); !reflect.DeepEqual(got, want) {
		t.Errorf("%v, expected %v", got, want)
	}
	again, err := document.TreeOf(roots[0].Value(), document.Position{File: "b", Line: 7})
	infratest.Fatal(t, err)
	if !reflect.DeepEqual(again.Value(), roots[0].Value()) || again.Field("a").Line != 7 {
		t.Errorf("made again: %v", again.Value())
	}
	var read document.Tree
	infratest.Fatal(t, json.Unmarshal(text, &read))
	if !reflect.DeepEqual(read.Value(), roots[0].Value()) {
		t.Errorf("read again: %v", read.Value())
	}
}

func TestParseTreesErrors(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"a: 1\na: 2\n":             "a.yaml:2:1: a: given twice, first in line 1",
		"a: [\n":                   "malformed YAML",
		"? [a]\n: 1\n":             "expected the name of a field, got a list",
		"a: \xff\n":                "byte 0xff is not UTF-8",
		"a: &x\n  b: *x\n":         "",
		strings.Repeat("[", 150):   "",
		"a: &b {c: 1}\nd: {<<: 5}": "expected a mapping to merge, got 5",
	} {
		_, errs := document.ParseTrees("a.yaml", []byte(text))
		if len(errs) == 0 || !strings.Contains(errs[0].Error(), want) {
			t.Errorf("%q: %v, expected %q", text, errs, want)
		}
	}
	if _, err := document.TreeOf(struct{}{}, document.Position{}); err == nil {
		t.Error("a struct is a tree")
	}
}

// A tree has the same items and errors as its text, and the paths of the items.
func TestDecodeTree(t *testing.T) {
	t.Parallel()
	const text = `vppConfig:
  interfaces:
  - {name: a, type: SOFTWARE_LOOPBACK, mtu: 1500, ipAddresses: [10.0.0.1/24]}
  - {name: b, mtu: -1}
data:
- {key: config/vpp/v2/interfaces/c, value: {name: c}}
`
	c := codec(t)
	roots, errs := document.ParseTrees("a.yaml", []byte(text))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	got, paths := c.DecodeTree(roots[0])
	want := c.Decode("a.yaml", []byte(text), "")
	if !reflect.DeepEqual(got.Errs, want.Errs) || keys(got) != keys(want) {
		t.Errorf("%v\n%s\nexpected %v\n%s", got.Errs, keys(got), want.Errs, keys(want))
	}
	if p := strings.Join(paths, " "); p != "vppConfig.interfaces[0] data[0]" {
		t.Errorf("paths %s", p)
	}
}
