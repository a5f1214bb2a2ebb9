// Package quarantine has the commands for values that bring their southbound down.
package quarantine

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/client"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/cmdutil"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/exit"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/output"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api/response"
)

// New returns the command "quarantine".
func New(f *cmdutil.Factory) *cobra.Command {
	cmd := f.Formatted(&cobra.Command{
		Use:   "quarantine",
		Short: "Show the values that bring their southbound down",
		Long: "Shows the values in quarantine: the southbound went down several times while they\n" +
			"were being worked on, so nothing is done with them until they are changed, deleted\n" +
			"or released. Values under suspicion are listed as well; they are tried one at a time.\n" +
			"If the southbound goes down some time after its values were applied, some of them\n" +
			"are held back to find the one that is the cause.\n\n" +
			"The exit code is 2 if there are values in quarantine or held back.",
		Example: "  agentctl quarantine\n  agentctl quarantine release --all",
		Args:    cmdutil.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			q, err := f.Client.Repair.Quarantine(cmd.Context())
			if err != nil {
				return err
			}
			return showQuarantine(f, q, true)
		},
	})
	cmd.AddCommand(newRelease(f))
	return cmd
}

type releaseOptions struct {
	*cmdutil.Factory
	all bool
}

func newRelease(f *cmdutil.Factory) *cobra.Command {
	o := &releaseOptions{Factory: f}
	cmd := f.Formatted(&cobra.Command{
		Use:   "release KEY... | --all",
		Short: "Try values in quarantine again, one at a time",
		Long: "Tries values in quarantine again, one at a time. Keys may be given whole, or as MODEL/NAME.\n" +
			"To release a value that is held back ends the search; all that it holds back is applied.",
		Example: "  agentctl quarantine release vpp.interfaces/tap1",
		RunE:    o.run,
	})
	cmd.Flags().BoolVar(&o.all, "all", false, "release all values in quarantine")
	return cmd
}

func (o *releaseOptions) run(cmd *cobra.Command, keys []string) error {
	switch {
	case o.all && len(keys) > 0:
		return exit.Usagef("%q: expected keys or --all, not both", keys[0])
	case !o.all && len(keys) == 0:
		return exit.Usagef("expected the keys of the values to release, or --all")
	}
	keys = o.Models.FullKeys(keys)
	q, err := o.Client.Repair.ReleaseQuarantined(cmd.Context(), keys)
	if err != nil {
		return o.unknown(cmd.Context(), keys, err)
	}
	return showQuarantine(o.Factory, q, false)
}

// unknown adds the value that was probably meant to the error of a release.
func (o *releaseOptions) unknown(ctx context.Context, given []string, err error) error {
	q, qerr := o.Client.Repair.Quarantine(ctx)
	if qerr != nil {
		return err // which says more
	}
	var keys []string
	for _, s := range q.Value.Suspects {
		keys = append(keys, s.Key)
	}
	return o.Unknown(err, given, keys)
}

func showQuarantine(f *cmdutil.Factory, answer client.Answer[response.Quarantine], finding bool) error {
	q := answer.Value
	err := output.ShowAnswer(f.Printer, answer, func(q response.Quarantine) error { return printQuarantine(f, q) })
	quarantined, held := 0, 0
	for i := range q.Suspects {
		switch s := &q.Suspects[i]; {
		case s.Quarantined:
			quarantined++
		case s.HeldBack:
			held++
		}
	}
	switch {
	case err != nil || !finding:
		return err
	case held > 0:
		return exit.Findingf("values in quarantine: %d, held back: %d", quarantined, held)
	case quarantined > 0:
		return exit.Findingf("values in quarantine: %d", quarantined)
	}
	return nil
}

func printQuarantine(f *cmdutil.Factory, q response.Quarantine) error {
	if len(q.Suspects) == 0 {
		fmt.Fprintln(f.Out, "No values in quarantine.")
		return nil
	}
	t := output.NewTable("KEY", "STATE", "SOUTHBOUND", "OPERATION", "WENT DOWN AT")
	var searches []string
	for _, s := range q.Suspects {
		state, operation := f.Paint(output.Yellow, "suspect"), cmp.Or(s.Operation, "applied")
		switch {
		case s.Quarantined:
			state = f.Paint(output.Red, "quarantined")
		case s.HeldBack:
			state, operation = f.Paint(output.Yellow, "held back"), ""
			if !slices.Contains(searches, s.Search) {
				searches = append(searches, s.Search)
			}
		}
		times := make([]string, len(s.Crashes))
		for i, at := range s.Crashes {
			times[i] = at.UTC().Format(time.RFC3339)
		}
		t.Row(f.Models.ShortKey(s.Key), state, s.Southbound, operation, strings.Join(times, "\n"))
	}
	if err := t.Write(f.Printer); err != nil {
		return err
	}
	for _, search := range searches {
		fmt.Fprintln(f.Out, "\n"+f.Models.ShortText(search))
	}
	return nil
}
