package archtest

import (
	"fmt"
	"go/ast"
	"go/token"
	"path"
	"strings"
	"testing"
)

// limit is an upper bound for something that is measured in all packages. What
// exceeds it needs an entry in exceptions, with the reason; the list may only shrink.
type limit struct {
	name       string
	max        int
	measure    func(*pkg) []measured
	exceptions map[string]string
	why        string
	bad        string // a file that exceeds the limit, for the test of the limit
}

// measured is a measured item: its name for the list of exceptions, its place, and its size.
type measured struct {
	item, at string
	size     int
}

var limits = []limit{
	{
		name: "lines of a file", max: 800, measure: fileLines,
		why: "a file is read from top to bottom",
		bad: "package x\n" + strings.Repeat("\n", 800),
	},
	{
		name: "methods of a type", max: 60, measure: methods, exceptions: wideTypes,
		why: "a type with more has several responsibilities, which can be types of their own",
		bad: "package x\ntype t int\n" + repeat(61, "func (t) f%d() {}\n"),
	},
	{
		name: "cyclomatic complexity", max: 15, measure: complexities, exceptions: complexFunctions,
		why: "a function with more paths cannot be understood or tested as a whole",
		bad: "package x\nfunc f(a int) {\n" + repeat(15, "if a == %d {}\n") + "}",
	},
	{
		name: "operands of a condition", max: 5, measure: operands, exceptions: longConditions,
		why: "a condition with more needs names for its parts",
		bad: "package x\nfunc f(a, b bool) bool { return a && b || !a && (b || a) && b }",
	},
}

func repeat(n int, format string) string {
	var text strings.Builder
	for i := range n {
		fmt.Fprintf(&text, format, i)
	}
	return text.String()
}

func TestLimits(t *testing.T) {
	t.Parallel()
	for _, l := range limits {
		needed := map[string]bool{}
		for _, p := range packages(t) {
			for _, m := range l.exceeding(p) {
				if pattern := l.exception(m.item); pattern != "" {
					needed[pattern] = true
				} else {
					t.Errorf("%s: %s of %s: %d, expected at most %d: %s", m.at, l.name, m.item, m.size, l.max, l.why)
				}
			}
		}
		for item, reason := range l.exceptions {
			if !needed[item] {
				t.Errorf("%s: %s is no longer an exception: remove it from the list", l.name, item)
			}
			if reason == "" {
				t.Errorf("%s: the exception %s has no reason", l.name, item)
			}
		}
	}
}

func TestLimitsSeeViolations(t *testing.T) {
	t.Parallel()
	for _, l := range limits {
		p := &pkg{Path: "plugins/x", Name: "x"}
		s, err := parse(p, "plugins/x/x.go", []byte(l.bad))
		if err != nil {
			t.Fatalf("%s: %v", l.name, err)
		}
		p.files = []*source{s}
		if found := l.exceeding(p); len(found) != 1 || found[0].size != l.max+1 {
			t.Errorf("%s: found %v, expected one of size %d, in\n%s", l.name, found, l.max+1, l.bad)
		}
	}
}

// exception returns the entry of the list of exceptions for an item; empty: none.
func (l limit) exception(item string) string {
	for pattern := range l.exceptions {
		if ok, err := path.Match(pattern, item); ok && err == nil {
			return pattern
		}
	}
	return ""
}

// exceeding returns what exceeds the limit in a package.
func (l limit) exceeding(p *pkg) (found []measured) {
	for _, m := range l.measure(p) {
		if m.size > l.max {
			found = append(found, m)
		}
	}
	return found
}

func fileLines(p *pkg) (all []measured) {
	for _, s := range p.files {
		if !s.generated {
			all = append(all, measured{s.name, s.name, strings.Count(string(s.text), "\n")})
		}
	}
	return all
}

// declarations visits the functions of a package and its other declarations outside of
// tests, with the names that lists of exceptions have for them.
func declarations(p *pkg, visit func(s *source, d ast.Decl, item string)) {
	for _, s := range p.files {
		if s.generated || s.test {
			continue
		}
		for _, d := range s.ast.Decls {
			item := p.Path + "."
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Recv != nil {
					item += receiver(d) + "."
				}
				item += d.Name.Name
			case *ast.GenDecl:
				item += d.Tok.String()
			}
			visit(s, d, item)
		}
	}
}

// receiver is the name of the type that a method belongs to.
func receiver(f *ast.FuncDecl) string {
	t := f.Recv.List[0].Type
	for {
		switch x := t.(type) {
		case *ast.StarExpr:
			t = x.X
		case *ast.IndexExpr:
			t = x.X
		case *ast.IndexListExpr:
			t = x.X
		case *ast.Ident:
			return x.Name
		default:
			return ""
		}
	}
}

func methods(p *pkg) (all []measured) {
	index := map[string]int{}
	declarations(p, func(s *source, d ast.Decl, _ string) {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Recv == nil {
			return
		}
		item := p.Path + "." + receiver(f)
		i, ok := index[item]
		if !ok {
			i = len(all)
			index[item] = i
			all = append(all, measured{item, fmt.Sprintf("%s:%d", s.name, s.line(f)), 0})
		}
		all[i].size++
	})
	return all
}

// complexities counts the decisions of functions, including function literals in them:
// each if, loop, case, && and || is one more path.
func complexities(p *pkg) (all []measured) {
	declarations(p, func(s *source, d ast.Decl, item string) {
		f, ok := d.(*ast.FuncDecl)
		if !ok {
			return
		}
		paths := 1
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.IfStmt, *ast.ForStmt, *ast.RangeStmt:
				paths++
			case *ast.CaseClause:
				if n.List != nil {
					paths++
				}
			case *ast.CommClause:
				if n.Comm != nil {
					paths++
				}
			case *ast.BinaryExpr:
				if n.Op == token.LAND || n.Op == token.LOR {
					paths++
				}
			}
			return true
		})
		all = append(all, measured{item, fmt.Sprintf("%s:%d", s.name, s.line(f)), paths})
	})
	return all
}

// operands counts the operands of && and || in each condition.
func operands(p *pkg) (all []measured) {
	declarations(p, func(s *source, d ast.Decl, item string) {
		ast.Inspect(d, func(n ast.Node) bool {
			e, ok := n.(ast.Expr)
			if !ok {
				return true
			}
			size := operandsOf(e)
			if size > 1 {
				all = append(all, measured{item, fmt.Sprintf("%s:%d", s.name, s.line(e)), size})
			}
			return size == 1 // a condition counts as a whole
		})
	})
	return all
}

func operandsOf(e ast.Expr) int {
	switch e := e.(type) {
	case *ast.ParenExpr:
		return operandsOf(e.X)
	case *ast.UnaryExpr:
		if e.Op == token.NOT {
			return operandsOf(e.X)
		}
	case *ast.BinaryExpr:
		if e.Op == token.LAND || e.Op == token.LOR {
			return operandsOf(e.X) + operandsOf(e.Y)
		}
	}
	return 1
}
