package cli

import (
	"strings"
	"testing"
	"time"

	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/infra/errtest"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
)

// newTerminalApp returns an app whose output is a terminal of 60 columns.
func newTerminalApp(env map[string]string) (a *app, out *strings.Builder) {
	out = &strings.Builder{}
	return &app{
		Streams: Streams{Out: out, Err: out}, environ: config.EnvMap(env), now: time.Now,
		term: terminal{in: true, out: true, width: 60},
	}, out
}

func TestAsk(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]bool{"y\n": true, " YES \n": true, "n\n": false, "\n": false, "": false, "yesterday\n": false} {
		a, out := newTerminalApp(nil)
		yes, err := a.ask(strings.NewReader(answer), "Apply these changes?")
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
		a, _ := newTerminalApp(env)
		if got, want := a.paint(red, "x") != "x", env == nil; got != want {
			t.Errorf("%v: colours %v, expected %v", env, got, want)
		}
	}
	a, _ := newTerminalApp(nil)
	a.term.out = false
	if got := a.paint(red, "x"); got != "x" {
		t.Errorf("a file gets %q", got)
	}
}

// A table is not wider than the terminal, and words stay whole.
func TestTableFits(t *testing.T) {
	t.Parallel()
	a, out := newTerminalApp(nil)
	table := newTable("ITEM", "STATE", "REASON")
	table.row("vpp.interfaces/loop1", a.paintState("FAILED"), "the southbound refused it because the table of interfaces is full\nand so on")
	table.row("vpp.interfaces/loop2", "CONFIGURED", "")
	errtest.Fatal(t, table.write(a))
	for line := range strings.Lines(out.String()) {
		if n := width(strings.TrimRight(line, "\n")); n > 60 {
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
	a, out := newTerminalApp(nil)
	a.term.width = 80
	table := newTable("SEQ", "TYPE", "START", "INPUT", "OPERATIONS", "RESULT", "SUMMARY")
	table.row(11, a.paint(magenta, "retry #1 for 11"), "1m16s", "19 values", "CREATE:28, DELETE:2, UPDATE:1", a.paint(red, "error"), "CONFIGURED:27, PENDING:3, REMOVED:1")
	if err := table.write(a); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(out.String()) {
		if n := width(strings.TrimRight(line, "\n")); n > 80 {
			t.Errorf("%d columns: %q", n, line)
		}
	}
	if text := out.String(); !strings.Contains(text, "retry #1 for 11") || !strings.Contains(text, "CREATE:28, ") {
		t.Errorf("printed\n%s", text)
	}
}

// The texts of status and the list of metrics are not wider than the terminal.
func TestTextsFit(t *testing.T) {
	t.Parallel()
	f := newFakeAgent(t)
	for line, want := range map[string]string{
		"status":       "    Simulated:   vpp, linux (VPP and Linux are simulated: what is CONFIGURED\n                 exists only inside the agent)\n",
		"top -n 1":     "    Waiting:     201 changes, the first for 1m1s (filedb: 1, grpc: 200; clients:\n                 200 of 200, 198 from 10.0.0.7:999)\n",
		"metrics list": "vpp_interface_name_of_many_words_in_   gauge     1        Bytes that an\n  bytes",
	} {
		r := f.runOn(t, terminal{out: true, width: 80}, map[string]string{"NO_COLOR": "1"}, strings.Fields(line)...)
		if !strings.Contains(r.out, want) {
			t.Errorf("%s: printed\n%s%s", line, r.out, r.err)
		}
		for line := range strings.Lines(r.out) {
			if n := width(strings.TrimRight(line, "\n")); n > 80 {
				t.Errorf("%d columns: %q", n, line)
			}
		}
	}
}

// The legend of a plan is broken between its parts.
func TestLegendFits(t *testing.T) {
	t.Parallel()
	if got := fitted(legend, 0); got != legend {
		t.Errorf("without a limit: %q", got)
	}
	got := fitted(legend, 80)
	for line := range strings.Lines(got) {
		if n := width(line); n > 81 {
			t.Errorf("%d columns: %q", n, line)
		}
	}
	if strings.ReplaceAll(got, "\n", columnGap) != legend {
		t.Errorf("printed %q", got)
	}
}

// A large plan shows the first operations of each kind, and counts all.
func TestLargePlan(t *testing.T) {
	t.Parallel()
	var ops []api.RecordedTxnOp
	for range 300 {
		ops = append(ops,
			api.RecordedTxnOp{Operation: kvscheduler.TxnOperation_CREATE, Key: "config/vpp/v2/interfaces/a", NewState: kvscheduler.ValueState_CONFIGURED},
			api.RecordedTxnOp{Operation: kvscheduler.TxnOperation_DELETE, Key: "config/vpp/v2/interfaces/b", PrevState: kvscheduler.ValueState_CONFIGURED})
	}
	p := &shownPlan{Changes: &api.Plan{Operations: ops}}
	for perKind, hidden := range map[uint]string{50: "and 500 more; --all shows them\n", 0: ""} {
		a, out := newTerminalApp(map[string]string{"NO_COLOR": "1"})
		errtest.Fatal(t, a.printPlan(p, planView{perKind: perKind}))
		shown := strings.Count(out.String(), "  + vpp.interfaces/a\n")
		if want := int(perKind); perKind > 0 && shown != want || perKind == 0 && shown != 300 {
			t.Errorf("limit %d: %d creates shown", perKind, shown)
		}
		if !strings.Contains(out.String(), "300 to create, 300 to delete") || hidden != "" != strings.Contains(out.String(), "and 500 more") {
			t.Errorf("limit %d: printed\n%s", perKind, out.String()[len(out.String())-200:])
		}
	}
}
