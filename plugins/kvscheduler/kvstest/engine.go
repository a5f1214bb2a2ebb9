package kvstest

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest/model"
)

// Env is the world of one scenario.
type Env struct {
	// Scheduler is the scheduler under test.
	Scheduler api.KVScheduler
	// Stop ends the scheduler, for the command "restart"; nil if that is not
	// possible.
	Stop func()
	// Clock is the scheduler's clock; nil: no command "tick".
	Clock *Clock
	// SB is the mock southbound; nil: no commands that look into it or edit it.
	SB *MockSB
	// NewValue returns an empty message for a key; default: a model.Item.
	NewValue func(key string) proto.Message
	// Commands are additional commands by name.
	Commands map[string]Command

	policies *policies // of a MockWorld
	journal  *Journal  // of a MockWorld; nil until "journal"
}

// Command is one command of scenarios: it gets its arguments and returns its
// output. An error ends the scenario; what a scenario can expect (a failed
// transaction) is output.
type Command func(r *Run, args []string) (output string, err error)

// Factory makes the world of a scenario. It is called again for the command
// "restart", with the world so far; it then keeps clock and southbound.
type Factory func(t testing.TB, before *Env) *Env

// MockWorld is the Factory for scenarios of the scheduler itself: a MockSB
// that insists on dependencies, and no descriptors.
func MockWorld(t testing.TB, before *Env) *Env {
	t.Helper()
	env := &Env{}
	if before != nil {
		env.Clock, env.SB, env.policies, env.journal = before.Clock, before.SB, before.policies, before.journal
	} else {
		env.Clock, env.SB, env.policies = NewClock(), NewMockSB(), &policies{}
	}
	env.Scheduler, env.Stop = newScheduler(t, env)
	t.Cleanup(env.SB.ReleaseAll)
	return env
}

// Run is a scenario while it runs.
type Run struct {
	*Env
	T testing.TB

	script     *script
	factory    Factory
	commands   map[string]Command
	registered [][]string // arguments of "descriptor", for a restart
	seen       uint64     // sequence number of the next transaction to report
	lenient    []string   // prefixes of keys that the southbound does not insist on
	watch      *watch
	plan       []byte // saved by "plan"
}

// RunScripts runs every scenario that matches the glob, as a parallel subtest
// named after the file. If the test binary has a flag "update" and it is set,
// the expected outputs in the files are rewritten.
func RunScripts(t *testing.T, glob string, factory Factory) {
	t.Helper()
	files, err := filepath.Glob(glob)
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Fatalf("no scenario matches %s", glob)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			runFile(t, file, factory)
		})
	}
}

func updating() bool {
	f := flag.Lookup("update")
	return f != nil && f.Value.String() == "true"
}

func runFile(t *testing.T, file string, factory Factory) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	s, err := parseScript(string(text))
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	outputs := s.run(t, file, factory, updating())
	if updating() {
		if err := os.WriteFile(file, []byte(s.format(outputs)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// run executes the commands and returns their outputs. A difference fails the
// test, unless the outputs are being rewritten.
func (s *script) run(t testing.TB, file string, factory Factory, update bool) map[int][]string {
	t.Helper()
	r := &Run{Env: factory(t, nil), T: t, script: s, factory: factory, commands: builtin()}
	for name, c := range r.Env.Commands {
		r.commands[name] = c
	}
	outputs := map[int][]string{}
	for i, l := range s.lines {
		if l.words == nil {
			continue
		}
		output, err := r.execute(l.words)
		if err != nil {
			t.Fatalf("%s:%d: %s: %v", file, l.number, l.text, err)
		}
		got := lines(output)
		outputs[i] = got
		if !update && !slices.Equal(got, l.want) {
			t.Errorf("%s:%d: %s\ngot:\n%s\nwant:\n%s", file, l.number, l.text, indent(got), indent(l.want))
		}
	}
	return outputs
}

func lines(output string) []string {
	output = strings.TrimRight(output, "\n")
	if output == "" {
		return nil
	}
	split := strings.Split(output, "\n")
	for i := range split {
		split[i] = strings.TrimRight(split[i], " ")
	}
	return split
}

func indent(lines []string) string {
	if len(lines) == 0 {
		return "  (nothing)"
	}
	return "  " + strings.Join(lines, "\n  ")
}

func (r *Run) execute(words []string) (string, error) {
	c := r.commands[words[0]]
	if c == nil {
		names := make([]string, 0, len(r.commands))
		for name := range r.commands {
			names = append(names, name)
		}
		slices.Sort(names)
		return "", fmt.Errorf("unknown command: expected one of %s", strings.Join(names, ", "))
	}
	return c(r, words[1:])
}

// builtin are the commands that every scenario has.
func builtin() map[string]Command {
	return map[string]Command{
		"descriptor": cmdDescriptor, "restart": cmdRestart,
		"commit": cmdCommit, "plan": cmdPlan, "plan-items": cmdPlanItems, "apply": cmdApply, "resync": cmdResync, "ops": cmdOps, "log": cmdLog, "history": cmdHistory, "history-items": cmdHistoryItems,
		"notify": cmdNotify, "lost": cmdLost, "edit": cmdEdit, "fail": cmdFail, "heal": cmdHeal,
		"hang": cmdHang, "release": cmdRelease, "quarantine": cmdQuarantine,
		"policy": cmdPolicy, "journal": cmdJournal, "orphans": cmdOrphans,
		"sb": cmdSB, "calls": cmdCalls, "sb-restart": cmdSBRestart, "session": cmdSession,
		"tick": cmdTick, "timers": cmdTimers,
		"status": cmdStatus, "wait": cmdWait, "watch": cmdWatch, "changes": cmdChanges,
		"dump": cmdDump, "metadata": cmdMetadata, "why": cmdWhy, "validate": cmdValidate,
	}
}

// NewItem is the default of Env.NewValue.
func NewItem(string) proto.Message { return &model.Item{} }
