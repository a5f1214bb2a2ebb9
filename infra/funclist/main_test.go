package main

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tenuto-dev/tenuto/infra/infratest"
)

var (
	directive = regexp.MustCompile(`(?m)^//go:generate go run github\.com/tenuto-dev/tenuto/infra/funclist (.*)$`)
	argument  = regexp.MustCompile(`"[^"]*"|\S+`)
)

// The committed lists have every function of their type.
func TestListsAreCurrent(t *testing.T) {
	t.Parallel()
	lists := 0
	infratest.Fatal(t, filepath.WalkDir("../../plugins", func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(file) != ".go" {
			return err
		}
		text, err := os.ReadFile(file)
		infratest.Fatal(t, err)
		for _, m := range directive.FindAllSubmatch(text, -1) {
			lists++
			args := argument.FindAllString(string(m[1]), -1)
			for i, a := range args {
				args[i] = strings.Trim(a, `"`)
			}
			name, want, err := generate(filepath.Dir(file), args)
			infratest.Fatal(t, err)
			name = filepath.Join(filepath.Dir(file), name)
			if got, err := os.ReadFile(name); !bytes.Equal(got, want) {
				t.Errorf("%s (error %v) has other functions than their packages: run go generate %s", name, err, filepath.Dir(file))
			}
		}
		return nil
	}))
	if lists == 0 {
		t.Error("found no list")
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	for want, args := range map[string][]string{
		"expected the type of a function": {"-type", "int", "-var", "x"},
		"and an identifier":               {"-type", "func()", "-var", "x-y"},
		`-type "func("`:                   {"-type", "func(", "-var", "x"},
		"found no function of the type":   {"-type", "func(a, b int) uint8", "-var", "x"},
		"flag provided but not defined":   {"-typ", "func()"},
	} {
		if _, _, err := generate(".", args); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: error %v, expected %q", args, err, want)
		}
	}
}

// Names of parameters do not matter, and a package comes after those that it builds on.
func TestOrder(t *testing.T) {
	t.Parallel()
	all := []pkg{{ImportPath: "m/a", Imports: []string{"m/b/descriptor"}}, {ImportPath: "m/b", Imports: []string{"m/bc"}}, {ImportPath: "m/c"}, {ImportPath: "m/bc"}}
	var got []string
	for _, p := range ordered(all) {
		got = append(got, p.ImportPath)
	}
	if want := []string{"m/bc", "m/b", "m/a", "m/c"}; !slices.Equal(got, want) {
		t.Errorf("got %q, expected %q", got, want)
	}
	for _, args := range [][]string{{"-type", "func(p []pkg) (s []pkg)", "-var", "orders"}, {"-type", "func([]pkg) []pkg", "-var", "orders"}} {
		name, text, err := generate(".", args)
		if err != nil || name != "orders_list.go" || !strings.Contains(string(text), "var orders = []func([]pkg) []pkg{\n\tordered,\n}") {
			t.Errorf("%v: got %s, error %v\n%s", args, name, err, text)
		}
	}
}
