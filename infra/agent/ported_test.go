package agent_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenuto-dev/tenuto/infra"
	"github.com/tenuto-dev/tenuto/infra/agent"
	"github.com/tenuto-dev/tenuto/infra/config"
)

// ported is a plugin as it was written for cn-infra: its constructor sets the source of
// the configuration, with a flag.
type ported struct {
	infra.PluginDeps
	times    int
	greeting string
}

func newPorted() *ported {
	p := &ported{}
	p.SetName("greeter")
	p.Cfg = config.ForPlugin(p.String(), config.WithExtraFlags(func(flags *config.FlagSet) {
		flags.IntVar(&p.times, "greetings", 1, "how often to greet")
	}))
	p.Setup()
	return p
}

func (p *ported) Init() error {
	var cfg struct {
		Greeting string `json:"greeting"`
	}
	found, err := p.Cfg.LoadValue(&cfg)
	if err != nil {
		return err
	}
	p.greeting = fmt.Sprint(cfg.Greeting, found)
	return nil
}

func TestFlagsOfPortedPlugin(t *testing.T) {
	t.Parallel()
	p := newPorted()
	file := write(t, "x.conf", "greeting: Hello\n")
	var out bytes.Buffer
	closed := make(chan struct{})
	close(closed)
	a := newAgent(t, agent.Output(&out), agent.Environ(config.NoEnviron), agent.AllPlugins(p), agent.QuitOnClose(closed),
		agent.Args("-greeter-config="+file, "-greetings", "3"))
	if err := a.Run(); err != nil {
		t.Fatal(err)
	}
	if p.times != 3 || p.greeting != "Hellotrue" {
		t.Errorf("got %d and %q, expected 3 and Hellotrue", p.times, p.greeting)
	}

	other := newPorted()
	other.SetName("other")
	err := newAgent(t, agent.Environ(config.NoEnviron), agent.AllPlugins(newPorted(), other)).Start(t.Context())
	if !strings.Contains(fmt.Sprint(err), "flags of plugin other: ") {
		t.Errorf("got error %v, expected one for a flag of two plugins", err)
	}
}

// Flags that a program defines with package flag are set by Run, on the command line and
// in the environment, and listed by --help.
// TestStartUsesTheCommandLine checks that a program that calls Start, as most programs for the
// predecessor do, has the flags of one that calls Run.
func TestStartUsesTheCommandLine(t *testing.T) {
	t.Parallel()
	program := filepath.Join(t.TempDir(), "start")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, "./testdata/start").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, test := range []struct {
		args   []string
		wants  []string
		failed bool
	}{
		{nil, []string{"world vpp1"}, false},
		{[]string{"-who", "Ada", "--microservice-label=edge"}, []string{"Ada edge"}, false},
		{[]string{"--nosuchflag"}, []string{"unknown flag: --nosuchflag"}, true},
		{[]string{"--help"}, []string{"--who string", "--microservice-label", "output only"}, true},
		{[]string{"-V"}, []string{"start v0.0.0-dev"}, true},
		{[]string{"serve"}, []string{`unknown command ["serve"]`}, true},
	} {
		out, err := exec.CommandContext(t.Context(), program, test.args...).CombinedOutput()
		for _, want := range test.wants {
			if !strings.Contains(string(out), want) || (err != nil) != test.failed {
				t.Errorf("%v: %v, got\n%s\nexpected %q", test.args, err, out, want)
			}
		}
	}
}

// TestStartInTests checks that an agent in a test does not take the flags of the test.
func TestStartInTests(t *testing.T) {
	t.Parallel()
	p := newPorted()
	a := agent.NewAgent(agent.AllPlugins(p), agent.Environ(config.NoEnviron), agent.QuitSignals())
	if err := a.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := a.Stop(); err != nil {
		t.Error(err)
	}
}

func TestFlagsOfTheProgram(t *testing.T) {
	t.Parallel()
	program := filepath.Join(t.TempDir(), "flags")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, "./testdata/flags").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, test := range []struct {
		args    []string
		environ string
		want    string
	}{
		{nil, "", "world 1 false true"},
		{[]string{"-who", "Ada", "--times=3", "-loud"}, "", "Ada 3 true true"},
		{[]string{"-times=2"}, "WHO=Eve", "Eve 2 false true"},
		{[]string{"--help"}, "", "--who string"},
		{[]string{"--times", "x"}, "", `invalid argument "x" for "--times" flag`},
	} {
		cmd := exec.CommandContext(t.Context(), program, test.args...)
		cmd.Env = append(os.Environ(), test.environ)
		out, _ := cmd.CombinedOutput()
		if !strings.Contains(string(out), test.want) {
			t.Errorf("%v %s: got\n%s\nexpected %q", test.args, test.environ, out, test.want)
		}
	}
}
