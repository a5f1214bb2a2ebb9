package cli

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
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api/response"
)

func (a *app) driftCommand() *cobra.Command {
	var last, repair, retry bool
	cmd := a.formatted(&cobra.Command{
		Use:   "drift",
		Short: "Show how the southbound differs from what the agent made of it",
		Long: "Makes the agent read the southbound and compare it with what it believes to exist:\n" +
			"values that are missing, that differ, and that are not configured. That changes\n" +
			"nothing; with --repair exactly these values are repaired.\n\n" +
			"The exit code is 2 if there is drift that was not repaired, 1 if its repair failed or if the\n" +
			"southbound, or a part of it, could not be read.",
		Example: "  agentctl drift\n  agentctl drift --repair",
		Args:    args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case last && repair:
				return usage("--last and --repair: expected only one of them")
			case retry && !repair:
				return usage("--retry: expected together with --repair")
			}
			report, err := a.detectDrift(cmd.Context(), last, repair, retry)
			if err != nil {
				return err
			}
			return a.showDrift(report)
		},
	})
	cmd.Flags().BoolVar(&last, "last", false, "show what was found last, without looking again")
	cmd.Flags().BoolVar(&repair, "repair", false, "repair what is found")
	cmd.Flags().BoolVar(&retry, "retry", false, "try again later what fails of the repair")
	return cmd
}

func (a *app) detectDrift(ctx context.Context, last, repair, retry bool) (client.Answer[response.Drift], error) {
	switch {
	case repair:
		return a.client.RepairDrift(ctx, retry)
	case last:
		report, err := a.client.LastDrift(ctx)
		if notFound(err) {
			err = errors.New("drift was not looked for yet; 'agentctl drift' does it")
		}
		return report, err
	}
	return a.client.DetectDrift(ctx)
}

func (a *app) showDrift(answer client.Answer[response.Drift]) error {
	r := answer.Value
	err := showAnswer(a, answer, a.printDrift)
	switch {
	case err != nil:
		return err
	case len(r.Errors) > 0:
		return fmt.Errorf("the repair failed: %s", strings.Join(r.Errors, "; "))
	case len(r.Drifts) > 0 && len(r.Repairs) == 0:
		return findingError{fmt.Errorf("drift: %d of %d values", len(r.Drifts), r.Values)}
	}
	return unreadError(r.Unread)
}

// printUnread prints what was not read, one line per reason.
func (a *app) printUnread(unread []api.DriftUnread) {
	by := map[string][]string{}
	for _, u := range unread {
		by[u.Reason] = append(by[u.Reason], u.Descriptor)
	}
	for _, reason := range slices.Sorted(maps.Keys(by)) {
		fmt.Fprintf(a.Out, "not read: %s: %s\n", reason, strings.Join(by[reason], ", "))
	}
}

// unreadError is the error of a comparison that left values out; nil if it left
// out only values that cannot be read.
func unreadError(unread []api.DriftUnread) error {
	i := slices.IndexFunc(unread, func(u api.DriftUnread) bool { return !u.Never })
	if i < 0 {
		return nil
	}
	return fmt.Errorf("not everything was read: %s", unread[i].Reason)
}

func (a *app) printDrift(r response.Drift) error {
	if len(r.Drifts) > 0 {
		t := newTable("KEY", "DRIFT", "FIELDS")
		for _, d := range r.Drifts {
			t.row(d.Key, a.paintDrift(d.Kind), driftFields(d))
		}
		if err := t.write(a); err != nil {
			return err
		}
	}
	a.printUnread(r.Unread)
	switch {
	case len(r.Drifts) == 0 && unreadError(r.Unread) != nil:
		fmt.Fprintf(a.Out, "No drift among the %d values that were compared.\n", r.Values)
	case len(r.Drifts) == 0:
		fmt.Fprintf(a.Out, "No drift: %d values compared.\n", r.Values)
	case len(r.Repairs) > 0 && len(r.Errors) == 0:
		fmt.Fprintf(a.Out, "Repaired by transaction %d.\n", r.Repairs[len(r.Repairs)-1])
	}
	return nil
}

func (a *app) paintDrift(kind api.DriftKind) string {
	if kind == api.DriftMissing {
		return a.paint(red, string(kind))
	}
	return a.paint(yellow, string(kind))
}

// driftFields returns one line per field, from the expected to the actual
// value.
func driftFields(d api.Drift) string {
	lines := make([]string, len(d.Fields))
	for i, f := range d.Fields {
		lines[i] = fmt.Sprintf("%s: %s -> %s", f.Field, cmp.Or(f.Believed, unset), cmp.Or(f.Found, unset))
	}
	return strings.Join(lines, "\n")
}

// unset stands for the value of a field without one.
const unset = "(unset)"
