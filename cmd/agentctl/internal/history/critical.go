package history

import (
	"fmt"
	"time"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/output"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api/response"
)

// printCriticalPath prints the phases of a transaction, and the operations that determined how long it took.
func (o *options) printCriticalPath(p response.CriticalPath) error {
	fmt.Fprintf(o.Out, "Transaction %d (%s) took %s\n", p.SeqNum, p.Kind, seconds(p.Total))
	if p.Description != "" {
		fmt.Fprintf(o.Out, "  %s\n", o.Models.ShortText(p.Description))
	}
	fmt.Fprintln(o.Out)
	phases := output.NewTable("PHASE", "TOOK", "SHARE", "WHAT")
	for _, phase := range p.Phases {
		phases.Row(phase.Name, seconds(phase.Took), percent(phase.Share), phase.For)
	}
	if err := phases.Write(o.Printer); err != nil {
		return err
	}
	if p.Length == 0 {
		return o.Printf("\nNo operation ran in a descriptor.\n")
	}
	fmt.Fprintf(o.Out, "\n%d of %d operations, one after the other, made the execution as long as it was:\n", p.Length, p.Operations)
	steps := output.NewTable("NO", "OPERATION", "KEY", "WAITED", "RAN", "SHARE", "BECAUSE")
	for i := range p.Steps {
		s := &p.Steps[i]
		if s.Skipped > 0 {
			steps.Row("...", fmt.Sprintf("%d more", s.Skipped), "", "", seconds(s.SkippedTook), percent(s.SkippedTook/max(p.Total, 1e-9)), "")
		}
		steps.Row(s.Number, s.Operation, o.Models.ShortKey(s.Key), seconds(s.Waited), seconds(s.Ran), percent(s.Share), o.Models.ShortText(s.Because()))
	}
	return steps.Write(o.Printer)
}

// seconds returns a time with three digits.
func seconds(s float64) string {
	d := time.Duration(s * float64(time.Second))
	for _, unit := range []time.Duration{time.Second, time.Millisecond, time.Microsecond} {
		if d >= unit {
			return d.Round(unit / 100).String()
		}
	}
	return d.String()
}

func percent(share float64) string { return fmt.Sprintf("%.0f%%", 100*share) }
