package record

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api/response"
)

// Critical finds the critical path of an executed transaction; nil if it is
// still running. At most limit steps are shown; 0 shows all.
func Critical(txn *api.RecordedTxn, limit int) *response.CriticalPath {
	if txn.PreRecord {
		return nil
	}
	from := txn.Start
	for _, t := range []time.Time{txn.Prepared, txn.Taken, txn.Queued, txn.Turn, txn.Came} {
		if !t.IsZero() {
			from = t
		}
	}
	p := &response.CriticalPath{
		SeqNum: txn.SeqNum, Kind: Kind(txn), Description: txn.Description, Total: txn.Stop.Sub(from).Seconds(),
	}
	path := pathOf(p, txn.Executed)
	begun := began(txn)
	var merged time.Time
	if !txn.Turn.IsZero() {
		merged = txn.Queued
	}
	end := begun
	if len(path) > 0 {
		end = txn.Executed[path[len(path)-1]].End()
	}
	if end.After(txn.Stop) || end.Before(begun) {
		end = txn.Stop
	}
	for _, phase := range []struct {
		name, why string
		end       time.Time
	}{
		{"turn", "waited in the queue of the orchestrator", txn.Turn},
		{"merge", "merged with the configuration of the other sources", merged},
		{"queue", "waited in the queue of the scheduler", txn.Taken},
		{"prepare", "validated, and the southbound read as far as the plan needs it", txn.Prepared},
		{"plan", "planned", txn.Start},
		{"record", "recorded before the execution", txn.Begun},
		{"execute", "executed", end},
		{"finish", "after the last callback", txn.Stop},
	} {
		if phase.end.IsZero() || phase.name == "plan" && txn.Prepared.IsZero() {
			continue // of a record without these times
		}
		took := phase.end.Sub(from).Seconds()
		p.Phases = append(p.Phases, response.Phase{Name: phase.name, For: phase.why, Took: took, Share: share(p, took)})
		from = phase.end
	}
	p.Steps = longest(steps(p, txn, path), limit)
	return p
}

// began is when the first operation could begin, or else when that was planned.
func began(txn *api.RecordedTxn) time.Time {
	if txn.Begun.IsZero() {
		return txn.Start
	}
	return txn.Begun
}

func share(p *response.CriticalPath, took float64) float64 {
	if p.Total <= 0 {
		return 0
	}
	return took / p.Total
}

// path lists the indexes of the operations from the first to the one that
// ended last, of several the one that is first in the record.
func pathOf(p *response.CriticalPath, ops []api.RecordedTxnOp) (path []int) {
	last := -1
	for i := range ops {
		if !ops[i].HasRun() || ops[i].NOOP {
			continue
		}
		p.Operations++
		if last < 0 || ops[i].End().After(ops[last].End()) {
			last = i
		}
	}
	for i := last; i >= 0 && len(path) < len(ops); i = int(ops[i].After) - 1 {
		if i >= len(ops) { // not a record of ours
			break
		}
		path = append(path, i)
	}
	slices.Reverse(path)
	p.Length = len(path)
	return path
}

func steps(p *response.CriticalPath, txn *api.RecordedTxn, path []int) []response.Step {
	steps := make([]response.Step, len(path))
	from := began(txn)
	for k, i := range path {
		op := &txn.Executed[i]
		waited, ran := max(0, op.Start().Sub(from)).Seconds(), op.Took().Seconds()
		steps[k] = response.Step{
			Number: i + 1, Operation: op.Operation.String(), Key: op.Key, Error: op.NewErrMsg, After: int(op.After), For: op.Waited,
			Waited: waited, Ran: ran, Share: share(p, waited+ran),
		}
		from = op.End()
	}
	return steps
}

// longest keeps the steps that took longest, and the last.
func longest(steps []response.Step, limit int) []response.Step {
	if limit <= 0 || len(steps) <= limit {
		return steps
	}
	order := make([]int, len(steps)-1)
	for i := range order {
		order[i] = i
	}
	took := func(i int) float64 { return steps[i].Waited + steps[i].Ran }
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(took(b), took(a)) })
	kept := append(order[:limit-1], len(steps)-1)
	slices.Sort(kept)
	out := make([]response.Step, 0, limit)
	next := 0
	for _, i := range kept {
		step := steps[i]
		for ; next < i; next++ {
			step.Skipped++
			step.SkippedTook += took(next)
		}
		next = i + 1
		out = append(out, step)
	}
	return out
}

// FormatCritical writes a critical path as text. It returns the writer's error.
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
		inSeconds(s.Waited), inSeconds(s.Ran), percent(s.Share), s.Because())
}

func inSeconds(s float64) string {
	return roundDuration(time.Duration(s * float64(time.Second)).Round(time.Nanosecond)).String()
}

func percent(share float64) string { return fmt.Sprintf("%.0f%%", 100*share) }
