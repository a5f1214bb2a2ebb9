package agent

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os/signal"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/tenuto-dev/tenuto/infra"
	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/infra/logging"
)

// The flags of every agent, in addition to --config-dir and the flags of the
// plugins.
const (
	levelFlag   = "initial-loglvl"
	formatFlag  = "log-format"
	graphFlag   = "graph"
	stopFlag    = "stop-timeout"
	versionFlag = "version"
)

const commandHelp = `
Commands:
  config print [plugin...]   write the configuration in effect as commented YAML
  config validate            check the configuration files of all plugins
%sWithout a command the agent runs.
`

func (a *Agent) defineFlags() *config.Flags {
	f := config.NewFlags(a.opts.build.App, a.opts.environ)
	f.String(levelFlag, "", "`level` of all loggers (debug, info, warn, error); wins over logs.conf")
	f.String(formatFlag, string(logging.Console), "`format` of log entries: console or json")
	f.Duration(stopFlag, a.opts.stopTimeout, "timeout of the whole stop; 0 disables it")
	f.Bool(graphFlag, false, "write the wired plugins as a graph in the DOT language and exit")
	f.BoolP(versionFlag, "V", false, "write the version and exit")
	f.CommandLineOnly(graphFlag, versionFlag)
	for _, m := range a.wiring.members {
		if validName.MatchString(m.name) {
			_, listed := m.Plugin.(infra.Configurable)
			f.Define(m.name, listed)
		}
	}
	for _, m := range a.wiring.members {
		if err := guard(func() error { return definePluginFlags(m, f) }); err != nil {
			a.wiring.errs = append(a.wiring.errs, fmt.Errorf("flags of plugin %s: %w", m.name, err))
		}
	}
	if a.opts.processFlags {
		if err := guard(func() error { return addProcessFlags(f, flag.CommandLine) }); err != nil {
			a.wiring.errs = append(a.wiring.errs, fmt.Errorf("flags of the program: %w", err))
		}
	}
	return f
}

func definePluginFlags(m *member, f *config.Flags) error {
	if d, ok := m.Plugin.(infra.FlagDefiner); ok {
		d.DefineFlags(f.FlagSet)
	}
	if d, ok := m.Plugin.(interface{ BindConfig(*config.Flags) error }); ok {
		return d.BindConfig(f)
	}
	return nil
}

// addProcessFlags adds the flags that the program has defined with package flag. A flag of
// the agent with the same name takes precedence.
func addProcessFlags(f *config.Flags, process *flag.FlagSet) error {
	process.VisitAll(func(p *flag.Flag) { f.AddGoFlag(p) })
	if process.Parsed() {
		return nil
	}
	return process.Parse(nil)
}

// stopBound copies the timeout of the stop from its flag to the options.
func (a *Agent) stopBound() error {
	d, err := a.flags.GetDuration(stopFlag)
	if err == nil && d < 0 {
		err = fmt.Errorf("--%s: %v: expected 0 or more", stopFlag, d)
	}
	a.opts.stopTimeout = d
	return err
}

func (a *Agent) newLoggers() (*logging.Registry, error) {
	var opts []logging.Option
	if name := a.flags.Lookup(levelFlag).Value.String(); name != "" {
		level, err := logging.ParseLevel(name)
		if err != nil {
			return nil, fmt.Errorf("--%s: %w", levelFlag, err)
		}
		opts = append(opts, logging.WithForcedLevel(level))
	}
	switch form := logging.Encoding(a.flags.Lookup(formatFlag).Value.String()); form {
	case logging.Console, logging.JSON:
		opts = append(opts, logging.WithEncoding(form))
	default:
		return nil, fmt.Errorf("--%s: unknown format %q: expected console or json", formatFlag, form)
	}
	noColour, _ := config.Env("NO_COLOR")
	if term, _ := config.Env("TERM"); noColour != "" || term == "dumb" {
		opts = append(opts, logging.WithColours(false))
	}
	return logging.NewRegistry(opts...), nil
}

// command executes the command line, except for the start of the agent; done
// reports that there is nothing left to do.
func (a *Agent) command() (done bool, err error) {
	a.prepare()
	switch {
	case errors.Is(a.parseErr, pflag.ErrHelp):
		return true, a.writeHelp()
	case a.parseErr != nil:
		return true, fmt.Errorf("%w (see %s --help)", a.parseErr, a.opts.build.App)
	case a.flag(versionFlag):
		return true, a.writeVersion()
	case a.flag(graphFlag):
		return true, a.Graph(a.opts.output)
	case len(a.rest) == 0:
		return false, nil
	}
	switch {
	case len(a.rest) >= 2 && a.rest[0] == "config" && a.rest[1] == "print":
		return true, a.PrintConfig(a.opts.output, a.rest[2:]...)
	case len(a.rest) == 2 && a.rest[0] == "config" && a.rest[1] == "validate":
		if err := a.ValidateConfig(); err != nil {
			return true, err
		}
		text := "configuration ok"
		if dir := a.flags.MissingDir(); dir != "" {
			text += fmt.Sprintf(", but the directory %s (--%s) does not exist", dir, config.ConfigDirFlag)
		}
		_, err := fmt.Fprintln(a.opts.output, text)
		return true, err
	}
	if known, err := a.pluginCommand(); known {
		return true, err
	}
	return true, fmt.Errorf("unknown command %q%s (see %s --help)", a.rest, a.optionalValue(), a.opts.build.App)
}

// pluginCommand executes a command of a plugin.
func (a *Agent) pluginCommand() (known bool, err error) {
	ctx := a.opts.context
	if len(a.opts.signals) > 0 {
		var stop context.CancelFunc
		ctx, stop = signal.NotifyContext(ctx, a.opts.signals...)
		defer stop()
	}
	for _, m := range a.wiring.members {
		if c, ok := m.Plugin.(infra.Commander); ok {
			if known, err = c.RunCommand(ctx, a.rest, a.opts.output); known {
				return true, err
			}
		}
	}
	return false, nil
}

// usageErr returns the error of the command line; nil if it asks for help.
func (a *Agent) usageErr() error {
	if errors.Is(a.parseErr, pflag.ErrHelp) {
		return nil
	}
	return a.parseErr
}

// optionalValue returns a hint for an unknown command that was meant as the
// value of the preceding flag: a flag whose value is optional takes it only
// after "=".
func (a *Agent) optionalValue() string {
	at := slices.Index(a.opts.args, a.rest[0])
	if at < 1 {
		return ""
	}
	flag := a.flags.Lookup(strings.TrimLeft(a.opts.args[at-1], "-"))
	if flag == nil || flag.NoOptDefVal == "" || flag.Value.Type() == "bool" {
		return ""
	}
	return fmt.Sprintf("; did you mean --%s=%s?", flag.Name, a.rest[0])
}

func (a *Agent) flag(name string) bool { return a.flags.Lookup(name).Value.String() == "true" }

func (a *Agent) writeHelp() error {
	if err := a.flags.WriteUsage(a.opts.output); err != nil {
		return err
	}
	more := ""
	for _, m := range a.wiring.members {
		if c, ok := m.Plugin.(infra.Commander); ok {
			more += c.CommandHelp()
		}
	}
	_, err := fmt.Fprintf(a.opts.output, commandHelp, more)
	return err
}

func (a *Agent) writeVersion() error {
	b := a.opts.build
	_, err := fmt.Fprintf(a.opts.output, "%s %s\n", b.App, b.Version)
	for _, fact := range [][2]string{{"commit", b.Commit}, {"built", b.Date}} {
		if err == nil && fact[1] != "" {
			_, err = fmt.Fprintf(a.opts.output, "%s %s\n", fact[0], fact[1])
		}
	}
	return err
}

// PrintConfig writes the effective configuration of the named plugins
// (default: all) as commented YAML, without secrets.
func (a *Agent) PrintConfig(w io.Writer, plugins ...string) error {
	return a.eachConfig(plugins, func(name string, source config.Source, def any) error {
		cfg, found, err := config.LoadAny(source, def)
		if err != nil {
			return err
		}
		from := "defaults, no file"
		if found {
			_, from, _, _ = source.Read()
		}
		if _, err := fmt.Fprintf(w, "# plugin %s (%s)\n", name, from); err != nil {
			return err
		}
		if err := config.Print(w, cfg); err != nil {
			return err
		}
		_, err = fmt.Fprintln(w)
		return err
	})
}

// ValidateConfig reads the configuration of all plugins and returns all errors
// in it.
func (a *Agent) ValidateConfig() error {
	return a.eachConfig(nil, func(_ string, source config.Source, def any) error {
		_, _, err := config.LoadAny(source, def)
		return err
	})
}

func (a *Agent) eachConfig(plugins []string, f func(name string, source config.Source, def any) error) error {
	a.prepare()
	errs := []error{a.wiring.err(), a.parseErr}
	wanted := map[string]bool{}
	for _, p := range plugins {
		wanted[p] = true
	}
	for _, m := range a.wiring.members {
		defaults := configSpec(m.Plugin)
		if defaults == nil || len(plugins) > 0 && !wanted[m.name] {
			continue
		}
		delete(wanted, m.name)
		errs = append(errs, f(m.name, a.flags.Source(m.name), defaults))
	}
	for p := range wanted {
		errs = append(errs, fmt.Errorf("no plugin %q with a configuration", p))
	}
	return errors.Join(errs...)
}
