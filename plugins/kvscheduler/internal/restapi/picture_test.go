package restapi_test

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenuto-dev/tenuto/infra/infratest"
)

// graphviz writes a shell script that replaces the program of Graphviz.
func graphviz(t *testing.T, script string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "dot")
	if err := infratest.Script(file, "#!/bin/sh\n"+script+"\n"); err != nil {
		t.Fatal(err)
	}
	return file
}

// With Graphviz installed, pictures are its output, and the default.
func TestPicture(t *testing.T) {
	t.Parallel()
	get := serveWith(t, newFake(), graphviz(t, `echo "drawn with $1"; cat`))
	for url, want := range map[string]struct{ mediaType, text string }{
		"/scheduler/graph":                         {"image/svg+xml", "drawn with -Tsvg\ndigraph kvscheduler {"},
		"/scheduler/graph?format=svg&prefix=bd/1/": {"image/svg+xml", "drawn with -Tsvg\ndigraph kvscheduler {"},
		"/scheduler/graph?format=png":              {"image/png", "drawn with -Tpng\ndigraph kvscheduler {"},
		"/scheduler/graph?format=dot":              {"text/vnd.graphviz; charset=utf-8", "digraph kvscheduler {"},
	} {
		w := get("GET", url)
		if w.Code != http.StatusOK || w.Header().Get("Content-Type") != want.mediaType || !strings.HasPrefix(w.Body.String(), want.text) {
			t.Errorf("%s: %d %v %s", url, w.Code, w.Header(), w.Body)
		}
	}
}

// Without Graphviz, the default is DOT, and the error says what is missing.
func TestPictureWithoutGraphviz(t *testing.T) {
	t.Parallel()
	get := serve(t, newFake())
	if w := get("GET", "/scheduler/graph"); w.Code != http.StatusOK || !strings.HasPrefix(w.Body.String(), "digraph") {
		t.Errorf("default: %d %s", w.Code, w.Body)
	}
	if w := get("GET", "/scheduler/graph?format=svg"); w.Code != http.StatusNotImplemented ||
		!strings.Contains(w.Body.String(), "no-such-program") || !strings.Contains(w.Body.String(), "format=dot") {
		t.Errorf("svg: %d %s", w.Code, w.Body)
	}
	failing := serveWith(t, newFake(), graphviz(t, "echo syntax error >&2; exit 1"))
	if w := failing("GET", "/scheduler/graph?format=svg"); w.Code != http.StatusInternalServerError || !strings.Contains(w.Body.String(), "syntax error") {
		t.Errorf("a failure: %d %s", w.Code, w.Body)
	}
}
