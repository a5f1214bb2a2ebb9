package main

import (
	"bytes"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the golden files")

const valueModel = "github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest/model"

func TestGolden(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{
		"plain":    {"--descriptor-name", "Item", "--value-type", "*model.Item", "--import", valueModel},
		"metadata": {"--descriptor-name=Item", "--value-type=*model.Item", "--meta-type=map[string]*idxmap.Store", "--import", "../kvstest/model", "--import", "../../../infra/idxmap"},
		"alias":    {"--descriptor-name=Item", "--value-type=*kvs.Item", "--meta-type=string", "--import=kvs=" + valueModel},
		"renamed":  {"--descriptor-name=Bridge", "--value-type=*vpp_l2.BridgeDomain", "--import=vpp_l2=example.com/l2"},
	} {
		dir := t.TempDir()
		var stderr bytes.Buffer
		if code := run(append(args, "--output-dir", dir), &stderr); code != 0 {
			t.Errorf("%s: exit %d: %s", name, code, &stderr)
			continue
		}
		files, err := filepath.Glob(filepath.Join(dir, "adapter", "*.go"))
		if err != nil || len(files) != 1 {
			t.Fatalf("%s: files %v, %v", name, files, err)
		}
		got, err := os.ReadFile(files[0])
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join("testdata", name+".golden")
		if *update {
			if err := os.WriteFile(file, got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s differs; got:\n%s", file, got)
		}
	}
}

// The generated code compiles and works as documented.
func TestCompiles(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("testdata", "tmp-adapter-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	var stderr bytes.Buffer
	if code := run([]string{"--descriptor-name", "Item", "--value-type", "*model.Item", "--import", valueModel, "--output-dir", dir}, &stderr); code != 0 {
		t.Fatal(stderr.String())
	}
	program := `package main

import (
	"fmt"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/descriptor-adapter/` + filepath.ToSlash(dir) + `/adapter"
)

func main() { fmt.Print(adapter.NewItemDescriptor(&adapter.ItemDescriptor{Name: "x"}).ValueTypeName) }
`
	if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte(program), 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("go", "run", "./"+dir).CombinedOutput()
	if err != nil || string(out) != "tenuto.kvstest.Item" {
		t.Errorf("%v: %s", err, out)
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	ok := []string{"--descriptor-name=Item", "--value-type=*model.Item"}
	for _, tc := range []struct {
		args []string
		code int
		want []string
	}{
		{nil, 2, []string{"--descriptor-name is missing", "--value-type is missing"}},
		{[]string{"--descriptor-name=item", "--value-type=*m.T"}, 2, []string{`"item"`, "capital letter"}},
		{[]string{"--descriptor-name=A-b", "--value-type=*m.T"}, 2, []string{`"A-b"`, "identifier"}},
		{[]string{"--descriptor-name=A", "--value-type=m.T"}, 2, []string{`"m.T"`, "pointer"}},
		{[]string{"--descriptor-name=A", "--value-type=*T"}, 2, []string{`"*T"`, "imported package"}},
		{append(ok, "--meta-type=]x"), 2, []string{"--meta-type", "]x", "Go type"}},
		{append(ok, "extra"), 2, []string{"extra", "flags only"}},
		{append(ok, "--color"), 2, []string{"color"}},
		{ok, 1, []string{"package model", "not imported", "--import"}},
		{append(ok, "--import=./nowhere"), 1, []string{"./nowhere", "directory"}},
		{append(ok, "--import=1a=x/y"), 1, []string{"1a=x/y", "identifier"}},
		{append(ok, "--import="+valueModel, "--import=strings"), 1, []string{"strings", "neither"}},
		{append(ok, "--import=model=a.b/c", "--import="+valueModel), 1, []string{"a.b/c", "both", "model"}},
	} {
		var stderr bytes.Buffer
		if code := run(append(tc.args, "--output-dir", t.TempDir()), &stderr); code != tc.code {
			t.Errorf("%q: exit %d, want %d", tc.args, code, tc.code)
		}
		for _, want := range tc.want {
			if !strings.Contains(stderr.String(), want) {
				t.Errorf("%q: %q lacks %q", tc.args, &stderr, want)
			}
		}
	}
	var help bytes.Buffer
	if code := run([]string{"-h"}, &help); code != 0 || !strings.Contains(help.String(), "--descriptor-name") {
		t.Errorf("help: exit %d, %s", code, &help)
	}
}
