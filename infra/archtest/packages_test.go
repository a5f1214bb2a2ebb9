package archtest

import (
	"bytes"
	"fmt"
	"go/ast"
	"strings"
	"testing"
)

// Every package says once what it is.
func TestOnePackageComment(t *testing.T) {
	t.Parallel()
	for _, p := range packages(t) {
		var with []string
		generated := true
		for _, s := range p.files {
			generated = generated && s.generated
			if s.ast.Doc != nil && !strings.HasSuffix(s.ast.Name.Name, "_test") && !s.generated {
				with = append(with, s.name)
			}
		}
		if !generated && len(with) != 1 {
			t.Errorf("%s: %d package comments %v: a package says what it is in one place", p.Path, len(with), with)
		}
	}
}

// Packages that start goroutines have tests that see when one stays behind.
func TestGoroutinesAreWatched(t *testing.T) {
	t.Parallel()
	for _, p := range packages(t) {
		starts, watched := "", false
		for _, s := range p.files {
			if s.test {
				watched = watched || bytes.Contains(s.text, []byte("goleak.VerifyTestMain(")) ||
					bytes.Contains(s.text, []byte("goleak.VerifyNone("))
				continue
			}
			ast.Inspect(s.ast, func(n ast.Node) bool {
				if g, ok := n.(*ast.GoStmt); ok && !s.generated {
					starts = fmt.Sprintf("%s:%d", s.name, s.line(g))
				}
				return true
			})
		}
		if starts != "" && !watched && p.Name != "main" && !isMadeForTests(p.Path) {
			t.Errorf("%s starts a goroutine, and no test of %s looks for leaks: call goleak.VerifyTestMain in TestMain", starts, p.Path)
		}
	}
}

// The configuration of every plugin is linted by a test of its package.
func TestConfigurationsAreLinted(t *testing.T) {
	t.Parallel()
	for _, p := range packages(t) {
		spec, linted := "", false
		for _, s := range p.files {
			if s.test {
				linted = linted || bytes.Contains(s.text, []byte("config.Lint("))
				continue
			}
			for _, d := range s.ast.Decls {
				if f, ok := d.(*ast.FuncDecl); ok && f.Recv != nil && f.Name.Name == "ConfigSpec" {
					spec = fmt.Sprintf("%s:%d", s.name, s.line(f))
				}
			}
		}
		if spec != "" && !linted && p.Name != "main" {
			t.Errorf("%s has a configuration, and no test of %s calls config.Lint: keys without tags or descriptions go unseen", spec, p.Path)
		}
	}
}
