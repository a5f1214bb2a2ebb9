package output

import (
	"strings"
	"testing"
	"time"

	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/infra/infratest"
)

// newTerminal returns a printer whose output is a terminal of 60 columns.
func newTerminal(env map[string]string) (a *Printer, out *strings.Builder) {
	out = &strings.Builder{}
	return &Printer{
		Streams: Streams{Out: out, Err: out}, Environ: config.EnvMap(env), Now: time.Now,
		Term: Terminal{In: true, Out: true, Width: 60},
	}, out
}

func TestAsk(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]bool{"y\n": true, " YES \n": true, "n\n": false, "\n": false, "": false, "yesterday\n": false} {
		a, out := newTerminal(nil)
		yes, err := a.Ask(strings.NewReader(answer), "Apply these changes?")
		if yes != want || err != nil {
			t.Errorf("%q: %v, %v", answer, yes, err)
		}
		if !strings.HasPrefix(out.String(), "Apply these changes? [y/N] ") || want == strings.Contains(out.String(), "nothing was changed") {
			t.Errorf("%q: printed %q", answer, out.String())
		}
	}
}

func TestColours(t *testing.T) {
	t.Parallel()
	for _, env := range []map[string]string{nil, {"NO_COLOR": "1"}, {"TERM": "dumb"}} {
		a, _ := newTerminal(env)
		if got, want := a.Paint(Red, "x") != "x", env == nil; got != want {
			t.Errorf("%v: colours %v, expected %v", env, got, want)
		}
	}
	a, _ := newTerminal(nil)
	a.Term.Out = false
	if got := a.Paint(Red, "x"); got != "x" {
		t.Errorf("a file gets %q", got)
	}
}

// A table is not wider than the terminal, and words stay whole.
func TestTableFits(t *testing.T) {
	t.Parallel()
	a, out := newTerminal(nil)
	table := NewTable("ITEM", "STATE", "REASON")
	table.Row("vpp.interfaces/loop1", a.PaintState("FAILED"), "the southbound refused it because the table of interfaces is full\nand so on")
	table.Row("vpp.interfaces/loop2", "CONFIGURED", "")
	infratest.Fatal(t, table.Write(a))
	for line := range strings.Lines(out.String()) {
		if n := Width(strings.TrimRight(line, "\n")); n > 60 {
			t.Errorf("%d columns: %q", n, line)
		}
	}
	if strings.Count(out.String(), "\n") != 6 || !strings.Contains(out.String(), "southbound refused\n") {
		t.Errorf("printed\n%s", out.String())
	}
}

// A table of many columns fits as well: the columns in the middle are wrapped between words.
// Coloured cells are not.
func TestTableOfManyColumnsFits(t *testing.T) {
	t.Parallel()
	a, out := newTerminal(nil)
	a.Term.Width = 80
	table := NewTable("SEQ", "TYPE", "START", "INPUT", "OPERATIONS", "RESULT", "SUMMARY")
	table.Row(11, a.Paint(Magenta, "retry #1 for 11"), "1m16s", "19 values", "CREATE:28, DELETE:2, UPDATE:1", a.Paint(Red, "error"), "CONFIGURED:27, PENDING:3, REMOVED:1")
	if err := table.Write(a); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(out.String()) {
		if n := Width(strings.TrimRight(line, "\n")); n > 80 {
			t.Errorf("%d columns: %q", n, line)
		}
	}
	if text := out.String(); !strings.Contains(text, "retry #1 for 11") || !strings.Contains(text, "CREATE:28, ") {
		t.Errorf("printed\n%s", text)
	}
}

func TestColoursDoNotWidenTables(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{"": 0, "abc": 3, string(Red) + "abc" + string(reset): 3, "é" + string(Red) + "x": 2, "日本": 4, "e\u0301": 1, "👩‍💻": 2} {
		if got := Width(text); got != want {
			t.Errorf("Width(%q) = %d, expected %d", text, got, want)
		}
	}
}
