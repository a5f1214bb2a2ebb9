package fleet

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/cmdutil"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/output"
	"github.com/tenuto-dev/tenuto/fleet/rollout"
	"github.com/tenuto-dev/tenuto/fleet/store"
)

type rolloutsOptions struct{ engine }

func newRollouts(f *cmdutil.Factory) *cobra.Command {
	o := &rolloutsOptions{engine{Factory: f}}
	cmd := f.Formatted(&cobra.Command{
		Use: "rollouts", Short: "List the rollouts of the fleet", Args: cmdutil.Args(cobra.NoArgs),
		Example: "  agentctl fleet rollouts",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return o.with(cmd.Context(), o.list)
		},
	})
	o.flags(cmd)
	return cmd
}

// rolloutLine is a rollout in the output of -o.
type rolloutLine struct {
	Name     string `json:"name"`
	Revision int64  `json:"revision"`
	rollout.Status
}

func (o *rolloutsOptions) list(ctx context.Context, s store.Store) error {
	all, err := s.Rollouts(ctx)
	if err != nil {
		return err
	}
	lines := []rolloutLine{}
	for name, r := range all {
		lines = append(lines, rolloutLine{name, r.Rollout.Spec.Revision, r.Rollout.Status})
	}
	slices.SortFunc(lines, func(a, b rolloutLine) int {
		return cmp.Or(cmp.Compare(b.Revision, a.Revision), strings.Compare(b.Name, a.Name))
	})
	return output.Show(o.Printer, lines, func(lines []rolloutLine) error {
		t := output.NewTable("ROLLOUT", "REVISION", "PHASE", "WAVE", "SINCE", "REASON")
		for _, l := range lines {
			t.Row(l.Name, l.Revision, cmp.Or(string(l.Phase), "New"), l.Wave+1, o.AgeOf(l.Since), l.Reason)
		}
		return t.Write(o.Printer)
	})
}

type showOptions struct{ engine }

func newShow(f *cmdutil.Factory) *cobra.Command {
	o := &showOptions{engine{Factory: f}}
	cmd := f.Formatted(&cobra.Command{
		Use: "show [ROLLOUT]", Short: "Show a rollout with the agents of its waves", Args: cmdutil.Args(cobra.MaximumNArgs(1)),
		Long:    "Shows a rollout, or the one that is running: the waves with their decisions, and what each agent reports.",
		Example: "  agentctl fleet show r-42", ValidArgsFunction: o.names,
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.with(cmd.Context(), func(ctx context.Context, s store.Store) error {
				r, err := find(ctx, s, strings.Join(args, ""))
				if err != nil {
					return err
				}
				agents, err := s.Agents(ctx)
				if err != nil {
					return err
				}
				return o.show(r, agents)
			})
		},
	})
	o.flags(cmd)
	return cmd
}

// rolloutView is a rollout in the output of -o.
type rolloutView struct {
	Name      string                       `json:"name"`
	Spec      rollout.Spec                 `json:"spec"`
	Status    rollout.Status               `json:"status"`
	Decisions map[int]rollout.WaveDecision `json:"decisions"`
	Agents    []agentView                  `json:"agents"`
}

// agentView is an agent of a rollout in the output of -o.
type agentView struct {
	Label   string         `json:"label"`
	Wave    int            `json:"wave"`
	Running bool           `json:"running"`
	Report  rollout.Report `json:"report"`
	Skipped string         `json:"skipped,omitempty"`
	Other   string         `json:"other,omitempty"` // rollout that it was assigned to later
}

func (o *showOptions) show(r store.RolloutStatus, agents map[string]store.AgentStatus) error {
	return output.Show(o.Printer, viewOf(r, agents), func(v rolloutView) error { return printRollout(o.Printer, v) })
}

// viewOf describes a rollout with its agents.
func viewOf(r store.RolloutStatus, agents map[string]store.AgentStatus) rolloutView {
	v := rolloutView{Name: r.Rollout.Metadata.Name, Spec: r.Rollout.Spec, Status: r.Rollout.Status, Decisions: r.Decisions, Agents: []agentView{}}
	for wave, labels := range r.Rollout.Spec.Waves {
		for _, label := range labels {
			a := agents[label]
			line := agentView{Label: label, Wave: wave, Running: a.Running != nil, Skipped: r.Rollout.Status.Skipped[label]}
			if a.Report.Rollout == v.Name {
				line.Report = a.Report
			} else if a.Report.Rollout != "" {
				line.Other = a.Report.Rollout
			}
			v.Agents = append(v.Agents, line)
		}
	}
	return v
}

func printRollout(p *output.Printer, v rolloutView) error {
	text := fmt.Sprintf("rollout %s, revision %d: %s", v.Name, v.Spec.Revision, cmp.Or(string(v.Status.Phase), "New"))
	if v.Status.Reason != "" {
		text += ": " + v.Status.Reason
	}
	for wave := range v.Spec.Waves {
		if d, ok := v.Decisions[wave]; ok {
			text += fmt.Sprintf("\nwave %d: %s by %s", wave+1, d.Decision, d.By)
			if d.Reason != "" {
				text += ": " + d.Reason
			}
		}
	}
	if err := p.Printf("%s\n", text); err != nil {
		return err
	}
	t := output.NewTable("WAVE", "AGENT", "STATE", "PLAN", "REASON")
	for _, a := range v.Agents {
		state, reason := string(a.Report.State), a.Report.Reason
		switch {
		case a.Other != "":
			reason = "is in rollout " + a.Other + " now"
		case a.Skipped != "":
			state, reason = "skipped", a.Skipped
		case !a.Running:
			state = strings.TrimSpace(state + " (does not run)")
		case state == "":
			state = "waits"
		}
		t.Row(a.Wave+1, a.Label, state, a.Report.Plan.Effects, reason)
	}
	return t.Write(p)
}

// newEdit returns a command that changes the specification of a rollout.
func newEdit(f *cmdutil.Factory, name, short string, edit func(*rollout.Spec)) *cobra.Command {
	o := &engine{Factory: f}
	cmd := &cobra.Command{
		Use: name + " [ROLLOUT]", Short: short, Args: cmdutil.Args(cobra.MaximumNArgs(1)),
		Example: "  agentctl fleet " + name + " r-42", ValidArgsFunction: o.names,
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.with(cmd.Context(), func(ctx context.Context, s store.Store) error {
				r, err := find(ctx, s, strings.Join(args, ""))
				if err != nil {
					return err
				}
				name := r.Rollout.Metadata.Name
				if r.Rollout.Status.Phase.Ended() {
					return fmt.Errorf("rollout %s has ended: %s", name, r.Rollout.Status.Phase)
				}
				return s.EditRollout(ctx, name, func(spec *rollout.Spec) error { edit(spec); return nil })
			})
		},
	}
	o.flags(cmd)
	return cmd
}

func newPause(f *cmdutil.Factory) *cobra.Command {
	return newEdit(f, "pause", "Begin no further wave of a rollout", func(s *rollout.Spec) { s.Paused = true })
}

func newResume(f *cmdutil.Factory) *cobra.Command {
	return newEdit(f, "resume", "Continue a rollout that was paused", func(s *rollout.Spec) { s.Paused = false })
}

func newAbort(f *cmdutil.Factory) *cobra.Command {
	return newEdit(f, "abort", "End a rollout: the running wave is reverted", func(s *rollout.Spec) { s.Abort = true })
}

func newApprove(f *cmdutil.Factory) *cobra.Command {
	return newEdit(f, "approve", "Approve the plans of a rollout", func(s *rollout.Spec) { s.Approved = true })
}

func newTrust(f *cmdutil.Factory) *cobra.Command {
	o := &engine{Factory: f}
	cmd := &cobra.Command{
		Use: "trust", Short: "Say that an etcd that was restored or replaced is the right one", Args: cmdutil.Args(cobra.NoArgs),
		Long: "Agents do not follow an etcd that is another one than before, or that has lost its newest changes: their\n" +
			"configuration stays as it is. After this command all agents of the fleet follow it.",
		Example: "  agentctl fleet trust",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return o.with(cmd.Context(), func(ctx context.Context, s store.Store) error { return s.NewEpoch(ctx) })
		},
	}
	o.flags(cmd)
	return cmd
}
