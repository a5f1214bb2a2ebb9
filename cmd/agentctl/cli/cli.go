// Package cli is the command line of agentctl. Commands print tables or, with -o,
// JSON, YAML or the output of a Go template. The exit code is 0 on success, 1
// after an error, 2 if something was found (for example drift), 125 if the
// command line is invalid.
package cli

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/check"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/cmdutil"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/config"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/contexts"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/drift"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/exit"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/fleet"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/graph"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/kvdb"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/log"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/login"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/metrics"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/model"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/orphans"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/output"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/plan"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/quarantine"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/report"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/service"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/sources"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/status"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/targets"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/topology"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/values"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/vpp"
	infraconfig "github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/infra/suggest"
)

// Streams are the outputs of a command.
type Streams = output.Streams

// Run runs a command line, without the name of the program, and returns the
// exit code. Requests end with ctx.
func Run(ctx context.Context, args []string, s Streams, environ infraconfig.Environ) int {
	return execute(ctx, cmdutil.NewFactory(s, environ, time.Now, output.FindTerminal(s.Out)), args)
}

func execute(ctx context.Context, f *cmdutil.Factory, args []string) int {
	f.Args, f.Run = args, execute
	root := newRoot(f)
	root.SetArgs(args)
	root.SetIn(f.In)
	cmd, err := root.ExecuteContextC(ctx)
	f.Close()
	if err == nil {
		return 0
	}
	if finding, ok := exit.Finding(err); ok {
		fmt.Fprintln(f.Err, f.Models.ErrorText(cmd, finding))
		return exit.CodeFinding
	}
	fmt.Fprintf(f.Err, "ERROR: %s\n", f.Models.ErrorText(cmd, err))
	if errors.As(err, &cmdutil.NoModelError{}) && f.Models.Err() != nil {
		fmt.Fprintf(f.Err, "The models of the agent are unknown: %v\n", f.Models.Err())
	}
	if exit.IsUsage(err) {
		path := strings.TrimSuffix(cmd.CommandPath(), " help") // which is about other commands
		fmt.Fprintf(f.Err, "Run '%s --help' for the usage.\n", path)
		return exit.CodeUsage
	}
	return exit.CodeError
}

func newRoot(f *cmdutil.Factory) *cobra.Command {
	root := &cobra.Command{
		Use:   "agentctl",
		Short: "Show what an agent does, and ask it to do things",
		Long: "agentctl shows what an agent does and asks it to do things, over the agent's\n" +
			"HTTP interface.\n\nExit codes: 0 success, 1 error, 2 something was found (changes of a plan, drift,\norphans, values in quarantine, a DEGRADED agent), 125 the command line is invalid. With several agents (--target): 1 if it\n" +
			"failed on any of them, else 2 if something was found on any of them.\n\n" + output.FieldNames,
		Example: "  agentctl check net.yaml     # is the file right?\n  agentctl plan net.yaml      # what would it change?\n" +
			"  agentctl apply net.yaml     # change it\n  agentctl status",
		SilenceErrors:     true,
		SilenceUsage:      true,
		Args:              cmdutil.NoCommand,
		PersistentPreRunE: f.Connect,
		RunE:              func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetOut(f.Out) // before addHelp, which uses it
	root.SetErr(f.Err)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return exit.Usage(plainFlagError(cmd, err)) })
	f.Flags.Define(root.PersistentFlags())
	_ = root.RegisterFlagCompletionFunc("target", targets.Complete(f)) // fails only for unknown flags
	addGroup(root, "Look at the configuration and its state:", status.New(f), status.NewTop(f), values.New(f), values.NewGet(f), values.NewWhy(f),
		values.NewWait(f), values.NewDump(f), sources.New(f), topology.New(f), graph.New(f), drift.New(f))
	addGroup(root, "Change the configuration:", config.New(f), check.New(f), plan.New(f), plan.NewApply(f), plan.NewEdit(f), plan.NewConfirm(f),
		plan.NewCancel(f), plan.NewRollback(f), cmdutil.KeepKeys(kvdb.NewPut(f)), kvdb.NewImport(f), model.NewGenerate(f), cmdutil.KeepKeys(kvdb.New(f)))
	addGroup(root, "Many agents as one network:", fleet.New(f))
	addGroup(root, "Repair:", orphans.New(f), quarantine.New(f), report.New(f))
	addGroup(root, "The agent and its VPP:", vpp.New(f), log.New(f), metrics.New(f), model.New(f), model.NewExplain(f),
		service.New(f), status.NewVersion(f), targets.New(f), contexts.New(f), login.New(f), login.NewLogout(f))
	addHelp(root)
	targets.Run(f, root)
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
