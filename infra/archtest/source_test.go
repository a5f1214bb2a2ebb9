package archtest

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/tenuto-dev/tenuto/infra/config"
)

const maxFunction = 60 // lines

// rule is a rule about the source of one file.
type rule struct {
	name string
	// where selects the files that it holds for; nil means all that no generator wrote.
	where func(*source) bool
	check func(*source, report)
	why   string
	bad   string // a file that breaks the rule, for the test of the rule
}

// report notes a violation at a node.
type report func(at ast.Node, format string, args ...any)

var rules = []rule{
	{
		name: "function length", where: notTest, check: functionLength,
		why: fmt.Sprintf("a function does one thing: at most %d lines, without the lines of a list that it returns", maxFunction),
		bad: "package x\nfunc f() {\n" + strings.Repeat("\n", maxFunction) + "}",
	},
	{
		name: "no init", check: noInit,
		why: "importing a package must not do anything; two agents live in one process",
		bad: "package x\nfunc init() {}",
	},
	{
		name: "no printing", where: notProgram, check: noCalls("fmt", "Print", "Println", "Printf"),
		why: "standard output belongs to the program; libraries log, or write to a given writer",
		bad: `package x; import "fmt"; func f() { fmt.Println() }`,
	},
	{
		name: "no exit", where: notProgram, check: noCalls("os", "Exit"),
		why: "os.Exit skips the Close of all plugins; return an error",
		bad: `package x; import "os"; func f() { os.Exit(1) }`,
	},
	{
		name: "no fatal log", where: notProgram, check: noCalls("log", "Fatal", "Fatalf", "Fatalln", "Panic", "Panicf", "Println", "Printf", "Print"),
		why: "the log package is global state and exits the process; use the plugin's logger",
		bad: `package x; import "log"; func f() { log.Fatal() }`,
	},
	{
		name: "environment", where: outsideConfig, check: noCalls("os", "Getenv", "LookupEnv", "Environ", "ExpandEnv"),
		why: "an undeclared environment variable is hidden behaviour; use a flag, or config.Env and config.Variables",
		bad: `package x; import "os"; func f() { os.Getenv("X") }`,
	},
	{
		name: "declared variables", where: notTest, check: declaredVariables,
		why: "config.Env knows only what config.Variables lists, so that --help can list it",
		bad: `package x; import "` + module + `/infra/config"; func f() { config.Env("NOT_LISTED") }`,
	},
	{
		name: "no panic", where: library, check: noPanic,
		why: "a panic in a library is an exit with a stack; return an error (Must... functions may panic, and lines that say /* ok: why */)",
		bad: `package x; func f() { panic(1) }`,
	},
	{
		name: "no TODO context", check: noCalls("context", "TODO"),
		why: "a context comes from the caller, or from PluginDeps.Context",
		bad: `package x; import "context"; func f() { context.TODO() }`,
	},
	{
		name: "default plugins", where: notProgram, check: defaultPlugins,
		why: "DefaultPlugin is for programs with one agent; everything else would tie two agents in one process together",
		bad: `package x; var y = z.DefaultPlugin`,
	},
	{
		name: "exported names have comments", where: documented, check: exportedComments,
		why: "an exported name says what it is for",
		bad: "package x\nfunc F() {}",
	},
	{
		name: "no sleep in tests", where: func(s *source) bool { return s.test }, check: noSleepOutsideSynctest,
		why: "a sleep makes a test slow and still guesses; wait for what is meant, or use testing/synctest",
		bad: `package x; import "time"; func f() { time.Sleep(1) }`,
	},
	{
		name: "programs of tests", where: func(s *source) bool { return s.test }, check: noProgramsByHand,
		why: "a process that another test starts meanwhile has the file open, and it cannot be run (\"text file busy\"); use infratest.Script",
		bad: `package x; import "os"; func f() { os.WriteFile("x", nil, 0o700) }`,
	},
}

func notTest(s *source) bool { return !s.test }

func isProgram(s *source) bool {
	return s.pkg.Name == "main" || anyMatches([]string{"cmd/...", "examples/..."}, s.pkg.Path)
}

func notProgram(s *source) bool { return !s.test && !isProgram(s) }

func library(s *source) bool { return notProgram(s) && !isMadeForTests(s.pkg.Path) }

func outsideConfig(s *source) bool { return !s.test && s.pkg.Path != "infra/config" }

func documented(s *source) bool {
	return !s.test && s.pkg.Name != "main" && !strings.Contains(s.pkg.Path, "testdata")
}

func TestSource(t *testing.T) {
	t.Parallel()
	for _, p := range packages(t) {
		for _, s := range p.files {
			if s.generated {
				continue
			}
			for _, r := range rules {
				for _, v := range r.violations(s) {
					t.Error(v)
				}
			}
		}
	}
}

func (r rule) violations(s *source) []string {
	if r.where != nil && !r.where(s) {
		return nil
	}
	var all []string
	r.check(s, func(at ast.Node, format string, args ...any) {
		all = append(all, fmt.Sprintf("%s:%d: %s: %s (%s)", s.name, s.line(at), r.name, fmt.Sprintf(format, args...), r.why))
	})
	return all
}

func TestSourceRulesSeeViolations(t *testing.T) {
	t.Parallel()
	for _, r := range rules {
		file := "plugins/x/x.go"
		if r.where != nil && r.where(&source{test: true, pkg: &pkg{}}) {
			file = "plugins/x/x_test.go"
		}
		s, err := parse(&pkg{Path: "plugins/x", Name: "x"}, file, []byte(r.bad))
		if err != nil {
			t.Fatalf("%s: %v", r.name, err)
		}
		if len(r.violations(s)) == 0 {
			t.Errorf("%s: finds nothing in\n%s", r.name, r.bad)
		}
	}
}

func functionLength(s *source, bad report) {
	for _, d := range s.ast.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}
		if n := s.fset.Position(f.End()).Line - s.line(f) + 1 - s.listed(f); n > maxFunction {
			bad(f, "%s has %d lines", f.Name.Name, n)
		}
	}
}

// listed returns the number of lines of lists that a function returns: a list grows by a line for
// each thing that there is, and remains a list.
func (s *source) listed(f *ast.FuncDecl) (lines int) {
	ast.Inspect(f, func(n ast.Node) bool {
		if r, ok := n.(*ast.ReturnStmt); ok && len(r.Results) == 1 {
			if list, ok := r.Results[0].(*ast.CompositeLit); ok {
				if _, isArray := list.Type.(*ast.ArrayType); isArray {
					lines += s.fset.Position(list.End()).Line - s.line(list)
				}
			}
		}
		return true
	})
	return lines
}

func noInit(s *source, bad report) {
	for _, d := range s.ast.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == "init" {
			bad(f, "func init")
		}
	}
}

// importName returns the name under which a file knows a package; "" if it
// does not import it.
func importName(s *source, importPath string) string {
	for _, spec := range s.ast.Imports {
		if strings.Trim(spec.Path.Value, `"`) != importPath {
			continue
		}
		if spec.Name != nil {
			return spec.Name.Name
		}
		return path.Base(importPath)
	}
	return ""
}

// calls visits the uses of a package's functions.
func calls(s *source, importPath string, visit func(sel *ast.SelectorExpr)) {
	name := importName(s, importPath)
	if name == "" {
		return
	}
	ast.Inspect(s.ast, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := sel.X.(*ast.Ident); ok && x.Name == name {
				visit(sel)
			}
		}
		return true
	})
}

func noCalls(importPath string, functions ...string) func(*source, report) {
	return func(s *source, bad report) {
		calls(s, importPath, func(sel *ast.SelectorExpr) {
			if slices.Contains(functions, sel.Sel.Name) {
				bad(sel, "%s.%s", importPath, sel.Sel.Name)
			}
		})
	}
}

func declaredVariables(s *source, bad report) {
	known := map[string]bool{}
	for _, v := range config.Variables() {
		known[v.Name] = true
	}
	name := importName(s, module+"/infra/config")
	ast.Inspect(s.ast, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || len(call.Args) != 1 || name == "" {
			return true
		}
		sel, ok := call.Fun.(*ast.SelectorExpr)
		if !ok || sel.Sel.Name != "Env" {
			return true
		}
		if x, ok := sel.X.(*ast.Ident); !ok || x.Name != name {
			return true
		}
		if lit, ok := call.Args[0].(*ast.BasicLit); !ok || !known[strings.Trim(lit.Value, `"`)] {
			bad(call, "config.Env of a name that config.Variables does not list")
		}
		return true
	})
}

var excused = regexp.MustCompile(`/\* ok: .+ \*/`)

func noPanic(s *source, bad report) {
	lines := bytes.Split(s.text, []byte("\n"))
	for _, d := range s.ast.Decls {
		f, ok := d.(*ast.FuncDecl)
		if ok && (strings.HasPrefix(f.Name.Name, "Must") || strings.HasPrefix(f.Name.Name, "must")) {
			continue
		}
		ast.Inspect(d, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			if id, ok := call.Fun.(*ast.Ident); ok && id.Name == "panic" && !excused.Match(lines[s.line(call)-1]) {
				bad(call, "panic")
			}
			return true
		})
	}
}

func defaultPlugins(s *source, bad report) {
	if path.Base(s.name) == "options.go" {
		return
	}
	ast.Inspect(s.ast, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && id.Name == "DefaultPlugin" {
			bad(id, "DefaultPlugin outside options.go")
		}
		return true
	})
}

func exportedComments(s *source, bad report) {
	for _, d := range s.ast.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Name.IsExported() && exportedReceiver(d) && d.Doc == nil {
				bad(d, "%s", d.Name.Name)
			}
		case *ast.GenDecl:
			if d.Tok != token.IMPORT {
				exportedSpecs(d, bad)
			}
		}
	}
}

func exportedReceiver(f *ast.FuncDecl) bool { return f.Recv == nil || ast.IsExported(receiver(f)) }

func exportedSpecs(d *ast.GenDecl, bad report) {
	for _, spec := range d.Specs {
		switch spec := spec.(type) {
		case *ast.TypeSpec:
			if spec.Name.IsExported() && d.Doc == nil && spec.Doc == nil && spec.Comment == nil {
				bad(spec, "%s", spec.Name.Name)
			}
		case *ast.ValueSpec:
			for _, name := range spec.Names {
				if name.IsExported() && d.Doc == nil && spec.Doc == nil && spec.Comment == nil {
					bad(spec, "%s", name.Name)
				}
			}
		}
	}
}

func noSleepOutsideSynctest(s *source, bad report) {
	if importName(s, "testing/synctest") != "" {
		return // its clock is not real
	}
	lines := bytes.Split(s.text, []byte("\n"))
	calls(s, "time", func(sel *ast.SelectorExpr) {
		if sel.Sel.Name == "Sleep" && !excused.Match(lines[s.line(sel)-1]) {
			bad(sel, "time.Sleep")
		}
	})
}

func noProgramsByHand(s *source, bad report) {
	name := importName(s, "os")
	lines := bytes.Split(s.text, []byte("\n"))
	ast.Inspect(s.ast, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || len(call.Args) != 3 || name == "" {
			return true
		}
		sel, isSelector := call.Fun.(*ast.SelectorExpr)
		mode, isNumber := call.Args[2].(*ast.BasicLit)
		if !isSelector || !isNumber || sel.Sel.Name != "WriteFile" {
			return true
		}
		if x, ok := sel.X.(*ast.Ident); !ok || x.Name != name {
			return true
		}
		if bits, err := strconv.ParseUint(mode.Value, 0, 32); err == nil && bits&0o111 != 0 && !excused.Match(lines[s.line(sel)-1]) {
			bad(sel, "os.WriteFile with the mode %s", mode.Value)
		}
		return true
	})
}
