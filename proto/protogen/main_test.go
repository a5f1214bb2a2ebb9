package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The committed code is generated from the schema.
func TestCommittedCodeIsCurrent(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long; make test runs it")
	}
	t.Parallel()
	g, err := newGenerator("..", ".", true)
	if err != nil {
		t.Fatal(err)
	}
	code, err := g.generate(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	err = filepath.WalkDir(g.root, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(file, ".pb.go") {
			return err
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(g.root, file)
		if name = filepath.ToSlash(name); code[name] != string(text) {
			t.Errorf("%s differs from the generated code: run go generate ./proto", name)
		}
		delete(code, name)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for name := range code {
		t.Errorf("%s is missing: run go generate ./proto", name)
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	for want, files := range map[string]map[string]string{
		"found no .proto file in": {"go.mod": "module x\n"},
		"found no go.mod":         {"x.proto": ""},
		"sub/x.proto:2:8: open other.proto: file does not exist":                      {"go.mod": "module x\n", "sub/x.proto": "syntax = \"proto3\";\nimport \"other.proto\";\n"},
		"sub/x.proto:2:20: syntax error":                                              {"go.mod": "module x\n", "sub/x.proto": "syntax = \"proto3\";\nmessage X { string };\n"},
		"sub/x.proto:3:34: message X: option (ligato.item).x: field x of ligato.Item": {"go.mod": "module x\n", "sub/x.proto": "syntax = \"proto3\";\nimport \"ligato/item.proto\";\nmessage X { option (ligato.item).x = 1; }\n"},
	} {
		dir := t.TempDir()
		if err := os.Mkdir(filepath.Join(dir, "sub"), 0o700); err != nil {
			t.Fatal(err)
		}
		for name, text := range files {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		g, err := newGenerator(dir, "", true)
		if err == nil {
			_, err = g.generate(t.Context())
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, expected %q", err, want)
		}
	}
	if err := run(t.Context(), []string{"x.proto"}); err == nil || !strings.Contains(err.Error(), `unexpected argument "x.proto"`) {
		t.Errorf("error %v", err)
	}
}
