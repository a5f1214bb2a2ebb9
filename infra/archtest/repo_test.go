package archtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

const module = "github.com/tenuto-dev/tenuto"

// pkg is a package of the module, as "go list" reports it.
type pkg struct {
	ImportPath, Dir, Name              string
	GoFiles, CgoFiles, IgnoredGoFiles  []string
	TestGoFiles, XTestGoFiles          []string
	Imports, TestImports, XTestImports []string
	Error                              *struct{ Err string }
	Path                               string `json:"-"` // below the module: "infra/config"; "." is the root
	files                              []*source
}

// source is a parsed file.
type source struct {
	pkg       *pkg
	name      string // below the root of the repository
	test      bool
	generated bool
	text      []byte
	ast       *ast.File
	fset      *token.FileSet
}

// repository lists and parses the module once for all tests.
var repository = sync.OnceValues(func() ([]*pkg, error) {
	out, err := exec.Command("go", "env", "GOMOD").Output()
	if err != nil {
		return nil, err
	}
	root := filepath.Dir(strings.TrimSpace(string(out)))
	list := exec.Command("go", "list", "-e", "-json", "./...")
	list.Dir = root
	if out, err = list.Output(); err != nil {
		return nil, err
	}
	var pkgs []*pkg
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		p := &pkg{}
		if err := dec.Decode(p); errors.Is(err, io.EOF) {
			return pkgs, nil
		} else if err != nil {
			return nil, err
		}
		if err := p.load(root); err != nil {
			return nil, err
		}
		pkgs = append(pkgs, p)
	}
})

func packages(t *testing.T) []*pkg {
	t.Helper()
	pkgs, err := repository()
	if err != nil {
		t.Fatal(err)
	}
	if len(pkgs) < 10 {
		t.Fatalf("go list found %d packages: expected the whole module", len(pkgs))
	}
	return pkgs
}

func (p *pkg) load(root string) error {
	p.Path = strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/")
	if p.Path == "" {
		p.Path = "."
	}
	all := slices.Concat(p.GoFiles, p.CgoFiles, p.IgnoredGoFiles, p.TestGoFiles, p.XTestGoFiles)
	for _, name := range all {
		file := filepath.Join(p.Dir, name)
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		s, err := parse(p, filepath.ToSlash(rel), text)
		if err != nil {
			return err
		}
		p.files = append(p.files, s)
	}
	return nil
}

func parse(p *pkg, name string, text []byte) (*source, error) {
	s := &source{pkg: p, name: name, text: text, fset: token.NewFileSet(), test: strings.HasSuffix(name, "_test.go")}
	var err error
	s.ast, err = parser.ParseFile(s.fset, name, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	s.generated = ast.IsGenerated(s.ast)
	return s, nil
}

// line returns the line of a node.
func (s *source) line(n ast.Node) int { return s.fset.Position(n.Pos()).Line }

// matches reports whether a path fits a pattern: "a/b" is that package, "a/..."
// is a and all below, "a/*/b" has any one element in between.
func matches(pattern, path string) bool {
	if prefix, ok := strings.CutSuffix(pattern, "/..."); ok {
		elements := strings.Split(path, "/")
		n := strings.Count(prefix, "/") + 1
		return len(elements) >= n && matches(prefix, strings.Join(elements[:n], "/"))
	}
	ok, err := filepath.Match(pattern, path)
	return err == nil && ok
}

func anyMatches(patterns []string, path string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return matches(p, path) })
}

func TestMatches(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		pattern, path string
		want          bool
	}{
		{"infra/...", "infra", true}, {"infra/...", "infra/a/b", true}, {"infra/...", "infrared", false},
		{"infra", "infra/a", false}, {"plugins/*/model", "plugins/a/model", true}, {"plugins/*/model", "plugins/a/b/model", false},
		{"plugins/vpp/*/model/...", "plugins/vpp/if/model/x", true}, {"time", "time", true}, {"log/...", "log/slog", true},
	} {
		if got := matches(test.pattern, test.path); got != test.want {
			t.Errorf("%s, %s: got %v", test.pattern, test.path, got)
		}
	}
}
