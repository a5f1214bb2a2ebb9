package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/client"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api/response"
)

func (a *app) orphansCommand() *cobra.Command {
	var remove, all bool
	cmd := a.formatted(&cobra.Command{
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
		RunE: func(cmd *cobra.Command, keys []string) error {
			switch {
			case remove && len(keys) == 0 && !all:
				return usage("--remove: expected the keys of the objects to remove, or --all")
			case !remove && len(keys) > 0:
				return usage("%q: expected keys together with --remove only", keys[0])
			case all && (!remove || len(keys) > 0):
				return usage("--all: expected --remove and no keys")
			}
			var o client.Answer[response.Orphans]
			var err error
			keys = a.fullKeys(keys)
			if all || !remove {
				o, err = a.client.Orphans(cmd.Context())
			}
			if all && err == nil {
				keys = removable(o.Value)
			}
			if len(keys) > 0 && err == nil {
				o, err = a.client.RemoveOrphans(cmd.Context(), keys)
			}
			if err != nil {
				return err
			}
			return a.showOrphans(o, remove)
		},
	})
	cmd.Flags().BoolVar(&remove, "remove", false, "remove the objects with the given keys")
	cmd.Flags().BoolVar(&all, "all", false, "with --remove: remove all objects that the agent made or that are marked")
	return cmd
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

func (a *app) showOrphans(answer client.Answer[response.Orphans], removed bool) error {
	o := answer.Value
	err := showAnswer(a, answer, a.printOrphans)
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
		return findingError{fmt.Errorf("leftovers of the agent: %d", ours)}
	case marked > 0 && !removed:
		return findingError{fmt.Errorf("marked as an agent's, not on record: %d", marked)}
	}
	return nil
}

func (a *app) printOrphans(o response.Orphans) error {
	if len(o.Orphans) > 0 {
		t := newTable("KEY", "DESCRIPTOR", "MADE BY", "SINCE", "PROBLEM")
		for _, orphan := range o.Orphans {
			t.row(orphan.Key, orphan.Descriptor, a.paintOwner(orphan), orphanSince(orphan), orphanProblem(orphan))
		}
		if err := t.write(a); err != nil {
			return err
		}
	}
	switch {
	case o.SeqNum != nil && len(o.Errors) == 0:
		fmt.Fprintf(a.Out, "Removed by transaction %d.\n", *o.SeqNum)
	case len(o.Orphans) == 0:
		fmt.Fprintln(a.Out, "No orphans.")
	}
	return nil
}

func (a *app) paintOwner(o api.Orphan) string {
	switch {
	case o.Ours:
		return a.paint(yellow, "agent")
	case o.Marked:
		return a.paint(yellow, "marked")
	}
	return "others"
}

func orphanProblem(o api.Orphan) string {
	if lacks := api.Unmodeled(o.Value.Message); len(lacks) > 0 && o.Problem == "" {
		return "differs in what the model lacks: " + strings.Join(lacks, ", ")
	}
	if o.Marked && o.Problem == "" {
		return "marked as an agent's, not on record; to remove it: agentctl orphans --remove " + o.Key
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
