package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/client"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/response"
)

func (a *app) planCommand() *cobra.Command {
	var file, output string
	var replace, all bool
	view := planView{}
	cmd := &cobra.Command{
		Use: "plan [-f] FILE", Aliases: []string{"diff"},
		Short: "Show what a file would change, and why some of it waits",
		Long: "Shows what \"apply FILE\" would do, without doing it, in the order of the operations.\n" +
			"The plan can be saved and applied later, as long as nothing that it touches has\n" +
			"changed. The exit code is 0 if there is nothing to do, 2 if there are changes,\n" +
			"and 1 if VPP or Linux would refuse or break an item. Constraints of items together are\n" +
			"checked as \"check\" does, also with the items that the agent has.\n\n" + fitted(legend, 80),
		Example: "  agentctl plan net.yaml\n  agentctl plan net.yaml --out net.plan\n  agentctl apply net.plan --verify",
		Args:    args(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if all {
				view.perKind = 0
			}
			file, text, err := readOnlyFile(cmd, file, args)
			if err != nil {
				return err
			}
			p, err := a.planText(cmd.Context(), file, text, replace, output != "", view)
			if err != nil {
				return err
			}
			if output != "" {
				if err := p.save(output); err != nil {
					return err
				}
			}
			err = a.showPlan(p.shown, view)
			if p.refused > 0 && (err == nil || errors.As(err, &findingError{})) {
				return fmt.Errorf("%s: items that VPP or Linux would refuse or break: %d", file, p.refused)
			}
			return err
		},
	}
	fileFlag(cmd, &file)
	cmd.Flags().StringVar(&output, "out", "", "save the plan in this `file`")
	cmd.Flags().BoolVar(&replace, "replace", false, "remove items that were given before and are not in the file")
	cmd.Flags().UintVar(&view.perKind, "limit", shownPerKind, "show this `number` of operations of each kind at most; 0 is all")
	cmd.Flags().BoolVar(&all, "all", false, "show all operations")
	return a.formatted(cmd)
}

func fileFlag(cmd *cobra.Command, file *string) {
	cmd.Flags().StringVarP(file, "file", "f", "", "the `file` with the configuration, in YAML or JSON (\"-\" is the standard input)")
}

// onlyFile returns the file that is given as an argument or with -f.
func onlyFile(flag string, args []string) (string, error) {
	if flag != "" {
		args = append(args, flag)
	}
	if len(args) != 1 {
		return "", usage("expected one FILE (\"-\" is the standard input), got %d", len(args))
	}
	return args[0], nil
}

// readOnlyFile is onlyFile with the text of the file.
func readOnlyFile(cmd *cobra.Command, flag string, args []string) (file string, text []byte, err error) {
	if file, err = onlyFile(flag, args); err == nil {
		text, err = readDocument(cmd, file)
	}
	return file, text, err
}

func yesFlag(cmd *cobra.Command, yes *bool) {
	cmd.Flags().BoolVarP(yes, "yes", "y", false, "do not ask before the change")
}

// showPlan prints a plan; the error is a findingError if it has
// changes.
func (a *app) showPlan(text []byte, view planView) error {
	plan, err := openPlan(text)
	if err != nil {
		return err
	}
	if a.format == "" {
		err = a.printPlan(plan, view)
	} else {
		err = a.write(a.format, json.RawMessage(text))
	}
	if err == nil && plan.changes() > 0 {
		return findingError{errors.New("there are changes")}
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
		return usage("--confirm-timeout: %v: expected a positive duration", o.ConfirmTimeout)
	}
	if o.CommitID != "" && o.ConfirmTimeout == 0 {
		return usage("--commit-id: expected together with --confirm-timeout")
	}
	return nil
}

func (a *app) applyCommand() *cobra.Command {
	var file string
	var replace bool
	var o client.ApplyOptions
	var wait, yes bool
	cmd := &cobra.Command{
		Use:   "apply [-f] FILE",
		Short: "Apply a file with a configuration, or a saved plan",
		Long: "Plans a file with a configuration in YAML or JSON, shows the plan and applies it; on a\n" +
			"terminal it asks before, unless --yes is given. A plan saved by \"agentctl plan --out\" is\n" +
			"applied as it is; it is refused if anything that it touches has changed since then.\n" +
			"\n" + effectCodes,
		Example: "  agentctl apply net.yaml\n  agentctl apply net.plan --verify --revert-on-failure\n  agentctl apply net.yaml --confirm-timeout 60s && agentctl confirm",
		Args:    args(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkTimeout(o); err != nil {
				return err
			}
			file, err := onlyFile(file, args)
			if err != nil {
				return err
			}
			p, err := a.planToApply(cmd, file, replace, yes)
			if err != nil || p == nil {
				return err
			}
			return a.applyPlan(cmd.Context(), p, o, wait)
		},
	}
	fileFlag(cmd, &file)
	waitFlag(cmd, &wait)
	yesFlag(cmd, &yes)
	cmd.Flags().BoolVar(&replace, "replace", false, "remove items that were given before and are not in the file")
	applyFlags(cmd, &o)
	return cmd
}

func (a *app) tellApplied(applied response.Applied, err error, wait bool) error {
	for _, left := range applied.Left {
		if err == nil { // otherwise the error names them
			fmt.Fprintf(a.Out, "left as it is: %s: %s\n", left.Key, left.Reason)
		}
	}
	if applied.SeqNum != nil {
		fmt.Fprintf(a.Out, "transaction %d\n", *applied.SeqNum)
	}
	if !applied.ConfirmBy.IsZero() {
		fmt.Fprintf(a.Out, "will be reverted at %s unless \"%s\" confirms it before\n",
			applied.ConfirmBy.UTC().Format(time.TimeOnly+" MST"), strings.TrimSpace("agentctl confirm "+applied.CommitID))
	}
	return a.tellOutcome(&applied.Outcome, err, wait, true)
}

func (a *app) confirmCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "confirm [ID]",
		Short: "Keep the change that was applied with --confirm-timeout",
		Long: "Keeps the change that was applied with --confirm-timeout. With the ID that \"apply\" printed, a\n" +
			"change of another client is not confirmed by mistake. Without an ID it is whichever change waits.",
		Args: args(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, ids []string) error {
			seq, err := a.client.Confirm(cmd.Context(), strings.Join(ids, ""))
			if err != nil {
				return err
			}
			if seq == nil {
				return a.printf("confirmed\n")
			}
			return a.printf("transaction %d is confirmed\n", *seq)
		},
	}
}

// onlySeqNum returns the transaction that is given as an argument or with --to.
func onlySeqNum(cmd *cobra.Command, flag uint64, args []string) (uint64, error) {
	switch given := cmd.Flags().Changed("to"); {
	case given && len(args) == 0:
		return flag, nil
	case !given && len(args) == 1:
		return seqNum(args[0])
	}
	return 0, usage("expected the number of one transaction, as in \"agentctl config history\"")
}

// showRollback prints the plan of a rollback, which fails if it leaves values as they are.
func (a *app) showRollback(text []byte) error {
	err := a.showPlan(text, planView{perKind: shownPerKind})
	if plan, perr := openPlan(text); perr == nil && len(plan.Left) > 0 && (err == nil || errors.As(err, &findingError{})) {
		return fmt.Errorf("values that would not be restored: %d (%s)", len(plan.Left), a.shortText(plan.Left[0].Key+": "+plan.Left[0].Reason))
	}
	return err
}

func (a *app) cancelCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "cancel [ID]",
		Short: "Revert the change that waits for \"agentctl confirm\" now",
		Long: "Reverts the change that was applied with --confirm-timeout and is not confirmed yet. Without the ID\n" +
			"that \"apply\" printed it is whichever change waits.",
		Args: args(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, ids []string) error {
			if err := a.client.Cancel(cmd.Context(), strings.Join(ids, "")); err != nil {
				return err
			}
			return a.printf("reverted\n")
		},
	}
}

func (a *app) rollbackCommand() *cobra.Command {
	var to uint64
	var dry bool
	var o client.ApplyOptions
	cmd := &cobra.Command{
		Use:   "rollback SEQ",
		Short: "Ask again for what was wanted after a transaction",
		Long: "Makes the agent want what it wanted after the transaction, as far as its history\n" +
			"reaches. The restored values count as given by clients. What it cannot restore, because a\n" +
			"source with a higher priority overrides it or the history is too short, is left as it is: the\n" +
			"values are named, and the exit code is 1.",
		Args:              args(cobra.MaximumNArgs(1)),
		ValidArgsFunction: a.completeTxns,
		RunE: func(cmd *cobra.Command, args []string) error {
			seq, err := onlySeqNum(cmd, to, args)
			if err = errors.Join(err, checkTimeout(o)); err != nil {
				return err
			}
			to := seq
			if dry {
				plan, err := a.client.PlanRollback(cmd.Context(), to)
				if err != nil {
					return err
				}
				return a.showRollback(plan)
			}
			applied, err := progressing(cmd.Context(), a, func() (response.Applied, error) { return a.client.Rollback(cmd.Context(), to, o) })
			if err := a.tellApplied(applied, err, false); err != nil || len(applied.Left) == 0 {
				return err
			}
			return fmt.Errorf("values that are not restored: %d", len(applied.Left)) // an older agent returns no error
		},
	}
	cmd.Flags().Uint64Var(&to, "to", 0, "the `number` of the transaction, instead of SEQ")
	a.completeTxnFlag(cmd, "to")
	cmd.Flags().BoolVar(&dry, "dry-run", false, "only show the plan")
	applyFlags(cmd, &o)
	return cmd
}
