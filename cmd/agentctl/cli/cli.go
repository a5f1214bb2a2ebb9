// Package cli is the command line of agentctl. Commands print tables or, with -o,
// JSON, YAML or the output of a Go template. The exit code is 0 on success, 1
// after an error, 2 if something was found (for example drift), 125 if the
// command line is invalid.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/client"
	"github.com/tenuto-dev/tenuto/cmd/internal/buildinfo"
	"github.com/tenuto-dev/tenuto/infra/announce/announced"
	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/infra/models"
	"github.com/tenuto-dev/tenuto/infra/suggest"
)

// The exit codes other than 0.
const (
	exitError   = 1
	exitFinding = 2
	exitUsage   = 125
)

// Streams are the outputs of a command.
type Streams struct{ Out, Err io.Writer }

// usageError is an error in the command line itself.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// findingError is not a failure: the command found what it looks for.
type findingError struct{ error }

func usage(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// app is one run of the program.
type app struct {
	Streams
	environ config.Environ
	global  globals
	file    connection // of the file, as read by connect
	format  string     // of the output, see formatted; "" is text
	// namesKept: the output keeps the names of its fields, see verbatim.
	namesKept bool
	wide      bool // text with more columns
	now       func() time.Time
	term      terminal

	args       []string         // of the command line
	in         io.Reader        // nil: the standard input
	target     *announced.Agent // the agent of --target that this run is for
	structured bool             // the output becomes a part of another one, in JSON

	client    *client.Client
	ctx       context.Context // of the run, for set
	models    *models.Set     // see set; nil: not known yet
	modelsErr error           // why the models of the agent could not be read; nil: no error
}

// Run runs a command line, without the name of the program, and returns the
// exit code. Requests end with ctx.
func Run(ctx context.Context, args []string, s Streams, environ config.Environ) int {
	a := &app{Streams: s, environ: environ, now: time.Now, term: findTerminal(s.Out)}
	return a.run(ctx, args)
}

func (a *app) run(ctx context.Context, args []string) int {
	root := a.root()
	root.SetArgs(args)
	root.SetIn(a.in)
	a.ctx, a.args = ctx, args
	cmd, err := root.ExecuteContextC(ctx)
	if a.client != nil {
		a.client.Close()
	}
	if err == nil {
		return 0
	}
	if fe := (findingError{}); errors.As(err, &fe) {
		fmt.Fprintln(a.Err, fe)
		return exitFinding
	}
	fmt.Fprintf(a.Err, "ERROR: %v\n", err)
	if nm := (noModelError{}); errors.As(err, &nm) && a.modelsErr != nil {
		fmt.Fprintf(a.Err, "The models of the agent are unknown: %v\n", a.modelsErr)
	}
	if ue := (usageError{}); errors.As(err, &ue) {
		path := strings.TrimSuffix(cmd.CommandPath(), " help") // which is about other commands
		fmt.Fprintf(a.Err, "Run '%s --help' for the usage.\n", path)
		return exitUsage
	}
	return exitError
}

func (a *app) root() *cobra.Command {
	version, _, _ := buildinfo.Version()
	root := &cobra.Command{
		Use:   "agentctl",
		Short: "Show what an agent does, and ask it to do things",
		Long: "agentctl shows what an agent does and asks it to do things, over the agent's\n" +
			"HTTP interface.\n\nExit codes: 0 success, 1 error, 2 something was found (changes of a plan, drift,\norphans, values in quarantine), 125 the command line is invalid. With several agents (--target): 1 if it\n" +
			"failed on any of them, else 2 if something was found on any of them.\n\n" + fieldNames,
		Version:           version,
		SilenceErrors:     true,
		SilenceUsage:      true,
		PersistentPreRunE: a.connect,
		Args:              noCommand,
		RunE:              func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetOut(a.Out) // before addHelp, which uses it
	root.SetErr(a.Err)
	root.SetVersionTemplate("agentctl {{.Version}}\n")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return usageError{plainFlagError(cmd, err)} })
	a.global.define(root.PersistentFlags())
	_ = root.RegisterFlagCompletionFunc("target", a.completeTargets) // fails only for unknown flags
	addGroup(root, "Look at the configuration and its state:", a.statusCommand(), a.topCommand(), a.valuesCommand(), a.getCommand(), a.whyCommand(),
		a.waitCommand(), a.dumpCommand(), a.sourcesCommand(), a.graphCommand(), a.driftCommand())
	addGroup(root, "Change the configuration:", a.configCommand(), a.checkCommand(), a.planCommand(), a.applyCommand(), a.editCommand(), a.confirmCommand(),
		a.cancelCommand(), a.rollbackCommand(), a.putCommand(), a.importCommand(), a.generateCommand(), a.kvdbCommand())
	addGroup(root, "Repair:", a.orphansCommand(), a.quarantineCommand(), a.reportCommand())
	addGroup(root, "The agent and its VPP:", a.vppCommand(), a.logCommand(), a.metricsCommand(), a.modelCommand(), a.explainCommand(),
		a.serviceCommand(), a.versionCommand(), a.targetsCommand(), a.contextCommand(), a.loginCommand(), a.logoutCommand())
	a.addHelp(root)
	a.onTargets(root)
	return root
}

// addGroup adds commands that the help lists below a title.
func addGroup(root *cobra.Command, title string, commands ...*cobra.Command) {
	root.AddGroup(&cobra.Group{ID: title, Title: title})
	for _, c := range commands {
		c.GroupID = title
	}
	root.AddCommand(commands...)
}

// parent returns a command that only has subcommands.
func parent(use, short string, children ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use: use, Short: short, Args: noCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(children...)
	return cmd
}

func noCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	hint := ""
	cmd.SuggestionsMinimumDistance = max(1, len(args[0])/3)
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		hint = fmt.Sprintf(", did you mean %q?", near[0])
	}
	return usage("unknown command %q of %s%s", args[0], cmd.CommandPath(), hint)
}

// args converts wrong numbers of arguments to usage errors that name the expected
// ones.
func args(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if check(cmd, args) == nil {
			return nil
		}
		given := fmt.Sprintf("%d arguments", len(args)) // they may be secret
		if len(args) == 1 {
			given = "1 argument"
		}
		return usage("expected '%s%s', got %s", strings.TrimSuffix(cmd.CommandPath(), cmd.Name()), cmd.Use, given)
	}
}

// parserError matches errors of parsers of numbers and durations.
var parserError = regexp.MustCompile(`(strconv\.Parse\w+: parsing .*|time: (invalid|missing|unknown) .*)$`)

// plainFlagError rephrases the error of a flag for users.
func plainFlagError(cmd *cobra.Command, err error) error {
	text := err.Error()
	if unknown := (*pflag.NotExistError)(nil); errors.As(err, &unknown) {
		var known []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { known = append(known, f.Name) })
		if near := suggest.Nearest(unknown.GetSpecifiedName(), known); near != "" && unknown.GetSpecifiedShortnames() == "" {
			return fmt.Errorf("unknown flag --%s, did you mean --%s?", unknown.GetSpecifiedName(), near)
		}
	}
	at := parserError.FindStringIndex(text)
	switch {
	case at == nil:
		return err
	case strings.HasPrefix(text[at[0]:], "time:"):
		return errors.New(text[:at[0]] + "expected a duration such as 30s")
	case strings.HasPrefix(text[at[0]:], "strconv.ParseBool"):
		return errors.New(text[:at[0]] + "expected true or false")
	}
	return errors.New(text[:at[0]] + "expected a number")
}
