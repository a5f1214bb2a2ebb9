// Package plan has the commands that plan, apply, confirm and revert changes.
package plan

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/client"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/cmdutil"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/effects"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/exit"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/history"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/outcome"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/response"
)

type options struct {
	*cmdutil.Factory
	file, output string
	replacing    Replacing
	view         planView
}

// New returns the command "plan".
func New(f *cmdutil.Factory) *cobra.Command {
	o := &options{Factory: f}
	cmd := &cobra.Command{
		Use: "plan [-f] FILE", Aliases: []string{"diff"},
		Short: "Show what a file would change, and why some of it waits",
		Long: "Shows what \"apply FILE\" would do, without doing it, in the order of the operations.\n" +
			"The plan can be saved and applied later, as long as nothing that it touches has\n" +
			"changed. With a saved plan as FILE it shows what the plan would do now. Values that\n" +
			"are derived from items, such as the addresses of an interface, are shown if they\n" +
			"wait, or are created again because of another item; --all shows all of them.\n" +
			"The exit code is 0 if there is nothing to do, 2 if there are changes,\n" +
			"and 1 if VPP or Linux would refuse or break an item. Constraints of items together are\n" +
			"checked as \"check\" does, also with the items that the agent has.\n\n" + fitted(effects.Legend, 80),
		Example: "  agentctl plan net.yaml\n  agentctl plan net.yaml --out net.plan\n  agentctl apply net.plan --verify",
		Args:    cmdutil.Args(cobra.MaximumNArgs(1)),
		RunE:    o.run,
	}
	cmdutil.FileFlag(cmd, &o.file)
	cmd.Flags().StringVar(&o.output, "out", "", "save the plan in this `file`")
	o.replacing.Define(cmd)
	cmd.Flags().UintVar(&o.view.perKind, "limit", shownPerKind, "show this `number` of items of each kind at most; 0 is all")
	cmd.Flags().BoolVar(&o.view.derived, "all", false, "show all items, with the operations on the values that are derived from them")
	cmdutil.FlagOnTargets(cmd, "out", cmdutil.OneTarget)
	return f.Formatted(cmd)
}

func (o *options) run(cmd *cobra.Command, args []string) error {
	if o.view.derived {
		o.view.perKind = 0
	}
	file, text, err := cmdutil.ReadOnlyFile(cmd, o.file, args)
	if err != nil {
		return err
	}
	p, err := o.plan(cmd, file, text)
	if err != nil && p == nil {
		return err
	}
	stale := err
	if o.output != "" {
		if err := p.save(o.output); err != nil {
			return err
		}
	}
	err = showPlan(o.Factory, p.shown, o.view)
	switch {
	case err != nil && !exit.IsFinding(err):
		return err
	case stale != nil:
		return stale
	case p.refused > 0:
		return fmt.Errorf("%s: items that VPP or Linux would refuse or break: %d", file, p.refused)
	}
	return err
}

// plan plans a configuration, or again the request of a saved plan. If that has other effects now,
// it returns them with an error.
func (o *options) plan(cmd *cobra.Command, file string, text []byte) (*filePlan, error) {
	if !isPlan(text) {
		return planText(cmd.Context(), o.Factory, file, text, o.replacing, o.view)
	}
	saved, err := openSaved(file, text, o.replacing)
	if err != nil {
		return nil, err
	}
	p, err := planText(cmd.Context(), o.Factory, file, []byte(saved.Request.Document), Replacing{saved.Request.Replace, true}, o.view)
	if err == nil && p.Fingerprint != saved.Fingerprint {
		err = fmt.Errorf("%s: %w: the request has these effects now", file, api.ErrPlanStale)
	}
	return p, err
}

func yesFlag(cmd *cobra.Command, yes *bool) {
	cmd.Flags().BoolVarP(yes, "yes", "y", false, "do not ask before the change")
}

// showPlan prints a plan; the error is a findingError if it has
// changes.
func showPlan(f *cmdutil.Factory, text []byte, view planView) error {
	plan, err := openPlan(text)
	if err != nil {
		return err
	}
	if f.Format == "" {
		err = printPlan(f, plan, view)
	} else {
		err = f.Write(f.Format, json.RawMessage(text))
	}
	if err == nil && plan.changes() > 0 {
		return exit.Findingf("there are changes")
	}
	return err
}

func applyFlags(cmd *cobra.Command, o *client.ApplyOptions) {
	cmd.Flags().BoolVar(&o.Verify, "verify", false, "read the southbound again and compare")
	cmd.Flags().BoolVar(&o.Revert, "revert-on-failure", false, "undo everything if a value fails, or with --verify is not there")
	cmd.Flags().DurationVar(&o.ConfirmTimeout, "confirm-timeout", 0, "revert the change after this `time`, unless \"agentctl confirm ID\" confirms it")
	cmd.Flags().StringVar(&o.CommitID, "commit-id", "", "the `ID` of the change for \"agentctl confirm\" and \"agentctl cancel\"; the agent makes one if it is missing")
}

func checkTimeout(o client.ApplyOptions) error {
	if o.ConfirmTimeout < 0 {
		return exit.Usagef("--confirm-timeout: %v: expected a positive duration", o.ConfirmTimeout)
	}
	if o.CommitID != "" && o.ConfirmTimeout == 0 {
		return exit.Usagef("--commit-id: expected together with --confirm-timeout")
	}
	return nil
}

type applyOptions struct {
	*cmdutil.Factory
	file      string
	replacing Replacing
	apply     client.ApplyOptions
	wait, yes bool
}

// NewApply returns the command "apply".
func NewApply(f *cmdutil.Factory) *cobra.Command {
	o := &applyOptions{Factory: f}
	cmd := &cobra.Command{
		Use:   "apply [-f] FILE",
		Short: "Apply a file with a configuration, or a saved plan",
		Long: "Plans a file with a configuration in YAML or JSON, shows the plan and applies it; on a\n" +
			"terminal it asks before, unless --yes is given. A plan saved by \"agentctl plan --out\" is\n" +
			"applied as it is; it is refused if anything that it touches has changed since then.\n" +
			"\n" + outcome.ExitCodes,
		Example: "  agentctl apply net.yaml\n  agentctl apply net.plan --verify --revert-on-failure\n  agentctl apply net.yaml --confirm-timeout 60s && agentctl confirm",
		Args:    cmdutil.Args(cobra.MaximumNArgs(1)),
		RunE:    o.run,
	}
	cmdutil.FileFlag(cmd, &o.file)
	outcome.WaitFlag(cmd, &o.wait)
	yesFlag(cmd, &o.yes)
	o.replacing.Define(cmd)
	applyFlags(cmd, &o.apply)
	return cmd
}

func (o *applyOptions) run(cmd *cobra.Command, args []string) error {
	if err := checkTimeout(o.apply); err != nil {
		return err
	}
	file, err := cmdutil.OnlyFile(o.file, args)
	if err != nil {
		return err
	}
	p, err := planToApply(o.Factory, cmd, file, o.replacing, o.yes, false)
	if err != nil || p == nil {
		return err
	}
	return applyPlan(cmd.Context(), o.Factory, p, o.apply, o.wait)
}

func printApplied(f *cmdutil.Factory, applied response.Applied, err error, wait bool) error {
	for _, left := range applied.Left {
		if err == nil { // otherwise the error names them
			fmt.Fprintf(f.Out, "left as it is: %s: %s\n", left.Key, left.Reason)
		}
	}
	if applied.SeqNum != nil {
		fmt.Fprintf(f.Out, "transaction %d\n", *applied.SeqNum)
	}
	if !applied.ConfirmBy.IsZero() {
		fmt.Fprintf(f.Out, "will be reverted at %s unless \"%s\" confirms it before\n",
			applied.ConfirmBy.UTC().Format(time.TimeOnly+" MST"), strings.TrimSpace("agentctl confirm "+applied.CommitID))
	}
	return outcome.Print(f, &applied.Outcome, err, wait, true)
}

type confirmOptions struct {
	*cmdutil.Factory
}

// NewConfirm returns the command "confirm".
func NewConfirm(f *cmdutil.Factory) *cobra.Command {
	o := &confirmOptions{Factory: f}
	return &cobra.Command{
		Use:     "confirm [ID]",
		Example: "  agentctl confirm 3f9a01c2",
		Short:   "Keep the change that was applied with --confirm-timeout",
		Long: "Keeps the change that was applied with --confirm-timeout. With the ID that \"apply\" printed, a\n" +
			"change of another client is not confirmed by mistake. Without an ID it is whichever change waits.",
		Args: cmdutil.Args(cobra.MaximumNArgs(1)),
		RunE: o.run,
	}
}

func (o *confirmOptions) run(cmd *cobra.Command, ids []string) error {
	seq, err := o.Client.Plans.Confirm(cmd.Context(), strings.Join(ids, ""))
	if err != nil {
		return err
	}
	if seq == nil {
		return o.Printf("confirmed\n")
	}
	return o.Printf("transaction %d is confirmed\n", *seq)
}

// onlySeqNum returns the transaction that is given as an argument or with --to.
func onlySeqNum(cmd *cobra.Command, flag uint64, args []string) (uint64, error) {
	switch given := cmd.Flags().Changed("to"); {
	case given && len(args) == 0:
		return flag, nil
	case !given && len(args) == 1:
		return cmdutil.SeqNum(args[0])
	}
	return 0, exit.Usagef("expected the number of one transaction, as in \"agentctl config history\"")
}

// showRollback prints the plan of a rollback, which fails if it leaves values as they are.
func (o *rollbackOptions) showRollback(text []byte) error {
	err := showPlan(o.Factory, text, planView{perKind: shownPerKind})
	if plan, perr := openPlan(text); perr == nil && len(plan.Left) > 0 && (err == nil || exit.IsFinding(err)) {
		return fmt.Errorf("values that would not be restored: %d (%s)", len(plan.Left), o.Models.ShortText(plan.Left[0].Key+": "+plan.Left[0].Reason))
	}
	return err
}

// NewCancel returns the command "cancel".
func NewCancel(f *cmdutil.Factory) *cobra.Command {
	return &cobra.Command{
		Use:     "cancel [ID]",
		Example: "  agentctl cancel 3f9a01c2",
		Short:   "Revert the change that waits for \"agentctl confirm\" now",
		Long: "Reverts the change that was applied with --confirm-timeout and is not confirmed yet. Without the ID\n" +
			"that \"apply\" printed it is whichever change waits.",
		Args: cmdutil.Args(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, ids []string) error {
			if err := f.Client.Plans.Cancel(cmd.Context(), strings.Join(ids, "")); err != nil {
				return err
			}
			return f.Printf("reverted\n")
		},
	}
}

type rollbackOptions struct {
	*cmdutil.Factory
	to    uint64
	dry   bool
	apply client.ApplyOptions
}

// NewRollback returns the command "rollback".
func NewRollback(f *cmdutil.Factory) *cobra.Command {
	o := &rollbackOptions{Factory: f}
	cmd := &cobra.Command{
		Use:     "rollback SEQ",
		Example: "  agentctl rollback 12 --dry-run",
		Short:   "Return to the desired state as it was after a transaction",
		Long: "Restores the desired state as it was after the transaction, as far as the history of the\n" +
			"agent reaches. The restored values count as given by clients. What it cannot restore, because a\n" +
			"source with a higher priority overrides it or the history is too short, is left as it is: the\n" +
			"values are named, and the exit code is 1.",
		Args: cmdutil.Args(cobra.MaximumNArgs(1)),
		ValidArgsFunction: func(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
			return history.Complete(f, cmd, args, prefix)
		},
		RunE: o.run,
	}
	cmd.Flags().Uint64Var(&o.to, "to", 0, "the `number` of the transaction, instead of SEQ")
	history.CompleteFlag(f, cmd, "to")
	cmd.Flags().BoolVar(&o.dry, "dry-run", false, "only show the plan")
	applyFlags(cmd, &o.apply)
	return cmd
}

func (o *rollbackOptions) run(cmd *cobra.Command, args []string) error {
	seq, err := onlySeqNum(cmd, o.to, args)
	if err = errors.Join(err, checkTimeout(o.apply)); err != nil {
		return err
	}
	to := seq
	if o.dry {
		plan, err := o.Client.Plans.MakeRollback(cmd.Context(), to)
		if err != nil {
			return err
		}
		return o.showRollback(plan)
	}
	applied, err := cmdutil.Progressing(cmd.Context(), o.Factory, func() (response.Applied, error) { return o.Client.Plans.Rollback(cmd.Context(), to, o.apply) })
	return printApplied(o.Factory, applied, err, false)
}
