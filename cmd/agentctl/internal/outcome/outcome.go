// Package outcome prints what became of a change, and what is wrong with a file.
package outcome

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/cmdutil"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/output"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/response"
)

// ExitCodes describes the exit codes of commands that change the
// configuration.
const ExitCodes = "The last line says how many items are in effect. The exit code is 0 if all are, or if the rest\n" +
	"is pending; 1 if an item failed, is retried, or can never come into effect (INVALID,\n" +
	"UNIMPLEMENTED), and with --wait also if an item is still pending."

// maxListed is the maximum number of printed items that are not in effect.
const maxListed = 50

// WaitFlag adds the flag --wait.
func WaitFlag(cmd *cobra.Command, wait *bool) {
	cmd.Flags().BoolVarP(wait, "wait", "w", false, "wait until all items are in effect or cannot be, for --timeout at most")
}

// Print prints a summary and the items that are not in effect, unless
// text is false. It returns an error if the exit code is not 0; err is the
// error of the agent.
func Print(f *cmdutil.Factory, o *response.Outcome, err error, wait, text bool) error {
	if o.Summary == nil { // nothing was changed
		if err != nil {
			return err
		}
		o.Summary = &response.Summary{Text: "0 of 0 in effect"}
	}
	s := o.Summary
	PrintPredictions(f, "", o.Findings)
	if text {
		if terr := printOutcome(f, o, err != nil); terr != nil {
			return terr
		}
	}
	switch pending, unimplemented := s.States["PENDING"], s.States["UNIMPLEMENTED"]; {
	case s.Failed == 1 && unimplemented == 1:
		return fmt.Errorf("accepted, but 1 value is UNIMPLEMENTED%s", firstUnimplemented(f, o.Results))
	case s.Failed > 0 && s.Failed == unimplemented:
		return fmt.Errorf("accepted, but %d values are UNIMPLEMENTED%s", unimplemented, firstUnimplemented(f, o.Results))
	case s.Failed > 0:
		return fmt.Errorf("%d of %d items failed or cannot come into effect", s.Failed, s.Items)
	case err != nil:
		return err
	case wait && pending > 0:
		return fmt.Errorf("%d of %d items are still pending", pending, s.Items)
	}
	return nil
}

// firstUnimplemented returns the first UNIMPLEMENTED item with its reason, after a colon;
// "" if the results lack it.
func firstUnimplemented(f *cmdutil.Factory, results []response.Item) string {
	for _, r := range results {
		if r.State == "UNIMPLEMENTED" {
			return ": " + f.Models.ShortText(r.Key+": "+cmp.Or(r.Reason, r.Error))
		}
	}
	return ""
}

// MaxPerReason is the maximum number of printed items that have the same reason.
const MaxPerReason = 5

// sameReason are items that are not in effect for the same reason.
type sameReason struct {
	state, reason string
	items         []response.Item
}

func groupByReason(results []response.Item) (groups []*sameReason) {
	known := map[[2]string]*sameReason{}
	for _, r := range results {
		reason := cmp.Or(r.Reason, r.Error)
		if reason == "" && r.State == "CONFIGURED" {
			continue
		}
		key := [2]string{r.State, reason}
		if known[key] == nil {
			known[key] = &sameReason{state: r.State, reason: reason}
			groups = append(groups, known[key])
		}
		known[key].items = append(known[key].items, r)
	}
	return groups
}

// Overriding names the items of other sources that a change overrides, and says how to give
// them back; empty if there are none. The verb is "now overrides" or "will override".
func Overriding(f *cmdutil.Factory, verb string, list []response.Override, all int) string {
	if all == 0 {
		return ""
	}
	var notes strings.Builder
	for _, over := range list {
		fmt.Fprintf(&notes, "%s %s the item of %s, %s\n", f.Models.ShortKey(over.Key), verb, over.Source, cmp.Or(over.Location, "at an unknown place"))
	}
	if n := all - len(list); n > 0 {
		fmt.Fprintf(&notes, "and %s more\n", output.Thousands(uint64(n)))
	}
	if all == 1 {
		return notes.String() + "To give it back: agentctl config delete FILE, with this item\n"
	}
	return notes.String() + "To give them back: agentctl config delete FILE, with these items\n"
}

// printOutcome prints the items that are not in effect and the summary; failed reports that
// the agent returned an error.
func printOutcome(f *cmdutil.Factory, o *response.Outcome, failed bool) error {
	t := output.NewTable("ITEM", "STATE", "SOURCE", "REASON")
	listed, more := 0, o.Omitted
	var notes strings.Builder
	for _, g := range groupByReason(o.Results) {
		shown := min(len(g.items), MaxPerReason, maxListed-listed)
		for _, r := range g.items[:shown] {
			t.Row(f.Models.ShortKey(r.Key), f.PaintState(r.State), r.Source, f.Models.ShortText(g.reason))
		}
		listed += shown
		switch rest := len(g.items) - shown; {
		case rest > 0 && shown > 0:
			fmt.Fprintf(&notes, "and %d more %s: %s\n", rest, g.state, f.Models.ShortText(g.reason))
		default:
			more += rest
		}
	}
	if more > 0 {
		fmt.Fprintf(&notes, "and %d more; see agentctl values\n", more)
	}
	if listed > 0 {
		if err := t.Write(f.Printer); err != nil {
			return err
		}
	}
	notes.WriteString(Overriding(f, "now overrides", o.Overrides, o.Overridden))
	text := f.Models.ShortText(o.Summary.Text)
	if o.Summary.InEffect == o.Summary.Items && !failed {
		text = "OK: " + text
	}
	return f.Printf("%s%s\n", notes.String(), text)
}
