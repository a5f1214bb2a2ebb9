package archtest

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/token"
	"regexp"
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

// What VPP must have for an item is reported because a list of operations names the operation.
func TestOperationsAreListed(t *testing.T) {
	t.Parallel()
	declares := regexp.MustCompile(`\b(session|item)\.(Declare|Require|DeclareObject)[\[(]|\bdeclareLinks[\[(]`)
	declared := 0
	for _, p := range packages(t) {
		where, listed := map[string]string{}, map[string]bool{}
		for _, s := range p.files {
			if s.test || s.generated {
				continue
			}
			for _, v := range packageVariables(s.ast) {
				text := s.text[s.fset.Position(v.Pos()).Offset:s.fset.Position(v.End()).Offset]
				if declares.Match(text) {
					where[v.Names[0].Name] = fmt.Sprintf("%s:%d", s.name, s.line(v))
				}
			}
			ast.Inspect(s.ast, func(n ast.Node) bool {
				if list, ok := n.(*ast.CompositeLit); ok && isOperations(list.Type) {
					ast.Inspect(list, func(n ast.Node) bool {
						if id, ok := n.(*ast.Ident); ok {
							listed[id.Name] = true
						}
						return true
					})
				}
				return true
			})
		}
		declared += len(where)
		for name, at := range where {
			if !listed[name] {
				t.Errorf("%s: no session.Operations{...} has %s, so that no report says which messages it needs; list it in the Spec of the plugin", at, name)
			}
		}
	}
	if declared == 0 {
		t.Error("found no operation")
	}
}

// packageVariables returns the declarations of the variables of a file, outside functions.
func packageVariables(f *ast.File) (all []*ast.ValueSpec) {
	for _, d := range f.Decls {
		if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.VAR {
			for _, s := range g.Specs {
				all = append(all, s.(*ast.ValueSpec))
			}
		}
	}
	return all
}

// isOperations: the type is session.Operations.
func isOperations(t ast.Expr) bool {
	sel, ok := t.(*ast.SelectorExpr)
	return ok && sel.Sel.Name == "Operations"
}
