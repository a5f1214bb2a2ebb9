package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/cmdutil"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/effects"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/exit"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/output"
	"github.com/tenuto-dev/tenuto/fleet/rehearsal"
	"github.com/tenuto-dev/tenuto/fleet/rollout"
	"github.com/tenuto-dev/tenuto/fleet/store"
	"github.com/tenuto-dev/tenuto/infra/kv/memdb"
)

type rehearseOptions struct {
	applyOptions
	program     cmdutil.Program
	fromNothing bool // agents begin without a configuration
	faults      []string
}

func newRehearse(f *cmdutil.Factory) *cobra.Command {
	o := &rehearseOptions{applyOptions: applyOptions{rolloutFlags: rolloutFlags{engine: engine{Factory: f}}, objects: renderOptions{Factory: f}}}
	cmd := &cobra.Command{
		Use: "rehearse [-f] DIR|FILE...", Short: "Execute a rollout with simulated copies of the agents",
		Long: "Renders objects as 'agentctl fleet apply' does, and makes the program vpp-agent execute the rollout in its memory, with a\n" +
			"simulated copy of each agent, which begins with the configuration that the agent has. Neither agents nor etcd are\n" +
			"changed. It finds what a plan cannot: an item that fails, or a wave that would be reverted.\n\n" +
			"--fault AGENT=KIND makes something go wrong: unhealthy (an item that the agent has applied is not in effect), offline\n" +
			"(the agent does not run), cut-off (the change cuts the agent off from etcd). It may be repeated.\n\n" +
			"With --new, etcd is not asked: all agents begin without a configuration, and pools with their first values.\n\n" +
			"The hosts of the copies have the links that items need, and the copies no other sources of configuration. Times are shorter\n" +
			"than in a rollout. A copy needs about 10 MB of memory. The exit code is 1 if the rollout fails, with --fault, too.",
		Example: "  agentctl fleet rehearse -f net/ --waves 1,10%\n  agentctl fleet rehearse -f net/ --new --waves 1 --fault edge-3=cut-off",
		Args:    cmdutil.Args(cobra.ArbitraryArgs),
		RunE:    o.run,
	}
	o.flags(cmd)
	o.defineWaves(cmd)
	o.defineObjects(cmd)
	o.program.Flag(cmd)
	fs := cmd.Flags()
	fs.BoolVar(&o.fromNothing, "new", false, "agents begin without a configuration; etcd is not asked")
	fs.StringArrayVar(&o.faults, "fault", nil, "`AGENT=KIND` of what goes wrong: unhealthy, offline or cut-off; may be repeated")
	return f.Formatted(cmd)
}

func (o *rehearseOptions) run(cmd *cobra.Command, args []string) error {
	paths := append(o.objects.paths, args...)
	if len(paths) == 0 {
		return exit.Usagef("expected a file or a directory with objects (-f DIR)")
	}
	if !o.fromNothing {
		return o.with(cmd.Context(), func(_ context.Context, s store.Store) error { return o.rehearse(cmd, s, paths) })
	}
	nothing := memdb.New().Client()
	defer nothing.Close()
	return o.rehearse(cmd, store.New(nothing, o.fleet), paths)
}

func (o *rehearseOptions) rehearse(cmd *cobra.Command, s store.Store, paths []string) error {
	in := rehearsal.Input{}
	for _, text := range o.faults {
		f, err := rehearsal.ParseFault(text)
		if err != nil {
			return exit.Usagef("--fault: %w", err)
		}
		in.Faults = append(in.Faults, f)
	}
	configs, err := o.render(cmd, s, paths)
	if err != nil {
		return err
	}
	o.spec.ConfirmTimeout = time.Minute // of a rehearsal it is another one
	if in.Spec, err = o.complete(0, configs.labels); err != nil {
		return err
	}
	for _, label := range configs.labels {
		before, err := present(cmd.Context(), s, configs.agents[label])
		if err != nil {
			return err
		}
		in.Agents = append(in.Agents, rehearsal.Agent{Label: label, Before: before, After: configs.items[label]})
	}
	if err := in.Validate(); err != nil {
		return fmt.Errorf("--fault: %s", strings.TrimPrefix(err.Error(), "faults: "))
	}
	fmt.Fprintf(o.Err, "%s, in the memory of this machine; nothing is changed\n", effects.Count(len(in.Agents), "simulated agent"))
	text, err := json.Marshal(in)
	if err != nil {
		return err
	}
	var out rehearsal.Result
	if err := o.program.Run(cmd.Context(), "rehearse", []string{"rehearse", "-"}, text, &out, ""); err != nil {
		return err
	}
	return o.show(out)
}

// present returns the configuration that an agent has of the fleet.
func present(ctx context.Context, s store.Store, a store.AgentStatus) ([]store.Item, error) {
	if a.Report.Confirmed == 0 {
		return nil, nil
	}
	r, err := s.Revision(ctx, a.Report.Confirmed)
	if err != nil {
		return nil, fmt.Errorf("revision %d, which %s has: %w", a.Report.Confirmed, a.Label, err)
	}
	return s.Config(ctx, r.Agents[a.Label])
}

// rehearsedView is the outcome in the output of -o.
type rehearsedView struct {
	rolloutView
	// NotInEffect are the items that are not in effect at the end, by agent.
	NotInEffect map[string][]rehearsal.Item `json:"notInEffect"`
	Warnings    []string                    `json:"warnings"`
}

func (o *rehearseOptions) show(out rehearsal.Result) error {
	agents := map[string]store.AgentStatus{}
	v := rehearsedView{NotInEffect: map[string][]rehearsal.Item{}, Warnings: out.Warnings}
	for _, a := range out.Agents {
		status := store.AgentStatus{Label: a.Label, Report: a.Report}
		if a.Running {
			status.Running = &store.Hold{}
		}
		agents[a.Label] = status
		if len(a.Items) > 0 {
			v.NotInEffect[a.Label] = a.Items
		}
	}
	v.rolloutView = viewOf(store.RolloutStatus{Rollout: out.Rollout, Decisions: out.Decisions}, agents)
	if err := output.Show(o.Printer, v, func(v rehearsedView) error { return o.print(v, out) }); err != nil {
		return err
	}
	if s := out.Rollout.Status; s.Phase.Ended() && s.Reason != "" {
		return errors.New("the rollout would fail: " + s.Reason)
	}
	return nil
}

const (
	// shownCopies is how many agents are listed although nothing went wrong with them.
	shownCopies = 20
	// shownItems is how many items of an agent are listed, and shownRows of all.
	shownItems, shownRows = 5, 50
)

func (o *rehearseOptions) print(v rehearsedView, out rehearsal.Result) error {
	for _, w := range v.Warnings {
		fmt.Fprintln(o.Err, "WARNING: "+w)
	}
	if err := printRollout(o.Printer, shortened(v.rolloutView)); err != nil {
		return err
	}
	if len(v.Agents) > shownCopies {
		states := map[string]int{}
		for _, a := range v.Agents {
			states[string(a.Report.State)]++
		}
		var counts []string
		for _, state := range slices.Sorted(maps.Keys(states)) {
			counts = append(counts, fmt.Sprintf("%d %s", states[state], state))
		}
		if err := o.Printf("%s: %s\n", effects.Count(len(v.Agents), "agent"), strings.Join(counts, ", ")); err != nil {
			return err
		}
	}
	return o.printItems(out)
}

// shortened leaves only the agents that something went wrong with, if there are many.
func shortened(v rolloutView) rolloutView {
	if len(v.Agents) > shownCopies {
		v.Agents = slices.DeleteFunc(slices.Clone(v.Agents), func(a agentView) bool {
			return a.Running && a.Skipped == "" && (a.Report.State == rollout.Confirmed || a.Report.State == rollout.Reverted || a.Report.State == rollout.Planned)
		})
	}
	return v
}

// printItems lists the items that are not in effect.
func (o *rehearseOptions) printItems(out rehearsal.Result) error {
	rows, left := 0, 0
	t := output.NewTable("AGENT", "NOT IN EFFECT", "STATE", "WHY")
	for _, a := range out.Agents {
		for i, it := range a.Items {
			if i >= shownItems || rows >= shownRows {
				left += len(a.Items) - i
				break
			}
			rows++
			t.Row(a.Label, o.Models.ShortKey(it.Key), it.State, it.Why)
		}
	}
	if rows == 0 {
		return nil
	}
	if err := o.Printf("\n"); err != nil {
		return err
	}
	if err := t.Write(o.Printer); err != nil || left == 0 {
		return err
	}
	return o.Printf("and %s more: -o json has all\n", effects.Count(left, "item"))
}
