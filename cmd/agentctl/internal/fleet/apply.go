package fleet

import (
	"cmp"
	"context"
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
	"github.com/tenuto-dev/tenuto/fleet"
	"github.com/tenuto-dev/tenuto/fleet/controller"
	"github.com/tenuto-dev/tenuto/fleet/render"
	"github.com/tenuto-dev/tenuto/fleet/rollout"
	"github.com/tenuto-dev/tenuto/fleet/store"
	"github.com/tenuto-dev/tenuto/infra/kv"
)

// rolloutFlags are the flags of the commands that execute rollouts.
type rolloutFlags struct {
	engine
	spec  rollout.Spec
	waves string
	limit string // of unavailable agents
	keep  int    // revisions and rollouts
	name  string
	alone bool
	skip  bool
	yes   bool
	asks  bool // the user, unless another user approves
}

func (o *rolloutFlags) define(cmd *cobra.Command) {
	o.flags(cmd)
	o.asks = true
	o.defineWaves(cmd)
	o.keepFlag(cmd)
	f := cmd.Flags()
	f.BoolVarP(&o.yes, "yes", "y", false, "do not ask")
	f.StringVar(&o.name, "name", "", "name of the rollout; default: r- and the number of the revision")
	f.DurationVar(&o.spec.ConfirmTimeout, "confirm-timeout", time.Minute, "how long an agent waits for the decision of its wave before it reverts")
	f.DurationVar(&o.spec.Soak, "soak", 0, "how long an agent has to be healthy before it says so; less than half of --confirm-timeout")
	f.DurationVar(&o.spec.Deadline, "deadline", 30*time.Second, "how long to wait for the plans of the agents")
	f.BoolVar(&o.spec.Approval, "approval", false, "another user approves the plans, with 'agentctl fleet approve'")
}

// defineWaves adds the flags that say which agents change together.
func (o *rolloutFlags) defineWaves(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.waves, "waves", "", wavesHelp+"; without it there is one wave")
	f.IntVar(&o.spec.MaxFailures, "max-failures", 0, "number of agents of a wave that may fail; they keep the revision that they have")
	f.StringVar(&o.limit, "max-unavailable", "", "number or percentage of agents that may be unavailable when another one begins: not running, reporting\n"+
		"trouble, or applying the revision; such as 2 or 10%; without it there is no limit")
	f.BoolVar(&o.alone, "each-alone", false, "each agent confirms its change when it is healthy, without a common decision of its wave")
	f.BoolVar(&o.skip, "skip-offline", false, "continue without agents that do not run: they catch up when they run again; without it the rollout fails")
	f.BoolVar(&o.spec.RevertCommitted, "revert-committed", false, "if a wave fails, the agents of earlier waves go back, too")
}

func (o *rolloutFlags) keepFlag(cmd *cobra.Command) {
	cmd.Flags().IntVar(&o.keep, "keep", store.DefaultKeep, "number of revisions, and of ended rollouts, to keep when the rollout has ended, besides those\n"+
		"that agents have or can go back to; 0: all")
}

// collect removes what is old when a rollout has ended. That it fails does not matter for the rollout.
func (o *rolloutFlags) collect(ctx context.Context, s store.Store) {
	if o.keep <= 0 {
		return
	}
	if _, err := s.Collect(ctx, o.keep); err != nil {
		fmt.Fprintf(o.Err, "WARNING: old revisions are not removed: %v\n", err)
	}
}

// complete checks the flags, and makes the specification of a rollout.
func (o *rolloutFlags) complete(revision int64, agents []string) (s rollout.Spec, err error) {
	s = o.spec
	if 2*s.Soak >= s.ConfirmTimeout {
		return s, fmt.Errorf("--soak %s: expected less than half of --confirm-timeout (%s)", s.Soak, s.ConfirmTimeout)
	}
	if s.ConfirmTimeout < minConfirmTimeout {
		return s, fmt.Errorf("--confirm-timeout %s: expected at least %s", s.ConfirmTimeout, minConfirmTimeout)
	}
	s.Revision = revision
	if o.alone {
		s.Atomic = rollout.AtomicAgent
	}
	if !o.skip {
		s.Offline = rollout.OfflineFail
	}
	if s.Waves, err = waves(agents, o.waves); err != nil {
		return s, err
	}
	return s, maxUnavailable(&s, o.limit, len(agents))
}

// minConfirmTimeout is the least time in which agents and controllers find each other.
const minConfirmTimeout = 5 * time.Second

// execute creates a rollout and executes it to its end, or with planOnly to the plans. Without -y the plans
// are approved by the user, or by another user with --approval.
func (o *rolloutFlags) execute(cmd *cobra.Command, s store.Store, spec rollout.Spec, planOnly bool) error {
	ctx := cmd.Context()
	name := cmp.Or(o.name, fmt.Sprintf("r-%d", spec.Revision))
	if planOnly {
		name += "-plan"
	}
	spec.PlanOnly, spec.Approval = planOnly, spec.Approval || !o.yes
	err := s.CreateRollout(ctx, rollout.Rollout{Metadata: fleet.Metadata{Name: name, Created: time.Now().UTC().Truncate(time.Millisecond), CreatedBy: o.user()}, Spec: spec})
	if errors.Is(err, store.ErrConflict) {
		return fmt.Errorf("there is a rollout with the name %q: choose another --name", name)
	}
	if err != nil {
		return err
	}
	return o.follow(cmd, s, name)
}

// follow executes a rollout that exists.
func (o *rolloutFlags) follow(cmd *cobra.Command, s store.Store, name string) error {
	ctx, cancel := context.WithCancel(cmd.Context())
	defer cancel()
	p := o.progress(ctx, s)
	var stop error // why the rollout is aborted
	see := func(v controller.View) {
		p.see(v)
		if v.Rollout.Rollout.Status.Phase == rollout.PhaseApproval && !p.asked && stop == nil {
			p.asked = true
			if stop = o.ask(cmd, s, v); stop != nil {
				cancel()
			}
		}
	}
	c := controller.Controller{Store: s, Name: "agentctl", Follows: func(other store.Controller) {
		fmt.Fprintf(o.Err, "NOTE: %s executes the rollout; this command follows it, and takes over if it stops\n", other)
	}}
	view, err := c.Run(ctx, name, see, func(err error) { fmt.Fprintln(o.Err, "WARNING: "+err.Error()) })
	if stop != nil {
		return o.end(context.WithoutCancel(ctx), c, s, name, stop)
	}
	if err != nil {
		return fmt.Errorf("rollout %s was interrupted, 'agentctl fleet run %s' continues it: %w", name, name, err)
	}
	o.collect(ctx, s)
	switch status := view.Rollout.Rollout.Status; status.Phase {
	case rollout.PhaseFailed:
		return fmt.Errorf("rollout %s failed: %s", name, status.Reason)
	case rollout.PhasePlanned:
		return o.planned(view, p.classes)
	}
	return o.Printf("rollout %s: %s\n", name, summaryOf(view))
}

// progress returns what prints the progress of a rollout.
func (o *rolloutFlags) progress(ctx context.Context, s store.Store) *progress {
	d, n := &diffOptions{engine: o.engine}, &network{}
	items := func(a store.AgentStatus, revision int64) []string {
		v := diffView{From: diffSide{Agent: a.Label, Revision: a.Report.Confirmed}, To: diffSide{Agent: a.Label, Revision: revision}}
		for _, side := range []*diffSide{&v.From, &v.To} {
			var err error
			if side.items, _, err = n.configOf(ctx, s, side.Agent, side.Revision); err != nil {
				return nil // it is an example only
			}
		}
		d.compare(&v)
		return d.first(&v)
	}
	return &progress{Printer: o.Printer, items: items, text: o.Models.ShortText}
}

// planView is the output of -o of plan.
type planView struct {
	Rollout  string  `json:"rollout"`
	Revision int64   `json:"revision"`
	Agents   int     `json:"agents"`
	Classes  []class `json:"classes"`
}

// planned shows the plans in the format of -o. The error says that there are changes.
func (o *rolloutFlags) planned(view controller.View, list []class) error {
	r := view.Rollout.Rollout
	v := planView{Rollout: r.Metadata.Name, Revision: r.Spec.Revision, Agents: len(members(r)), Classes: list}
	if err := output.Show(o.Printer, v, func(planView) error { return nil }); err != nil {
		return err
	}
	if slices.ContainsFunc(list, func(c class) bool { return c.changes() }) {
		return exit.Findingf("there are changes")
	}
	return nil
}

// errDeclined is returned if the user does not approve the plans.
var errDeclined = errors.New("nothing was changed")

// ask asks the user to approve the plans; nil if they are, or will be.
func (o *rolloutFlags) ask(cmd *cobra.Command, s store.Store, v controller.View) error {
	r := v.Rollout.Rollout
	switch {
	case !r.Spec.Approval || r.Spec.Approved:
		return nil
	case o.spec.Approval || !o.asks:
		return o.Printf("waits for 'agentctl fleet approve %s'\n", r.Metadata.Name)
	}
	yes, err := o.Ask(cmd.InOrStdin(), "Apply these changes?")
	if err != nil || !yes {
		return cmp.Or(err, errDeclined)
	}
	return s.EditRollout(cmd.Context(), r.Metadata.Name, func(spec *rollout.Spec) error { spec.Approved = true; return nil })
}

// end ends a rollout that is not wanted. Nothing has changed yet.
func (o *rolloutFlags) end(ctx context.Context, c controller.Controller, s store.Store, name string, why error) error {
	err := s.EditRollout(ctx, name, func(spec *rollout.Spec) error { spec.Abort = true; return nil })
	if err == nil {
		_, err = c.Run(ctx, name, func(controller.View) {}, func(err error) { fmt.Fprintln(o.Err, "WARNING: "+err.Error()) })
	}
	return cmp.Or(err, why)
}

// summaryOf counts the agents by the revision that they have.
func summaryOf(v controller.View) string {
	r := v.Rollout.Rollout
	have := 0
	var others []string
	for _, label := range members(r) {
		if v.Agents[label].Report.Confirmed == r.Spec.Revision {
			have++
		} else {
			others = append(others, label)
		}
	}
	text := fmt.Sprintf("%s have revision %d", effects.Count(have, "agent"), r.Spec.Revision)
	if len(others) > 0 {
		text += fmt.Sprintf(", and not: %s", strings.Join(others[:min(shownAgents, len(others))], " "))
	}
	return text
}

type runOptions struct{ rolloutFlags }

func newRun(f *cmdutil.Factory) *cobra.Command {
	o := &runOptions{rolloutFlags{engine: engine{Factory: f}}}
	cmd := &cobra.Command{
		Use: "run [ROLLOUT]", Short: "Execute a rollout that was begun elsewhere or interrupted", Args: cmdutil.Args(cobra.MaximumNArgs(1)),
		Long: "Executes a rollout to its end. The state of a rollout is in etcd: if 'apply' was interrupted, 'run'\n" +
			"continues. If another controller executes the rollout, the command follows it, and takes over if it stops.",
		Example: "  agentctl fleet run r-42", ValidArgsFunction: o.names,
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.with(cmd.Context(), func(ctx context.Context, s store.Store) error {
				r, err := find(ctx, s, strings.Join(args, ""))
				if err != nil {
					return err
				}
				return o.follow(cmd, s, r.Rollout.Metadata.Name)
			})
		},
	}
	o.flags(cmd)
	o.keepFlag(cmd)
	return cmd
}

type undoOptions struct{ rolloutFlags }

func newUndo(f *cmdutil.Factory) *cobra.Command {
	o := &undoOptions{rolloutFlags{engine: engine{Factory: f}}}
	cmd := &cobra.Command{
		Use: "undo ROLLOUT", Short: "Give the agents of a rollout the revision before it", Args: cmdutil.Args(cobra.ExactArgs(1)),
		Long: "Begins a rollout of the revision before, for the agents that have the revision of ROLLOUT, with one wave\n" +
			"unless --waves says otherwise.",
		Example: "  agentctl fleet undo r-42", ValidArgsFunction: o.names,
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.with(cmd.Context(), func(ctx context.Context, s store.Store) error { return o.undo(cmd, s, args[0]) })
		},
	}
	o.define(cmd)
	return cmd
}

func (o *undoOptions) undo(cmd *cobra.Command, s store.Store, name string) error {
	ctx := cmd.Context()
	r, err := find(ctx, s, name)
	if err != nil {
		return err
	}
	revision := r.Rollout.Spec.Revision
	agents, err := s.Agents(ctx)
	if err != nil {
		return err
	}
	before := map[int64][]string{}
	var later []string // agents that would get the revision when they run again
	for _, label := range append(members(r.Rollout), r.Rollout.Spec.Later...) {
		switch a := agents[label]; {
		case a.Report.Confirmed == revision:
			before[a.Report.Previous] = append(before[a.Report.Previous], label)
		case a.Assignment.Rollout == name:
			later = append(later, label)
		}
	}
	switch len(before) {
	case 0:
		return fmt.Errorf("no agent has revision %d", revision)
	case 1:
	default:
		return fmt.Errorf("the agents had different revisions before: %s; expected one", revisionsText(before))
	}
	var previous int64
	var labels []string
	for previous, labels = range before {
	}
	back, err := o.complete(previous, labels)
	if err != nil {
		return err
	}
	back.Later = later
	o.name = cmp.Or(o.name, name+"-undo")
	return o.execute(cmd, s, back, false)
}

// revisionsText lists revisions with their agents.
func revisionsText(of map[int64][]string) string {
	var texts []string
	for _, revision := range slices.Sorted(maps.Keys(of)) {
		texts = append(texts, fmt.Sprintf("%d (%s)", revision, strings.Join(of[revision][:min(shownAgents, len(of[revision]))], " ")))
	}
	return strings.Join(texts, ", ")
}

// revise stores the configuration of agents as a revision.
func (o *applyOptions) revise(ctx context.Context, s store.Store, configs *fleetConfig) (revision int64, err error) {
	r := store.Revision{
		Message: o.message, Author: o.user(), Created: time.Now().UTC().Truncate(time.Second), Configs: configs.origins,
	}
	return s.Revise(ctx, r, configs.items)
}

type applyOptions struct {
	rolloutFlags
	objects  renderOptions
	message  string
	planOnly bool
	empty    bool // agents may lose their whole configuration
}

func newApply(f *cmdutil.Factory) *cobra.Command {
	o := &applyOptions{rolloutFlags: rolloutFlags{engine: engine{Factory: f}}, objects: renderOptions{Factory: f}}
	cmd := &cobra.Command{
		Use: "apply [-f] DIR|FILE...", Short: "Configure the agents of the fleet from objects, in waves",
		Long: "Renders objects as 'agentctl fleet render' does, stores the configurations as a revision in etcd, and executes a\n" +
			"rollout: every agent plans the revision, the plans are shown and approved, and then the waves follow. In a wave\n" +
			"each agent applies its plan; if all are healthy the wave is committed, otherwise all of them revert.\n\n" +
			"Agents are those in the files, and those that 'agentctl fleet label' and 'agentctl fleet set' have made in etcd;\n" +
			"the files take precedence. What pools give to an agent is kept in etcd.\n\n" +
			"The state of the rollout is in etcd: if the command is interrupted, 'agentctl fleet run' continues it. The exit code is 1\n" +
			"if the rollout fails. How rollouts work and what happens in each case of failure is in docs/fleet.md.",
		Example: "  agentctl fleet apply -f net/ --waves 1,10%\n  agentctl fleet apply -f net/ -y --soak 30s --confirm-timeout 2m --max-failures 1",
		Args:    cmdutil.Args(cobra.ArbitraryArgs),
		RunE:    o.run,
	}
	o.define(cmd)
	o.defineObjects(cmd)
	cmd.Flags().StringVarP(&o.message, "message", "m", "", "what the revision is for")
	return cmd
}

func newPlan(f *cmdutil.Factory) *cobra.Command {
	o := &applyOptions{rolloutFlags: rolloutFlags{engine: engine{Factory: f}}, objects: renderOptions{Factory: f}, planOnly: true}
	cmd := &cobra.Command{
		Use: "plan [-f] DIR|FILE...", Short: "Show what the agents of the fleet would do, without changing anything",
		Long: "Asks every agent for its plan, as 'agentctl fleet apply' does, and shows agents with equal plans together, with the first\n" +
			"items that change for one of them. 'agentctl fleet diff AGENT --to REVISION' shows all with their fields.\n\n" +
			"The exit code is 0 if nothing would change, 2 if there are changes, and 1 if an agent cannot have the configuration.",
		Example: "  agentctl fleet plan -f net/",
		Args:    cmdutil.Args(cobra.ArbitraryArgs),
		RunE:    o.run,
	}
	o.define(cmd)
	o.defineObjects(cmd)
	return f.Formatted(cmd)
}

func (o *applyOptions) defineObjects(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringArrayVarP(&o.objects.paths, "file", "f", nil, "`file` or directory with objects (\"-\" is the standard input); may be repeated")
	o.selectorFlag(cmd, &o.objects.selector)
	cmdutil.AllowEmptyFlag(cmd, &o.empty, "agents that get no items lose their configuration")
	fs.StringVar(&o.objects.models, "models", "", "`file` with the models of the agents, as \"model export\" prints them")
}

func (o *applyOptions) run(cmd *cobra.Command, args []string) error {
	paths := append(o.objects.paths, args...)
	if len(paths) == 0 {
		return exit.Usagef("expected a file or a directory with objects (-f DIR)")
	}
	return o.with(cmd.Context(), func(ctx context.Context, s store.Store) error {
		configs, err := o.render(cmd, s, paths)
		if err != nil {
			return err
		}
		if _, err := o.complete(0, nil); err != nil {
			return err
		}
		if err := allocate(ctx, s, configs.fresh); err != nil {
			return err
		}
		revision, err := o.revise(ctx, s, configs)
		if err != nil {
			return err
		}
		spec, err := o.complete(revision, configs.labels)
		if err != nil {
			return err
		}
		spec.Later = configs.later
		for _, a := range configs.relabelled {
			if o.planOnly {
				break
			}
			if err := s.SetFileLabels(ctx, a.Metadata.Name, a.Metadata.Labels); err != nil {
				return err
			}
		}
		return o.execute(cmd, s, spec, o.planOnly)
	})
}

// fleetConfig are configurations in the form in which they are stored.
type fleetConfig struct {
	items  map[string][]store.Item // by agent
	labels []string                // of the agents that are not in maintenance, sorted
	later  []string                // of the agents in maintenance, sorted
	fresh  []render.Allocation     // that are not stored yet
	agents map[string]store.AgentStatus
	// origins describe the NetworkConfigs, by name, and relabelled are the agents in files whose labels the store does not have.
	origins    map[string]store.ConfigOrigin
	relabelled []fleet.Agent
}

// render renders the objects, with the agents and allocations of the store.
func (o *applyOptions) render(cmd *cobra.Command, s store.Store, paths []string) (*fleetConfig, error) {
	in, err := o.objects.objects(cmd, paths)
	if err != nil {
		return nil, err
	}
	agents, err := s.Agents(cmd.Context())
	if err != nil {
		return nil, err
	}
	inFiles := in.Agents
	in.Agents = withStored(in.Agents, agents)
	if in.Allocations, err = s.Allocations(cmd.Context()); err != nil {
		return nil, err
	}
	if in.Selected, err = o.objects.selected(in.Agents); err != nil {
		return nil, err
	}
	r := render.Render(in)
	for _, w := range r.Warnings {
		fmt.Fprintln(o.Err, "WARNING: "+w)
	}
	if len(r.Errs) > 0 {
		return nil, o.objects.refuse(asErrors(r.Errs))
	}
	out, err := o.collect(r, agents)
	if err != nil {
		return nil, err
	}
	out.relabelled = slices.DeleteFunc(slices.Clone(inFiles), func(a fleet.Agent) bool {
		now := agents[a.Metadata.Name].FileLabels
		return now != nil && maps.Equal(now, a.Metadata.Labels)
	})
	out.origins = map[string]store.ConfigOrigin{}
	for i := range in.NetworkConfigs {
		c := &in.NetworkConfigs[i]
		out.origins[c.Metadata.Name] = store.ConfigOrigin{Position: c.Metadata.Source.String(), Priority: c.Spec.Priority}
	}
	out.fresh, out.agents = r.New, agents
	return out, nil
}

// allocate stores the values that pools have given.
func allocate(ctx context.Context, s store.Store, fresh []render.Allocation) error {
	for _, a := range fresh {
		if err := s.Allocate(ctx, a.Pool, a.Agent, a.Value); err != nil {
			return err
		}
	}
	return nil
}

// collect renders all selected agents. An agent without items that has a configuration is probably the result of
// a wrong selector or label.
func (o *applyOptions) collect(r *render.Rendering, agents map[string]store.AgentStatus) (*fleetConfig, error) {
	out := &fleetConfig{items: map[string][]store.Item{}}
	var errs []*render.Error
	var emptied []string
	for result := range r.Agents() {
		errs = append(errs, result.Errs...)
		name := result.Agent.Metadata.Name
		if len(result.Items) == 0 && len(result.Errs) == 0 && !o.empty {
			if agents[name].Report.Confirmed != 0 {
				emptied = append(emptied, name)
			} else {
				fmt.Fprintf(o.Err, "NOTE: %s is left out: no NetworkConfig gives it an item\n", name)
			}
			continue
		}
		items := []store.Item{}
		for _, it := range result.Items {
			value, err := kv.Encode(it.Value)
			if err != nil {
				return nil, fmt.Errorf("%s: %s: %w", name, it.Key, err)
			}
			items = append(items, store.Item{Key: it.Key, Value: value, Config: it.Config})
		}
		out.items[name] = items
		if result.Agent.Spec.Maintenance {
			fmt.Fprintf(o.Err, "NOTE: %s is left out until its maintenance ends\n", name)
			out.later = append(out.later, name)
			continue
		}
		out.labels = append(out.labels, name)
	}
	if len(errs) > 0 {
		o.objects.report(grouped(errs))
		return nil, errors.New("nothing was written: there are agents whose configuration cannot be rendered")
	}
	if len(emptied) > 0 {
		return nil, cmdutil.LoseAll(effects.Count(len(emptied), "agent"), "no NetworkConfig gives them one: "+named(emptied))
	}
	if len(out.labels) == 0 {
		return nil, errors.New("there is no agent to configure")
	}
	slices.Sort(out.labels)
	slices.Sort(out.later)
	return out, nil
}

// withStored adds the agents that only the store has. Maintenance is what the store says.
func withStored(list []fleet.Agent, stored map[string]store.AgentStatus) []fleet.Agent {
	list = slices.Clone(list)
	given := map[string]bool{}
	for i := range list {
		name := list[i].Metadata.Name
		given[name] = true
		list[i].Spec.Maintenance = list[i].Spec.Maintenance || stored[name].Spec.Spec.Maintenance
	}
	for _, label := range slices.Sorted(maps.Keys(stored)) {
		if a := stored[label].Spec; !given[label] && a.Metadata.Name != "" {
			list = append(list, a)
		}
	}
	return list
}
