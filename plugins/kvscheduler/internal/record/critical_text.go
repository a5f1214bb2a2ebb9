package record

import (
	"bufio"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api/response"
)

// FormatCritical writes a critical path as text. The error is that of the writer.
func FormatCritical(w io.Writer, p *response.CriticalPath) error {
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "Transaction #%d (%s) took %s until its end:\n", p.SeqNum, p.Kind, inSeconds(p.Total))
	if p.Description != "" {
		fmt.Fprintf(b, "    %s\n", oneLine(p.Description))
	}
	t := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	for _, phase := range p.Phases {
		fmt.Fprintf(t, "    %s\t%s\t%s\t%s\n", phase.Name, inSeconds(phase.Took), percent(phase.Share), phase.For)
	}
	_ = t.Flush() // b keeps the error
	if p.Length == 0 {
		fmt.Fprintln(b, "No operation ran in a descriptor.")
		return b.Flush()
	}
	fmt.Fprintf(b, "%d of %d operations, one after the other, made the execution as long as it was:\n", p.Length, p.Operations)
	fmt.Fprintln(t, "    NO\tOPERATION\tKEY\tWAITED\tRAN\tSHARE\tBECAUSE")
	for i := range p.Steps {
		writeStep(t, p, &p.Steps[i])
	}
	_ = t.Flush()
	return b.Flush()
}

func writeStep(w io.Writer, p *response.CriticalPath, s *response.Step) {
	if s.Skipped > 0 {
		fmt.Fprintf(w, "    ...\t%d more\t\t\t%s\t%s\n", s.Skipped, inSeconds(s.SkippedTook), percent(share(p, s.SkippedTook)))
	}
	fmt.Fprintf(w, "    %d\t%s\t%s\t%s\t%s\t%s\t%s\n", s.Number, s.Operation, s.Key,
		inSeconds(s.Waited), inSeconds(s.Ran), percent(s.Share), because(s))
}

// because says what a step waited for, and whether it failed.
func because(s *response.Step) string {
	text := ""
	switch s.For {
	case api.OpWaitDependency:
		text = fmt.Sprintf("it follows %d", s.After)
	case api.OpWaitSlot:
		text = fmt.Sprintf("%d made room: no more may run at once", s.After)
	case api.OpWaitTurn:
		text = fmt.Sprintf("it is the next after %d: one at a time", s.After)
	case api.OpWaitRemovals:
		text = fmt.Sprintf("removals go first, %d was the last", s.After)
	case api.OpWaitReplan:
		text = fmt.Sprintf("planned again after %d, because of failures", s.After)
	case api.OpWaitNone:
		text = "it could start at once"
		if s.Waited > 0 {
			text = "the first; before it came what takes no callback"
		}
	}
	if s.Error != "" {
		text += "; failed: " + oneLine(s.Error)
	}
	return text
}

func inSeconds(s float64) string {
	return roundDuration(time.Duration(s * float64(time.Second)).Round(time.Nanosecond)).String()
}

func percent(share float64) string { return fmt.Sprintf("%.0f%%", 100*share) }
