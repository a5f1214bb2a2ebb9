package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"github.com/tenuto-dev/tenuto/infra/suggest"
)

// ConfigDirFlag is the flag that names the directory of configuration files.
const ConfigDirFlag = "config-dir"

// Flags are the flags of one agent. A flag on the command line takes
// precedence over its environment variable (EnvName), which takes precedence
// over the default.
type Flags struct {
	*pflag.FlagSet
	environ Environ
	dir     string
	fromEnv map[string]bool
	cliOnly map[string]bool

	onOpenFile func(plugin, file string)
}

// NewFlags returns the flags of a program, with --config-dir defined. A nil
// environ means the process's environment.
func NewFlags(program string, environ Environ) *Flags {
	if environ == nil {
		environ = os.LookupEnv
	}
	f := &Flags{
		FlagSet: pflag.NewFlagSet(program, pflag.ContinueOnError),
		environ: environ,
		fromEnv: map[string]bool{},
		cliOnly: map[string]bool{"help": true},
	}
	f.SortFlags = true
	f.Usage = func() {} // the caller prints it
	f.StringVar(&f.dir, ConfigDirFlag, ".", "directory of configuration files")
	return f
}

// Define adds the flag --<plugin>-config; the help shows it if listed is set.
func (f *Flags) Define(plugin string, listed bool) {
	name := strings.ToLower(plugin) + "-config"
	if f.Lookup(name) != nil {
		return
	}
	f.String(name, strings.ToLower(plugin)+".conf", "configuration `file` of plugin "+plugin)
	f.Lookup(name).Hidden = !listed
}

// Source returns the source that reads the file named by --<plugin>-config.
func (f *Flags) Source(plugin string) PluginConfig {
	f.Define(plugin, true)
	return fileSource{name: plugin, flag: strings.ToLower(plugin) + "-config", flags: f}
}

// OnOpenFile sets a function that is called when a file with secrets is readable
// by every user of this machine: a configuration file, or a file that a value
// refers to.
func (f *Flags) OnOpenFile(warn func(plugin, file string)) { f.onOpenFile = warn }

// CommandLineOnly excludes flags from the environment. Flags of one-time
// commands need it, because their variables (VERSION) have other meanings
// elsewhere.
func (f *Flags) CommandLineOnly(flags ...string) {
	for _, name := range flags {
		f.cliOnly[name] = true
	}
}

// Variable returns the environment variable of a flag (EnvName); empty if there
// is none.
func (f *Flags) Variable(flag string) string {
	if f.cliOnly[flag] {
		return ""
	}
	return EnvName(flag)
}

// Parse reads the command line and then, for flags that are not given, the
// environment. It accepts long flags with a single dash. It returns the
// remaining arguments. The error is pflag.ErrHelp if help was requested.
func (f *Flags) Parse(args []string) (rest []string, err error) {
	if err := f.FlagSet.Parse(f.doubleDash(args)); err != nil {
		return nil, f.suggested(err)
	}
	var errs []error
	f.VisitAll(func(flag *pflag.Flag) {
		value, set := f.environ(EnvName(flag.Name))
		if flag.Changed || !set || value == "" || f.cliOnly[flag.Name] {
			return
		}
		if err := f.Set(flag.Name, value); err != nil {
			errs = append(errs, fmt.Errorf("environment variable %s: %w", EnvName(flag.Name), err))
			return
		}
		f.fromEnv[flag.Name] = true
	})
	return f.Args(), errors.Join(errs...)
}

// suggested names the flag that was probably meant in the error about an unknown one. What
// has one dash and is longer than a letter was meant as a long flag.
func (f *Flags) suggested(err error) error {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return err
	}
	given := unknown.GetSpecifiedName()
	if short := unknown.GetSpecifiedShortnames(); len(short) > 1 {
		given, _, _ = strings.Cut(short, "=")
		err = errors.New("unknown flag: -" + given)
	}
	var names []string
	f.VisitAll(func(flag *pflag.Flag) { names = append(names, flag.Name) })
	if near := suggest.Nearest(given, names); near != "" {
		return fmt.Errorf("%w, did you mean --%s?", err, near)
	}
	return err
}

// Given reports whether the flag was given, on the command line or in the
// environment.
func (f *Flags) Given(flag string) bool { return f.Changed(flag) }

// MissingDir returns the directory given with --config-dir if it does not
// exist, else "". A missing directory is valid if all plugins use their
// defaults.
func (f *Flags) MissingDir() string {
	if _, err := os.Stat(f.dir); f.Given(ConfigDirFlag) && errors.Is(err, fs.ErrNotExist) {
		return f.dir
	}
	return ""
}

// doubleDash turns -flag and -flag=value into the form with two dashes if flag
// is a defined long flag.
func (f *Flags) doubleDash(args []string) []string {
	out := make([]string, len(args))
	for i, arg := range args {
		out[i] = arg
		if arg == "--" {
			copy(out[i:], args[i:])
			break
		}
		if len(arg) < 3 || arg[0] != '-' || arg[1] == '-' {
			continue
		}
		name, _, _ := strings.Cut(arg[1:], "=")
		if f.Lookup(name) != nil || name == "help" {
			out[i] = "-" + arg
		}
	}
	return out
}

// WriteUsage writes the flags with their variables, and the other variables.
func (f *Flags) WriteUsage(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "Usage: %s [flags] [command]\n\nFlags (or environment variables, in brackets):\n", f.Name())
	f.VisitAll(func(flag *pflag.Flag) {
		if flag.Hidden {
			return
		}
		name, usage := pflag.UnquoteUsage(flag)
		left := "  --" + flag.Name
		if flag.Shorthand != "" {
			left = "  -" + flag.Shorthand + ", --" + flag.Name
		}
		if name != "" && flag.NoOptDefVal != "" {
			left += "[=" + name + "]"
		} else if name != "" {
			left += " " + name
		}
		def := ""
		if flag.DefValue != "" && flag.DefValue != "false" {
			def = fmt.Sprintf(" (default %s)", flag.DefValue)
		}
		variable := ""
		if v := f.Variable(flag.Name); v != "" {
			variable = " [" + v + "]"
		}
		fmt.Fprintf(&b, "%-36s %s%s%s\n", left, usage, def, variable)
	})
	b.WriteString("\nOther environment variables:\n")
	for _, v := range Variables() {
		fmt.Fprintf(&b, "  %-34s %s\n", v.Name, v.Doc)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
