package fleet

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/cmdutil"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/effects"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/exit"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/output"
	"github.com/tenuto-dev/tenuto/fleet/rollout"
	"github.com/tenuto-dev/tenuto/fleet/store"
)

type historyOptions struct {
	engine
	plans bool
	limit int
}

func newHistory(f *cmdutil.Factory) *cobra.Command {
	o := &historyOptions{engine: engine{Factory: f}}
	cmd := f.Formatted(&cobra.Command{
		Use: "history [AGENT]", Short: "Show which rollouts there were, or which revisions an agent had", Args: cmdutil.Args(cobra.MaximumNArgs(1)),
		Long: "Shows the rollouts, the newest first: when they began and how long they took, who began them, and how they ended.\n\n" +
			"With an agent it shows when the agent confirmed which revision, as it reports it: the last 20.",
		Example: "  agentctl fleet history\n  agentctl fleet history edge-7", ValidArgsFunction: o.completeAgents(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.limit < 0 {
				return exit.Usagef("--limit: %d: expected a number of rollouts, or 0 for all", o.limit)
			}
			return o.with(cmd.Context(), func(ctx context.Context, s store.Store) error {
				if len(args) > 0 {
					return o.agent(ctx, s, args[0])
				}
				return o.fleetWide(ctx, s)
			})
		},
	})
	o.flags(cmd)
	cmd.Flags().BoolVar(&o.plans, "plans", false, "also rollouts of 'agentctl fleet plan', which changed nothing")
	cmd.Flags().IntVar(&o.limit, "limit", 20, "show this `number` of rollouts at most; 0 is all")
	return cmd
}

// pastRollout is a rollout in the output of -o.
type pastRollout struct {
	Name     string        `json:"name"`
	Revision int64         `json:"revision"`
	Began    time.Time     `json:"began,omitzero"`
	Ended    time.Time     `json:"ended,omitzero"`
	By       string        `json:"by,omitempty"`
	Message  string        `json:"message,omitempty"` // of the revision
	Result   rollout.Phase `json:"result"`
	Reason   string        `json:"reason,omitempty"`
	Agents   int           `json:"agents"`
	// Committed is the number of agents in waves that were committed, and Skipped of those that were left out.
	Committed int `json:"committed"`
	Skipped   int `json:"skipped,omitempty"`
}

func (o *historyOptions) fleetWide(ctx context.Context, s store.Store) error {
	rollouts, err := s.Rollouts(ctx)
	if err != nil {
		return err
	}
	revisions, err := s.Revisions(ctx)
	if err != nil {
		return err
	}
	list := []pastRollout{}
	for _, name := range newestFirst(rollouts) {
		r := rollouts[name]
		if r.Rollout.Spec.PlanOnly && !o.plans {
			continue
		}
		p := past(r)
		p.Message, p.Reason = revisions[p.Revision].Message, o.Models.ShortText(p.Reason)
		list = append(list, p)
	}
	omitted := 0
	if o.limit > 0 && len(list) > o.limit {
		list, omitted = list[:o.limit], len(list)-o.limit
	}
	return output.Show(o.Printer, list, func(list []pastRollout) error { return o.print(list, omitted) })
}

// past sums up a rollout.
func past(status store.RolloutStatus) pastRollout {
	r := status.Rollout
	p := pastRollout{
		Name: r.Metadata.Name, Revision: r.Spec.Revision, Began: begun(status), By: r.Metadata.CreatedBy,
		Result: r.Status.Phase, Reason: r.Status.Reason, Agents: len(members(r)), Skipped: len(r.Status.Skipped),
	}
	if r.Status.Phase.Ended() {
		p.Ended = r.Status.Since
	}
	for wave := range r.Spec.Waves {
		if !r.Spec.PlanOnly && decidedFor(status, wave) {
			p.Committed += len(taking(r, wave))
		}
	}
	return p
}

func (o *historyOptions) print(list []pastRollout, omitted int) error {
	if len(list) == 0 {
		return o.Print("no rollout yet\n")
	}
	t := output.NewTable("BEGAN", "ROLLOUT", "REVISION", "TOOK", "BY", "RESULT", "AGENTS", "MESSAGE", "REASON")
	for _, p := range list {
		took := ""
		if !p.Ended.IsZero() && !p.Began.IsZero() {
			took = p.Ended.Sub(p.Began).Round(time.Second).String()
		}
		agents := fmt.Sprintf("%d of %d", p.Committed, p.Agents)
		t.Row(stamp(p.Began), p.Name, p.Revision, took, p.By, o.paintPhase(p.Result), agents, p.Message, p.Reason)
	}
	if err := t.Write(o.Printer); err != nil || omitted == 0 {
		return err
	}
	return o.Printf("and %s before; --limit 0 shows all\n", effects.Count(omitted, "rollout"))
}

func (o *engine) paintPhase(p rollout.Phase) string {
	switch p {
	case rollout.PhaseSucceeded:
		return o.Paint(output.Green, string(p))
	case rollout.PhaseFailed:
		return o.Paint(output.Red, string(p))
	}
	return o.Paint(output.Cyan, cmp.Or(string(p), "New"))
}

// stamp is a time in a table.
func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02 15:04:05")
}

// pastRevision is a revision that an agent had, in the output of -o.
type pastRevision struct {
	store.Confirmed
	Until   time.Time `json:"until,omitzero"`
	By      string    `json:"by,omitempty"`
	Message string    `json:"message,omitempty"`
}

func (o *historyOptions) agent(ctx context.Context, s store.Store, label string) error {
	n, err := o.readNetwork(ctx, s)
	if err != nil {
		return err
	}
	a, err := n.agent(label)
	if err != nil {
		return err
	}
	revisions, err := s.Revisions(ctx)
	if err != nil {
		return err
	}
	list := []pastRevision{}
	var until time.Time
	for _, c := range slices.Backward(a.Status.History) {
		list = append(list, pastRevision{c, until, n.rollouts[c.Rollout].Rollout.Metadata.CreatedBy, revisions[c.Revision].Message})
		until = c.Time
	}
	return output.Show(o.Printer, list, func(list []pastRevision) error {
		if len(list) == 0 {
			return o.Printf("%s has confirmed no revision yet\n", label)
		}
		t := output.NewTable("SINCE", "REVISION", "ROLLOUT", "FOR", "BY", "MESSAGE")
		for i, p := range list {
			lasted := "now"
			if i > 0 {
				lasted = strings.TrimSpace(output.Age(p.Until, p.Time))
			}
			t.Row(stamp(p.Time), p.Revision, p.Rollout, lasted, p.By, p.Message)
		}
		return t.Write(o.Printer)
	})
}
