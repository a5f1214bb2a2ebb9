// Package drift has the command that compares the southbound with what the agent applied.
package drift

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

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
	last, repair, retry bool
}

// New returns the command "drift".
func New(f *cmdutil.Factory) *cobra.Command {
	o := &options{Factory: f}
	cmd := f.Formatted(&cobra.Command{
		Use:   "drift",
		Short: "Show how the southbound differs from what the agent made of it",
		Long: "Makes the agent read the southbound and compare it with what it believes to exist:\n" +
			"values that are missing, that differ, and that are not configured. That changes\n" +
			"nothing; with --repair exactly these values are repaired.\n\n" +
			"The exit code is 2 if there is drift that was not repaired, 1 if its repair failed or if the\n" +
			"southbound, or a part of it, could not be read.",
		Example: "  agentctl drift\n  agentctl drift --repair",
		Args:    cmdutil.Args(cobra.NoArgs),
		RunE:    o.run,
	})
	cmd.Flags().BoolVar(&o.last, "last", false, "show what was found last, without looking again")
	cmd.Flags().BoolVar(&o.repair, "repair", false, "repair what is found")
	cmd.Flags().BoolVar(&o.retry, "retry", false, "try again later what fails of the repair")
	return cmd
}

func (o *options) run(cmd *cobra.Command, _ []string) error {
	switch {
	case o.last && o.repair:
		return exit.Usagef("--last and --repair: expected only one of them")
	case o.retry && !o.repair:
		return exit.Usagef("--retry: expected together with --repair")
	}
	report, err := o.detectDrift(cmd.Context(), o.last, o.repair, o.retry)
	if err != nil {
		return err
	}
	return o.showDrift(report)
}

func (o *options) detectDrift(ctx context.Context, last, repair, retry bool) (client.Answer[response.Drift], error) {
	switch {
	case repair:
		return o.Client.Repair.RepairDrift(ctx, retry)
	case last:
		report, err := o.Client.Repair.LastDrift(ctx)
		if cmdutil.NotFound(err) {
			err = errors.New("drift was not looked for yet; 'agentctl drift' does it")
		}
		return report, err
	}
	return o.Client.Repair.DetectDrift(ctx)
}

func (o *options) showDrift(answer client.Answer[response.Drift]) error {
	r := answer.Value
	err := output.ShowAnswer(o.Printer, answer, o.printDrift)
	switch {
	case err != nil:
		return err
	case len(r.Errors) > 0:
		return fmt.Errorf("the repair failed: %s", strings.Join(r.Errors, "; "))
	case len(r.Drifts) > 0 && len(r.Repairs) == 0:
		return exit.Findingf("drift: %d of %d values", len(r.Drifts), r.Values)
	}
	return UnreadError(r.Unread)
}

// PrintUnread prints what was not read, one line per reason.
func PrintUnread(f *cmdutil.Factory, unread []api.DriftUnread) {
	by := map[string][]string{}
	for _, u := range unread {
		by[u.Reason] = append(by[u.Reason], u.Descriptor)
	}
	for _, reason := range slices.Sorted(maps.Keys(by)) {
		what := strings.Join(by[reason], ", ")
		if len(by[reason]) > maxKinds {
			what = fmt.Sprintf("%d kinds of values", len(by[reason]))
		}
		fmt.Fprintf(f.Out, "not read: %s: %s\n", reason, what)
	}
}

// maxKinds is the number of descriptors that are named which could not be read for the same reason.
const maxKinds = 5

// UnreadError is the error of a comparison that left values out; nil if it left
// out only values that cannot be read.
func UnreadError(unread []api.DriftUnread) error {
	i := slices.IndexFunc(unread, func(u api.DriftUnread) bool { return !u.Never })
	if i < 0 {
		return nil
	}
	return fmt.Errorf("not everything was read: %s", unread[i].Reason)
}

func (o *options) printDrift(r response.Drift) error {
	if len(r.Drifts) > 0 {
		t := output.NewTable("KEY", "DRIFT", "FIELDS")
		for _, d := range r.Drifts {
			t.Row(o.Models.ShortKey(d.Key), o.paintDrift(d.Kind), driftFields(d))
		}
		if err := t.Write(o.Printer); err != nil {
			return err
		}
	}
	PrintUnread(o.Factory, r.Unread)
	switch {
	case len(r.Drifts) == 0 && UnreadError(r.Unread) != nil:
		fmt.Fprintf(o.Out, "No drift among the %d values that were compared.\n", r.Values)
	case len(r.Drifts) == 0:
		fmt.Fprintf(o.Out, "No drift: %d values compared.\n", r.Values)
	case len(r.Repairs) > 0 && len(r.Errors) == 0:
		fmt.Fprintf(o.Out, "Repaired by transaction %d.\n", r.Repairs[len(r.Repairs)-1])
	}
	return nil
}

func (o *options) paintDrift(kind api.DriftKind) string {
	if kind == api.DriftMissing {
		return o.Paint(output.Red, string(kind))
	}
	return o.Paint(output.Yellow, string(kind))
}

// driftFields returns one line per field, from the expected to the actual
// value.
func driftFields(d api.Drift) string {
	lines := make([]string, len(d.Fields))
	for i, f := range d.Fields {
		lines[i] = fmt.Sprintf("%s: %s -> %s", f.Field, cmp.Or(f.Believed, output.Unset), cmp.Or(f.Found, output.Unset))
	}
	return strings.Join(lines, "\n")
}
