package app

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/tenuto-dev/tenuto/fleet"
	"github.com/tenuto-dev/tenuto/fleet/controller"
	"github.com/tenuto-dev/tenuto/fleet/rehearsal"
	"github.com/tenuto-dev/tenuto/fleet/rollout"
	"github.com/tenuto-dev/tenuto/fleet/store"
	"github.com/tenuto-dev/tenuto/infra/agent"
	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/infra/kv"
	"github.com/tenuto-dev/tenuto/infra/kv/memdb"
	"github.com/tenuto-dev/tenuto/infra/logging"
	"github.com/tenuto-dev/tenuto/plugins/fleetagent"
	"github.com/tenuto-dev/tenuto/plugins/govppmux"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	linuxmodel "github.com/tenuto-dev/tenuto/plugins/linux/ifplugin/model"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator"
	"github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
)

const (
	// rehearsedFleet is the name of the fleet in a rehearsal, and the names of its rollouts.
	rehearsedFleet, presentRollout, rehearsedRollout = "rehearsal", "present", "rehearsal"
	// confirmTimeout is the confirm timeout of a rehearsal: how long an agent that is cut off waits. Each agent
	// adds a little, because they share the processors.
	confirmTimeout, confirmTimeoutOfEach = 5 * time.Second, 20 * time.Millisecond
	// planTimeout is how long the plans of all agents may take if all of them run.
	planTimeout = 10 * time.Minute
)

// readRehearsal reads the input of the command rehearse from a file, or with "-" from the standard input.
func readRehearsal(file string) (in rehearsal.Input, err error) {
	var r io.Reader = os.Stdin
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return in, err
		}
		defer f.Close() //nolint:errcheck // nothing was written
		r = f
	}
	d := json.NewDecoder(r)
	d.DisallowUnknownFields()
	return in, d.Decode(&in)
}

// Rehearse executes a rollout with simulated copies of the agents, which have the options, and no store but the
// memory of this process. The hosts of the copies have all links that items need.
func Rehearse(ctx context.Context, in rehearsal.Input, opts ...Option) (out rehearsal.Result, err error) {
	if err := in.Validate(); err != nil {
		return out, err
	}
	without := in
	without.Faults = nil
	out, links, err := rehearse(ctx, without, nil, opts)
	if err != nil || len(links) == 0 && len(in.Faults) == 0 {
		return out, err
	}
	out, _, err = rehearse(ctx, in, links, opts)
	return out, err
}

// rehearse is Rehearse with copies whose hosts have some links. It returns those that items wait for, by label.
func rehearse(ctx context.Context, in rehearsal.Input, links map[string][]string, opts []Option) (out rehearsal.Result, missing map[string][]string, err error) {
	dir, err := os.MkdirTemp("", "vpp-agent-rehearse-")
	if err != nil {
		return out, nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	db := memdb.New()
	own := db.Client()
	defer own.Close()
	r := &rehearsed{db: db, links: links, store: store.New(own, rehearsedFleet), dir: dir, opts: opts, copies: map[string]*simulatedAgent{}}
	defer func() { err = errors.Join(err, r.stop()) }()
	if err := r.start(ctx, in.Agents); err != nil {
		return out, nil, err
	}
	if out.Warnings, err = r.present(ctx, in.Agents); err != nil {
		return out, nil, err
	}
	for _, f := range in.Faults {
		if err := r.copies[f.Agent].arm(f.Kind); err != nil {
			return out, nil, err
		}
	}
	view, err := r.execute(ctx, rehearsedRollout, in.Spec, func(a rehearsal.Agent) []store.Item { return a.After }, in.Agents)
	if err != nil {
		return out, nil, err
	}
	out.Rollout, out.Decisions = view.Rollout.Rollout, view.Rollout.Decisions
	missing = map[string][]string{}
	for _, a := range in.Agents {
		c := r.copies[a.Label]
		out.Agents = append(out.Agents, c.result(view.Agents[a.Label]))
		if links := c.missingLinks(); len(links) > 0 {
			missing[a.Label] = links
		}
	}
	return out, missing, nil
}

// rehearsed is a fleet of simulated agents.
type rehearsed struct {
	db    *memdb.Store
	store store.Store
	links map[string][]string // of the hosts, by label
	dir   string
	opts  []Option

	mu     sync.Mutex
	copies map[string]*simulatedAgent
}

// simulatedAgent is a copy of an agent, as the part of its plugin "fleet" that can fail.
type simulatedAgent struct {
	fleetagent.Orchestrator
	label   string
	client  *memdb.Client
	running interface{ Stop() error } // nil: it is stopped
	fault   atomic.Pointer[rehearsal.Kind]
	sick    atomic.Bool // what it has applied is not in effect
}

// DB implements fleetagent.Engine.
func (a *simulatedAgent) DB() kv.DB { return a.client }

// Usable implements fleetagent.Engine.
func (a *simulatedAgent) Usable() error { return nil }

// errCutOff is the error of the engine for an agent that is cut off.
var errCutOff = errors.New("the change has cut off the agent")

// ApplyPlan implements fleetagent.Orchestrator.
func (a *simulatedAgent) ApplyPlan(ctx context.Context, plan *orchestrator.Plan, o orchestrator.ApplyOptions) (orchestrator.Applied, error) {
	applied, err := a.Orchestrator.ApplyPlan(ctx, plan, o)
	if kind := a.fault.Load(); err == nil && kind != nil {
		switch *kind {
		case rehearsal.Unhealthy:
			a.sick.Store(true)
		case rehearsal.CutOff:
			a.client.Cut(errCutOff)
		}
	}
	return applied, err
}

// CancelCommit implements fleetagent.Orchestrator.
func (a *simulatedAgent) CancelCommit(ctx context.Context, id string) error {
	a.sick.Store(false)
	return a.Orchestrator.CancelCommit(ctx, id)
}

// Status implements fleetagent.Orchestrator.
func (a *simulatedAgent) Status(key string) orchestrator.Result {
	r := a.Orchestrator.Status(key)
	if a.sick.Load() {
		r.Status = &api.BaseValueStatus{Value: &kvscheduler.ValueStatus{Key: key, State: kvscheduler.ValueState_FAILED}}
	}
	return r
}

// arm makes something go wrong from now on.
func (a *simulatedAgent) arm(kind rehearsal.Kind) error {
	if kind == rehearsal.Offline {
		return a.stop()
	}
	a.fault.Store(&kind)
	return nil
}

func (a *simulatedAgent) stop() (err error) {
	if a.running != nil {
		err = a.running.Stop()
	}
	a.running = nil
	a.client.Close()
	return err
}

// start starts copies of the agents.
func (r *rehearsed) start(ctx context.Context, agents []rehearsal.Agent) error {
	var all errgroup.Group
	all.SetLimit(2 * runtime.GOMAXPROCS(0))
	for _, a := range agents {
		all.Go(func() error {
			if err := r.startOne(ctx, a.Label); err != nil {
				return fmt.Errorf("start of the copy of %s: %w", a.Label, err)
			}
			return nil
		})
	}
	return all.Wait()
}

func (r *rehearsed) startOne(ctx context.Context, label string) error {
	dir, err := os.MkdirTemp(r.dir, "agent-")
	if err != nil {
		return err
	}
	for name, conf := range map[string]string{
		"http.conf":        "endpoint: ''\nsocket: " + filepath.Join(dir, "http.sock") + "\n",
		"grpc.conf":        "disabled: true\n",
		"fleet.conf":       "fleet: " + rehearsedFleet + "\n",
		"kvscheduler.conf": "print-txn-summary: false\nstate-dir: " + filepath.Join(dir, "state") + "\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(conf), 0o600); err != nil {
			return err
		}
	}
	plugins, err := New(r.opts...)
	if err != nil {
		return err
	}
	c := &simulatedAgent{Orchestrator: plugins.Orchestrator, label: label, client: r.db.Client()}
	plugins.Fleet.Engine, plugins.Fleet.Orchestrator = c, c
	r.mu.Lock()
	r.copies[label] = c
	r.mu.Unlock()
	sim := agent.NewAgent(agent.AllPlugins(plugins), agent.Args("--config-dir", dir, "--simulate", "--"+linksFlag, strings.Join(r.links[label], ","), "--microservice-label", label),
		agent.Environ(config.NoEnviron), agent.QuitSignals(), agent.Logging(logging.NewRegistry(logging.WithWriter(io.Discard))),
		agent.StartTimeout(simulatorTimeout), agent.StopTimeout(simulatorTimeout))
	if err := sim.Start(ctx); err != nil {
		return err
	}
	c.running = sim
	return awaitVPP(ctx, plugins)
}

// awaitVPP waits until an agent is connected with its VPP: without it everything waits in a plan.
func awaitVPP(ctx context.Context, plugins *VPPAgent) error {
	ctx, cancel := context.WithTimeout(ctx, simulatorTimeout)
	defer cancel()
	var once sync.Once
	up := make(chan struct{})
	plugins.GoVPP.OnSession(func(s govppmux.Session) {
		if s.Up {
			once.Do(func() { close(up) })
		}
	})
	select {
	case <-up:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("the simulated VPP is not connected: %w", ctx.Err())
	}
}

// stop stops all copies.
func (r *rehearsed) stop() error {
	var all errgroup.Group
	all.SetLimit(2 * runtime.GOMAXPROCS(0))
	for _, c := range r.copies {
		all.Go(c.stop)
	}
	return all.Wait()
}

// offline reports whether a copy does not run.
func (r *rehearsed) offline() bool {
	for _, c := range r.copies {
		if c.running == nil {
			return true
		}
	}
	return false
}

// present gives the copies the configurations that their agents have. The warnings name the agents whose
// configuration is not possible in a simulation.
func (r *rehearsed) present(ctx context.Context, agents []rehearsal.Agent) (warnings []string, err error) {
	var have []string
	for _, a := range agents {
		if len(a.Before) > 0 {
			have = append(have, a.Label)
		}
	}
	if len(have) == 0 {
		return nil, nil
	}
	view, err := r.execute(ctx, presentRollout, rollout.Spec{Waves: [][]string{have}, Atomic: rollout.AtomicAgent, MaxFailures: len(have)},
		func(a rehearsal.Agent) []store.Item { return a.Before }, agents)
	if err != nil {
		return nil, err
	}
	for _, label := range have {
		if report := view.Agents[label].Report; report.State != rollout.Confirmed {
			warnings = append(warnings, fmt.Sprintf("%s: the copy begins without a configuration: the present one is not possible in the simulation: %s",
				label, cmp.Or(report.Reason, view.Rollout.Rollout.Status.Skipped[label], string(report.State))))
		}
	}
	return warnings, nil
}

// execute executes a rollout of configurations to its end.
func (r *rehearsed) execute(ctx context.Context, name string, spec rollout.Spec, config func(rehearsal.Agent) []store.Item, agents []rehearsal.Agent) (controller.View, error) {
	configs := map[string][]store.Item{}
	for _, a := range agents {
		configs[a.Label] = config(a)
	}
	var err error
	if spec.Revision, err = r.store.Revise(ctx, store.Revision{Created: time.Now()}, configs); err != nil {
		return controller.View{}, err
	}
	spec.PlanOnly, spec.Approval, spec.Paused, spec.Abort = false, false, false, false
	spec.ConfirmTimeout = confirmTimeout + time.Duration(len(agents))*confirmTimeoutOfEach
	spec.Soak, spec.Deadline = 0, planTimeout
	if r.offline() {
		spec.Deadline = spec.ConfirmTimeout
	}
	if err := r.store.CreateRollout(ctx, rollout.Rollout{Metadata: fleet.Metadata{Name: name}, Spec: spec}); err != nil {
		return controller.View{}, err
	}
	var failed error
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c := controller.Controller{Store: r.store, Name: "rehearsal"}
	view, err := c.Run(ctx, name, func(controller.View) {}, func(err error) {
		failed = err // the memory of the process does not fail
		cancel()
	})
	return view, cmp.Or(failed, err)
}

// missingLinks returns the links of the host that items wait for.
func (a *simulatedAgent) missingLinks() (names []string) {
	if a.running == nil {
		return nil
	}
	for _, kv := range a.ListData(fleetagent.Source) {
		status := a.Status(kv.Key).Status
		for _, v := range append(status.GetDerivedValues(), status.GetValue()) {
			for _, unmet := range v.GetWaitsFor() {
				if name, ok := linuxmodel.ParseHostInterfaceKey(unmet.GetKey()); ok && !slices.Contains(names, name) {
					names = append(names, name)
				}
			}
		}
	}
	return names
}

// result describes a copy at the end.
func (a *simulatedAgent) result(seen store.AgentStatus) rehearsal.AgentResult {
	out := rehearsal.AgentResult{Label: a.label, Running: a.running != nil, Report: seen.Report}
	if a.running == nil {
		return out
	}
	for _, kv := range a.ListData(fleetagent.Source) {
		status := a.Status(kv.Key).Status
		if status == nil || !slices.Contains(api.TroubleStates(), status.GetValue().GetState()) {
			continue
		}
		v := status.GetValue()
		out.Items = append(out.Items, rehearsal.Item{Key: kv.Key, State: v.GetState().String(), Why: cmp.Or(v.GetError(), strings.Join(v.GetDetails(), ", "))})
	}
	slices.SortFunc(out.Items, func(x, y rehearsal.Item) int { return cmp.Compare(x.Key, y.Key) })
	return out
}
