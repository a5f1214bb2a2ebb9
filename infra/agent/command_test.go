package agent_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/tenuto-dev/tenuto/infra"
	"github.com/tenuto-dev/tenuto/infra/agent"
	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/infra/infratest"
)

// configured has a configuration file and a flag.
type configured struct {
	infra.PluginDeps
	cfg   settings
	times int
}

type settings struct {
	Greeting string        `json:"greeting" desc:"what to say"`
	Every    time.Duration `json:"every" desc:"how often to say it"`
	Password string        `json:"password" secret:"true" desc:"who may hear it"`
}

func (s settings) Validate() error {
	if s.Every < 0 {
		return errors.New("every: expected no negative time")
	}
	return nil
}

func (c *configured) ConfigSpec() any { return settings{Greeting: "hello", Every: time.Minute} }

func (c *configured) DefineFlags(fs *pflag.FlagSet) {
	fs.IntVar(&c.times, "times", 1, "how `often` to greet")
	fs.String("shout", "", "how `loud` to greet")
	fs.Lookup("shout").NoOptDefVal = "very"
}

func (c *configured) Init() (err error) {
	c.cfg, _, err = config.Load(c.Cfg, c.ConfigSpec().(settings))
	return err
}

// newApp returns an agent with one configured plugin and a command line.
func newApp(t *testing.T, out *bytes.Buffer, environ map[string]string, args ...string) (*agent.Agent, *configured) {
	t.Helper()
	p := &configured{}
	p.SetName("greeter")
	return newAgent(t, agent.Name("app"), agent.Version("v1.2.3", "", "abc"), agent.Output(out),
		agent.Environ(config.EnvMap(environ)), agent.Args(args...), agent.AllPlugins(p)), p
}

// run runs an agent whose command line does not make it start.
func run(t *testing.T, environ map[string]string, args ...string) (string, *configured, error) {
	t.Helper()
	var out bytes.Buffer
	a, p := newApp(t, &out, environ, args...)
	err := a.Run()
	return out.String(), p, err
}

func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	infratest.Fatal(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func TestWhereConfigurationComesFrom(t *testing.T) {
	t.Parallel()
	file := write(t, "greeter.conf", "greeting: from file\n")
	other := write(t, "other.yaml", "greeting: from other\nevery: 3s\n")
	dir := filepath.Dir(file)
	for name, test := range map[string]struct {
		environ  map[string]string
		args     []string
		greeting string
		times    int
	}{
		"defaults":            {nil, nil, "hello", 1},
		"directory":           {nil, []string{"--config-dir", dir}, "from file", 1},
		"directory by env":    {map[string]string{"CONFIG_DIR": dir}, nil, "from file", 1},
		"flag":                {nil, []string{"--greeter-config=" + other}, "from other", 1},
		"single dash":         {nil, []string{"-greeter-config=" + other, "-times", "3"}, "from other", 3},
		"env":                 {map[string]string{"GREETER_CONFIG": other, "TIMES": "4"}, nil, "from other", 4},
		"flag wins over env":  {map[string]string{"GREETER_CONFIG": "/absent"}, []string{"--greeter-config", other}, "from other", 1},
		"name in config-dir":  {nil, []string{"--config-dir", filepath.Dir(other), "--greeter-config", "other.yaml"}, "from other", 1},
		"other flags coexist": {nil, []string{"--initial-loglvl=error", "--log-format", "json"}, "hello", 1},
		"not for the agent":   {map[string]string{"VERSION": "1.2", "GRAPH": "g", "HELP": "h"}, nil, "hello", 1},
	} {
		a, p := newApp(t, &bytes.Buffer{}, test.environ, test.args...)
		if err := a.Start(t.Context()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if p.cfg.Greeting != test.greeting || p.times != test.times {
			t.Errorf("%s: got %q %d, want %q %d", name, p.cfg.Greeting, p.times, test.greeting, test.times)
		}
	}
}

func TestBadCommandLines(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"--greeter-config=absent.yaml"}, `file "absent.yaml" named by --greeter-config does not exist`},
		{[]string{"--unknown"}, "unknown flag: --unknown (see app --help)"},
		{[]string{"--greter-config=x"}, "unknown flag: --greter-config, did you mean --greeter-config? (see app --help)"},
		{[]string{"-greter-config=x"}, "unknown flag: -greter-config, did you mean --greeter-config? (see app --help)"},
		{[]string{"frobnicate"}, `unknown command ["frobnicate"]`},
		{[]string{"--shout", "loud"}, `unknown command ["loud"]; did you mean --shout=loud?`},
		{[]string{"--times=x"}, `invalid argument "x" for "--times" flag`},
		{[]string{"config", "print", "unknown"}, `no plugin "unknown" with a configuration`},
	} {
		if _, _, err := run(t, nil, test.args...); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q: got %v, want %s", test.args, err, test.want)
		}
	}
	_, _, err := run(t, map[string]string{"GREETER_CONFIG": "absent.yaml"})
	if err == nil || !strings.Contains(err.Error(), `named by GREETER_CONFIG does not exist`) {
		t.Errorf("environment: got %v", err)
	}
	_, _, err = run(t, map[string]string{"TIMES": "x"})
	if err == nil || !strings.Contains(err.Error(), "environment variable TIMES: ") {
		t.Errorf("environment: got %v", err)
	}
}

func TestCommands(t *testing.T) {
	t.Parallel()
	good := write(t, "good.yaml", "password: geheim\n")
	bad := write(t, "bad.yaml", "every: -1s\n")
	none := filepath.Join(t.TempDir(), "none")
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"--version"}, "app v1.2.3\ncommit abc\n"},
		{[]string{"--graph"}, "digraph \"app\" {\n\trankdir=LR;\n\tnode [shape=box];\n\t\"greeter\" [label=\"1. greeter\\nagent_test.configured\"];\n}\n"},
		{[]string{"config", "validate"}, "configuration ok\n"},
		{[]string{"config", "validate", "--config-dir", none}, "configuration ok, but the directory " + none + " (--config-dir) does not exist\n"},
		{[]string{"config", "print", "--greeter-config", good}, "# plugin greeter (" + good + ")\n# what to say\ngreeting: hello\n# how often to say it\nevery: 1m0s\n# who may hear it\npassword: '***'\n\n"},
	} {
		out, p, err := run(t, nil, test.args...)
		if err != nil || out != test.want {
			t.Errorf("%q: %v\n got %q\nwant %q", test.args, err, out, test.want)
		}
		if p.Log != nil {
			t.Errorf("%q: the plugin was started", test.args)
		}
	}
	_, _, err := run(t, nil, "config", "validate", "--greeter-config", bad)
	if err == nil || !strings.Contains(err.Error(), "bad.yaml: every: expected no negative time") {
		t.Errorf("validate: got %v", err)
	}
}

func TestHelp(t *testing.T) {
	t.Parallel()
	for _, flag := range []string{"-h", "--help", "-help"} {
		out, _, err := run(t, nil, flag)
		infratest.Fatal(t, err)
		for _, want := range []string{
			"Usage: app [flags] [command]",
			"--greeter-config file", "configuration file of plugin greeter (default greeter.conf) [GREETER_CONFIG]",
			"--times often", "[TIMES]", "--initial-loglvl level", "[INITIAL_LOGLVL]",
			"--config-dir", "VPP_BIN", "config validate",
		} {
			if !strings.Contains(out, want) {
				t.Errorf("%s: %q is missing in\n%s", flag, want, out)
			}
		}
	}
}

// commander has a command.
type commander struct{ infra.PluginDeps }

func (c *commander) Init() error         { return nil }
func (c *commander) CommandHelp() string { return "  greet NAME                 say hello\n" }
func (c *commander) RunCommand(ctx context.Context, args []string, output io.Writer) (known bool, err error) {
	if args[0] != "greet" {
		return false, nil
	}
	if len(args) != 2 {
		return true, errors.New("greet: expected NAME")
	}
	_, err = fmt.Fprintf(output, "hello %s %v\n", args[1], ctx.Err())
	return true, err
}

// Plugins add commands, which do not start the agent.
func TestCommandsOfPlugins(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"greet you": "hello you <nil>\n", "greet": "greet: expected NAME", "frob": `unknown command ["frob"]`,
		"--help": "  config validate            check the configuration files of all plugins\n  greet NAME                 say hello\nWithout",
	} {
		p := &commander{}
		p.SetName("greeter")
		var out bytes.Buffer
		err := newAgent(t, agent.Name("app"), agent.Output(&out), agent.Args(strings.Fields(line)...), agent.AllPlugins(p)).Run()
		if got := fmt.Sprint(out.String(), err); !strings.Contains(got, want) {
			t.Errorf("%s: got %s, expected %s", line, got, want)
		}
	}
}
