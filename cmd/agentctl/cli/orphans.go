package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/client"
)

func (a *app) orphansCommand() *cobra.Command {
	var format string
	var remove bool
	cmd := &cobra.Command{
		Use:   "orphans [--remove KEY...]",
		Short: "Show what exists in the southbound and nobody asks for",
		Long: "Shows what exists in the southbound and nobody asks for: leftovers that the agent\n" +
			"made, now or before a restart, and what is foreign, which it never touches. With\n" +
			"--remove, leftovers are removed; their keys may be given whole, or as MODEL/NAME.\n\n" +
			"The exit code is 2 if there are leftovers, 1 if one could not be removed.",
		Example: "  agentctl orphans\n  agentctl orphans --remove config/vpp/v2/interfaces/loop1",
		RunE: func(cmd *cobra.Command, keys []string) error {
			switch {
			case remove && len(keys) == 0:
				return usage("--remove: expected the keys of the leftovers to remove")
			case !remove && len(keys) > 0:
				return usage("%q: expected keys together with --remove only", keys[0])
			}
			var o client.Orphans
			keys, err := fullKeys(keys)
			if err != nil {
				return err
			}
			if remove {
				o, err = a.client.RemoveOrphans(cmd.Context(), keys)
			} else {
				o, err = a.client.Orphans(cmd.Context())
			}
			if err != nil {
				return err
			}
			return a.showOrphans(o, format, remove)
		},
	}
	formatFlag(cmd, &format)
	cmd.Flags().BoolVar(&remove, "remove", false, "remove the leftovers with the given keys")
	return cmd
}

func (a *app) showOrphans(o client.Orphans, format string, removed bool) error {
	var err error
	switch {
	case format == "":
		err = a.printOrphans(o)
	case strings.Contains(format, "{{"):
		err = a.write(format, o)
	default:
		err = a.write(format, o.Raw)
	}
	ours := 0
	for _, orphan := range o.Orphans {
		if orphan.Ours {
			ours++
		}
	}
	switch {
	case err != nil:
		return err
	case len(o.Errors) > 0:
		return fmt.Errorf("the removal failed: %s", strings.Join(o.Errors, "; "))
	case ours > 0 && !removed:
		return findingError{fmt.Errorf("leftovers of the agent: %d", ours)}
	}
	return nil
}

func (a *app) printOrphans(o client.Orphans) error {
	if len(o.Orphans) > 0 {
		t := newTable("KEY", "DESCRIPTOR", "MADE BY", "SINCE", "PROBLEM")
		for _, orphan := range o.Orphans {
			t.row(orphan.Key, orphan.Descriptor, a.paintOwner(orphan), orphanSince(orphan), orphan.Problem)
		}
		if err := t.write(a.Out); err != nil {
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

func (a *app) paintOwner(o client.Orphan) string {
	if o.Ours {
		return a.paint(yellow, "agent")
	}
	return "others"
}

// orphanSince is when a leftover was made, and by which transaction of that
// time.
func orphanSince(o client.Orphan) string {
	if o.Since.IsZero() || o.Txn == nil {
		return ""
	}
	return fmt.Sprintf("%s (transaction %d)", o.Since.UTC().Format(time.RFC3339), *o.Txn)
}
