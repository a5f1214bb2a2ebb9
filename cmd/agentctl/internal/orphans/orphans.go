// Package orphans has the command that shows and removes objects that are not configured.
package orphans

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/client"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/cmdutil"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/exit"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/output"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api/response"
)

type options struct {
	*cmdutil.Factory
	remove, all bool
}

// New returns the command "orphans".
func New(f *cmdutil.Factory) *cobra.Command {
	opts := &options{Factory: f}
	cmd := f.Formatted(&cobra.Command{
		Use:   "orphans [--remove KEY... | --remove --all]",
		Short: "Show what exists in the southbound and is not configured",
		Long: "Reads the southbound and shows what exists there and is not configured:\n\n" +
			"  agent   on record as made by this agent, now or before a restart. The next\n" +
			"          resync removes it, if it can be removed\n" +
			"  marked  has an agent's mark (a tag in VPP, an alias with this agent's label in\n" +
			"          Linux) and is not on record: made by another agent, or by this one in a\n" +
			"          run without state-dir. It is removed only on request\n" +
			"  others  foreign, which the agent never touches\n\n" +
			"With --remove, objects of the first two kinds are removed; their keys may be given\n" +
			"whole, or as MODEL/NAME. --all removes all objects of the first two kinds: make sure\n" +
			"first that none of them belongs to another agent.\n\n" +
			"The exit code is 2 if there are such objects, 1 if one could not be removed.",
		Example: "  agentctl orphans\n  agentctl orphans --remove config/vpp/v2/interfaces/loop1",
		RunE:    opts.run,
	})
	cmd.Flags().BoolVar(&opts.remove, "remove", false, "remove the objects with the given keys")
	cmd.Flags().BoolVar(&opts.all, "all", false, "with --remove: remove all objects that the agent made or that are marked")
	return cmd
}

func (opts *options) run(cmd *cobra.Command, keys []string) error {
	if err := opts.check(keys); err != nil {
		return err
	}
	var o client.Answer[response.Orphans]
	var err error
	keys = opts.Models.FullKeys(keys)
	if opts.all || !opts.remove {
		o, err = opts.Client.Repair.Orphans(cmd.Context())
	}
	if opts.all && err == nil {
		keys = removable(o.Value)
	}
	if len(keys) > 0 && err == nil {
		if o, err = opts.Client.Repair.RemoveOrphans(cmd.Context(), keys); err != nil && !opts.all {
			err = opts.unknown(cmd.Context(), keys, err)
		}
	}
	if err != nil {
		return err
	}
	return opts.showOrphans(o, opts.remove)
}

// unknown adds the orphan that was probably meant to the error of a removal.
func (opts *options) unknown(ctx context.Context, given []string, err error) error {
	o, oerr := opts.Client.Repair.Orphans(ctx)
	if oerr != nil {
		return err // which says more
	}
	var keys []string
	for _, orphan := range o.Value.Orphans {
		keys = append(keys, orphan.Key)
	}
	return opts.Unknown(err, given, keys)
}

// check returns an error for flags and keys that do not fit together.
func (opts *options) check(keys []string) error {
	switch {
	case opts.remove && len(keys) == 0 && !opts.all:
		return exit.Usagef("--remove: expected the keys of the objects to remove, or --all")
	case !opts.remove && len(keys) > 0:
		return exit.Usagef("%q: expected keys together with --remove only", keys[0])
	case opts.all && (!opts.remove || len(keys) > 0):
		return exit.Usagef("--all: expected --remove and no keys")
	}
	return nil
}

// removable returns the keys of the orphans that can be removed now.
func removable(o response.Orphans) (keys []string) {
	for _, orphan := range o.Orphans {
		if (orphan.Ours || orphan.Marked) && !orphan.Unread {
			keys = append(keys, orphan.Key)
		}
	}
	return keys
}

func (opts *options) showOrphans(answer client.Answer[response.Orphans], removed bool) error {
	o := answer.Value
	err := output.ShowAnswer(opts.Printer, answer, opts.printOrphans)
	ours, marked := 0, 0
	for _, orphan := range o.Orphans {
		switch {
		case orphan.Ours:
			ours++
		case orphan.Marked:
			marked++
		}
	}
	switch {
	case err != nil:
		return err
	case len(o.Errors) > 0:
		return fmt.Errorf("the removal failed: %s", strings.Join(o.Errors, "; "))
	case ours > 0 && !removed:
		return exit.Findingf("leftovers of the agent: %d", ours)
	case marked > 0 && !removed:
		return exit.Findingf("marked as an agent's, not on record: %d", marked)
	}
	return nil
}

func (opts *options) printOrphans(o response.Orphans) error {
	if len(o.Orphans) > 0 {
		t := output.NewTable("KEY", "DESCRIPTOR", "MADE BY", "SINCE", "PROBLEM")
		marked := false
		for _, orphan := range o.Orphans {
			marked = marked || orphan.Marked && !orphan.Ours
			t.Row(opts.Models.ShortKey(orphan.Key), orphan.Descriptor, opts.paintOwner(orphan), orphanSince(orphan), orphanProblem(orphan))
		}
		if err := t.Write(opts.Printer); err != nil {
			return err
		}
		if marked {
			fmt.Fprintln(opts.Out, "marked: has the mark of an agent, and is not on record here; agentctl orphans --remove KEY removes it")
		}
	}
	switch {
	case o.SeqNum != nil && len(o.Errors) == 0:
		fmt.Fprintf(opts.Out, "Removed by transaction %d.\n", *o.SeqNum)
	case len(o.Orphans) == 0:
		fmt.Fprintln(opts.Out, "No orphans.")
	}
	return nil
}

func (opts *options) paintOwner(o api.Orphan) string {
	switch {
	case o.Ours:
		return opts.Paint(output.Yellow, "agent")
	case o.Marked:
		return opts.Paint(output.Yellow, "marked")
	}
	return "others"
}

func orphanProblem(o api.Orphan) string {
	if lacks := api.Unmodeled(o.Value.Message); len(lacks) > 0 && o.Problem == "" {
		return "differs in what the model lacks: " + strings.Join(lacks, ", ")
	}
	return o.Problem
}

// orphanSince returns when an orphan was created, and by which transaction.
func orphanSince(o api.Orphan) string {
	if o.Since.IsZero() || o.Txn == nil {
		return ""
	}
	return fmt.Sprintf("%s (transaction %d)", o.Since.UTC().Format(time.RFC3339), *o.Txn)
}
