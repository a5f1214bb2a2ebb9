package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/exit"
	"github.com/tenuto-dev/tenuto/fleet"
	"github.com/tenuto-dev/tenuto/fleet/rollout"
	"github.com/tenuto-dev/tenuto/fleet/store"
	"github.com/tenuto-dev/tenuto/infra/infratest"
	"github.com/tenuto-dev/tenuto/infra/kv"
	"github.com/tenuto-dev/tenuto/infra/kv/etcd"
	"github.com/tenuto-dev/tenuto/infra/kv/kvtest"
)

// written is a fleet that is written into etcd as its agents and controllers would.
type written struct {
	t     *testing.T
	db    kv.DB
	store store.Store
	ops   []kv.Op
	env   map[string]string
}

// before is a time before the time of run.
func before(d time.Duration) time.Time { return time.Date(2026, 11, 21, 0, 38, 0, 0, time.UTC).Add(-d) }

func writtenFleet(t *testing.T) *written {
	t.Helper()
	server := kvtest.Etcd(t)
	cfg := etcd.DefaultConfig()
	cfg.Endpoints, cfg.OperationTimeout = []string{server.Direct}, time.Minute
	db, closeDB, err := etcd.Open(cfg)
	infratest.Fatal(t, err)
	t.Cleanup(func() { _ = closeDB() })
	return &written{t: t, db: db, store: store.New(db, "default"), env: map[string]string{"ETCD_ENDPOINTS": server.Direct}}
}

func (w *written) put(key string, value any) {
	w.t.Helper()
	raw, err := json.Marshal(value)
	infratest.Fatal(w.t, err)
	w.ops = append(w.ops, kv.PutOp(store.Root+"default/"+key, raw))
}

// flush writes what was put.
func (w *written) flush() {
	w.t.Helper()
	const most = 100
	for len(w.ops) > 0 {
		n := min(most, len(w.ops))
		infratest.Fatal(w.t, w.db.Txn(w.t.Context(), w.ops[:n]...))
		w.ops = w.ops[n:]
	}
}

// agent writes an agent that has revision 41 of rollout r-41, and runs, unless change says otherwise.
func (w *written) agent(label string, labels map[string]string, change func(*store.AgentStatus)) {
	w.t.Helper()
	a := store.AgentStatus{Label: label, Running: &store.Hold{Instance: "i", Host: "h-" + label}}
	a.Spec.Metadata = fleet.Metadata{Name: label, Labels: labels}
	a.Assignment = rollout.Assignment{Rollout: "r-41", Revision: 41, Task: rollout.TaskApply, Attempt: 2}
	a.Report = rollout.Report{Rollout: "r-41", Attempt: 2, State: rollout.Confirmed, Confirmed: 41, Previous: 40}
	a.Status = store.Status{
		Instance: "i", Host: "h-" + label, Started: before(48 * time.Hour), Reported: before(26 * time.Hour), Since: before(26 * time.Hour), Items: 12,
		History: []store.Confirmed{{Revision: 40, Rollout: "r-40", Time: before(47 * time.Hour)}, {Revision: 41, Rollout: "r-41", Time: before(26 * time.Hour)}},
	}
	if change != nil {
		change(&a)
	}
	w.put("agent/"+label+"/spec", a.Spec)
	w.put("agent/"+label+"/assignment", a.Assignment)
	w.put("agent/"+label+"/report", a.Report)
	w.put("agent/"+label+"/status", a.Status)
	if a.Running != nil {
		w.put("agent/"+label+"/hold", a.Running)
	}
	if a.Rival != nil {
		w.put("agent/"+label+"/rival", a.Rival)
	}
}

// rollout writes a rollout of a revision, and COMMIT for the waves before the one that it is in.
func (w *written) rollout(name string, age time.Duration, by string, r rollout.Rollout) {
	w.t.Helper()
	r.Metadata = fleet.Metadata{Name: name, Created: before(age), CreatedBy: by}
	if r.Status.Since.IsZero() {
		r.Status.Since = before(age - time.Minute)
	}
	w.put("rollout/"+name, r)
	decided := r.Status.Wave
	if r.Status.Phase == rollout.PhaseSucceeded {
		decided = len(r.Spec.Waves)
	}
	for wave := range decided {
		w.put(fmt.Sprintf("rollout/%s/decision/%d", name, wave), rollout.WaveDecision{Decision: rollout.Commit, By: "agentctl"})
	}
}

// troubled are the agents of thousand that have problems.
func troubled() map[string]func(*store.AgentStatus) {
	off := func(stopped time.Duration) func(*store.AgentStatus) {
		return func(a *store.AgentStatus) {
			a.Running = nil
			if stopped > 0 {
				a.Status.Stopped = before(stopped)
			}
		}
	}
	return map[string]func(*store.AgentStatus){
		"edge-017": off(3 * time.Hour), "edge-018": off(4 * time.Hour), "edge-803": off(0),
		"edge-019": func(a *store.AgentStatus) {
			off(0)(a)
			a.Report.Confirmed, a.Report.Rollout, a.Assignment.Task = 40, "r-40", rollout.TaskCatchUp
		},
		"edge-055": func(a *store.AgentStatus) {
			a.Report.State, a.Report.Confirmed, a.Report.Reason = rollout.Quarantined, 40, "the change was not confirmed in time"
			a.Status.Since = before(10 * time.Minute)
		},
		"edge-100": func(a *store.AgentStatus) { a.Rival = &store.Hold{Host: "h-spare"} },
		"edge-200": func(a *store.AgentStatus) {
			a.Status.Trouble = store.Findings{Count: 3, Since: before(90 * time.Second), First: []store.Finding{
				{Key: "config/vpp/v2/interfaces/uplink", State: "FAILED", Reason: "no such device"}, {Key: "config/vpp/v2/interfaces/loop1", State: "INVALID"},
			}}
		},
		"edge-201": func(a *store.AgentStatus) {
			a.Status.Drift = &store.Findings{Count: 1, Since: before(time.Minute), First: []store.Finding{
				{Key: "config/vpp/v2/interfaces/loop0", State: "differs", Reason: "mtu: 1500 -> 9000"},
			}}
		},
		"edge-300": func(a *store.AgentStatus) { a.Status.Drift = &store.Findings{} },
		"edge-206": func(a *store.AgentStatus) {
			a.Status.Drift = &store.Findings{Count: 7, Since: before(time.Hour), First: []store.Finding{
				{Key: "config/vpp/v2/interfaces/loop0", State: "missing"}, {Key: "config/vpp/v2/interfaces/loop8", State: "unexpected"}, {Key: "config/vpp/v2/interfaces/uplink", State: "missing"},
			}}
		},
		"edge-202": func(a *store.AgentStatus) {
			a.Report.State, a.Report.Confirmed, a.Report.Reason = rollout.Failed, 40, "config/vpp/v2/interfaces/loop1 is FAILED"
		},
		"edge-205": func(a *store.AgentStatus) {
			a.Report.State, a.Report.Confirmed, a.Assignment.Task = rollout.Held, 40, rollout.TaskCatchUp
			a.Report.Reason = "would delete 9 of 12 items by a plan that was not approved; the next rollout plans it"
		},
		"edge-203": func(a *store.AgentStatus) { a.Running, a.Spec.Spec.Maintenance = nil, true },
		"edge-204": func(a *store.AgentStatus) {
			a.Status.NotFollowed = "it went from revision 53414 to 120: etcd is another one, or was restored from a backup; if it is the right one: agentctl fleet trust"
		},
	}
}

// thousand writes a fleet of 1,000 agents, some with problems, and a paused rollout.
func thousand(w *written) {
	w.t.Helper()
	special := troubled()
	var labels []string
	for i := range 1000 {
		label := fmt.Sprintf("edge-%03d", i)
		labels = append(labels, label)
		role, site := "edge", []string{"paris", "rome", "oslo"}[i%3]
		if i%25 == 0 {
			role = "core"
		}
		change := special[label]
		if i < 10 {
			change = func(a *store.AgentStatus) {
				a.Report = rollout.Report{Rollout: "r-42", Attempt: 2, State: rollout.Confirmed, Confirmed: 42, Previous: 41}
				a.Assignment.Rollout, a.Assignment.Revision = "r-42", 42
				a.Status.History = append(a.Status.History, store.Confirmed{Revision: 42, Rollout: "r-42", Time: before(9 * time.Minute)})
			}
		}
		w.agent(label, map[string]string{"role": role, "site": site, "serial": fmt.Sprint(7000 + i)}, change)
	}
	all := func(revision int64, status rollout.Status) rollout.Rollout {
		return rollout.Rollout{Spec: rollout.Spec{Revision: revision, Waves: [][]string{labels[:10], labels[10:]}}, Status: status}
	}
	w.rollout("r-40", 47*time.Hour, "ann@ops", all(40, rollout.Status{Phase: rollout.PhaseSucceeded, Wave: 1}))
	w.rollout("r-41", 27*time.Hour, "ann@ops", all(41, rollout.Status{Phase: rollout.PhaseSucceeded, Wave: 1, Skipped: map[string]string{"edge-019": "does not run"}}))
	r := all(42, rollout.Status{Phase: rollout.PhaseApplying, Since: before(10 * time.Minute)})
	r.Spec.Paused = true
	w.rollout("r-42", 11*time.Minute, "bob@ops", r)
	w.put("rollout/r-42/decision/0", rollout.WaveDecision{Decision: rollout.Commit, By: "agentctl"})
	w.revisions(labels)
	w.flush()
}

// revisions writes the revisions 40 to 42, in which all agents have the same items.
func (w *written) revisions(labels []string) {
	w.t.Helper()
	item := func(name, mtu, config string) store.Item {
		return store.Item{
			Key: "config/vpp/v2/interfaces/" + name, Config: config,
			Value: json.RawMessage(`{"name":"` + name + `","type":"SOFTWARE_LOOPBACK","enabled":true,"mtu":` + mtu + `}`),
		}
	}
	for number, items := range map[int64][]store.Item{
		40: {item("loop0", "1500", "underlay")}, 41: {item("loop0", "9000", "underlay"), item("uplink", "9000", "uplinks")},
		42: {item("loop0", "9000", "underlay"), item("loop9", "9000", "overrides"), item("uplink", "1400", "uplinks")},
	} {
		manifest, err := w.store.PutConfig(w.t.Context(), items)
		infratest.Fatal(w.t, err)
		agents := map[string]string{}
		for _, label := range labels {
			agents[label] = manifest
		}
		w.put(fmt.Sprintf("revision/%d", number), store.Revision{
			Number: number, Agents: agents, Message: map[int64]string{40: "base", 41: "MTU 9000", 42: "new peers"}[number], Author: "ann@ops", Created: before(27 * time.Hour),
			Configs: map[string]store.ConfigOrigin{"underlay": {Position: "net/underlay.yaml:1"}, "uplinks": {Position: "net/uplinks.yaml:4", Priority: 10}, "overrides": {}},
		})
	}
}

// The read side of a fleet of 1,000 agents fits on a screen, and says what is wrong.
func TestFleetOfThousand(t *testing.T) {
	t.Parallel()
	w := writtenFleet(t)
	thousand(w)
	var b strings.Builder
	for _, line := range []string{
		"fleet status", "fleet status -l site=oslo", "fleet status -l site=none", "fleet status -o yaml -l serial=7055",
		"fleet why edge-000", "fleet why edge-017", "fleet why edge-019", "fleet why edge-055", "fleet why edge-202", "fleet why edge-203", "fleet why edge-204 -o yaml", "fleet why edge-205",
		"fleet why edge-1", "fleet why edge-200 vpp.interfaces/uplink", "fleet why edge-001 vpp.interfaces/loop0", "fleet why edge-001 vpp.interfaces/lop0",
		"fleet why edge-300 vpp.interfaces/loop0", "fleet why edge-300 vpp.interfaces/loop9",
		"fleet diff edge-300 edge-301", "fleet diff edge-300 edge-001", "fleet diff edge-300", "fleet diff edge-300 --from r-40 --to 42", "fleet diff edge-300 --from 7", "fleet diff edge-300 --to r-4",
		"fleet diff edge-300 --from r-41 --to 42 -o yaml",
		"fleet drift", "fleet drift -l serial=7300", "fleet drift -l serial=7206 -o yaml",
		"fleet history", "fleet history edge-001", "fleet history edge-0000", "fleet history --limit 1", "fleet history edge-001 -o yaml",
	} {
		r := run(t, w.env, words(line)...)
		fmt.Fprintf(&b, "$ agentctl %s\n%s%s[exit %d]\n\n", line, r.out, r.err, r.code)
		if n := strings.Count(r.out, "\n"); n > 45 {
			t.Errorf("%s: %d lines", line, n)
		}
	}
	golden(t, filepath.Join("testdata", "fleet", "thousand.txt"), b.String())
	for line, want := range map[string]string{
		"fleet why edge-99":                 "edge-990 edge-991 edge-992 edge-993 edge-994 edge-995 edge-996 edge-997 edge-998 edge-999",
		"fleet why edge-300 vpp.interfaces": "vpp.interfaces/loop0 vpp.interfaces/uplink",
		"fleet diff edge-300 edge-30 ":      "",
		"fleet history edge-999":            "edge-999",
		"fleet diff edge-300 --from r-":     "r-40 r-41 r-42",
		"fleet status -l role=core,site=p":  "role=core,site=paris",
		"fleet maintenance edge-300 o":      "on off",
		"fleet label edge-555":              "edge-555",
	} {
		args := append([]string{"__complete"}, strings.Split(line, " ")...)
		r := run(t, w.env, args...)
		words, _, _ := strings.Cut(r.out, ":")
		if got := strings.Join(strings.Fields(words), " "); r.code != 0 || got != want {
			t.Errorf("completion of %q: %q, expected %q: %s", line, got, want, r.err)
		}
	}
	checkSection(t, "## What is wrong, and why\n", func(line string) (string, bool) {
		r := run(t, w.env, words(line)...)
		return r.out, r.code == 0 || r.code == exit.CodeFinding
	})
}

// golden compares a text with a file, which -update writes.
func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		infratest.Fatal(t, os.WriteFile(file, []byte(got), 0o600))
	}
	want, err := os.ReadFile(file)
	infratest.Fatal(t, err)
	if got != string(want) {
		t.Errorf("%s has something else (-update writes it):\n%s", file, got)
	}
}

// answer has agents answer the plans that they are asked for, until ctx ends.
func (w *written) answer(ctx context.Context, plan func(label string) rollout.Report) {
	for ctx.Err() == nil {
		agents, err := w.store.Agents(ctx)
		for label, a := range agents {
			if err != nil || a.Assignment.Task != rollout.TaskPlan || a.Report.Rollout == a.Assignment.Rollout {
				continue
			}
			r := plan(label)
			r.Rollout, r.Attempt, r.Confirmed = a.Assignment.Rollout, a.Assignment.Attempt, a.Report.Confirmed
			err = w.store.WriteReport(ctx, label, r)
		}
		if err != nil && ctx.Err() == nil {
			w.t.Error(err)
			return
		}
		select {
		case <-ctx.Done():
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// The plan of 200 agents is one screen: a paragraph for the agents with the same plan.
func TestFleetPlanOfMany(t *testing.T) {
	t.Parallel()
	w := writtenFleet(t)
	var objects strings.Builder
	for i := range 200 {
		label := fmt.Sprintf("edge-%03d", i)
		fmt.Fprintf(&objects, "apiVersion: fleet.tenuto.dev/v1alpha1\nkind: Agent\nmetadata: {name: %s, labels: {role: edge}}\nspec: {values: {loopback: 10.255.0.%d/32}}\n---\n", label, i)
		w.agent(label, map[string]string{"role": "edge"}, func(a *store.AgentStatus) {
			a.Report, a.Assignment = rollout.Report{}, rollout.Assignment{}
		})
	}
	w.flush()
	parts := strings.Split(strings.ReplaceAll(fleetAgents, "MTU", "1500"), "---\n")
	net := write(t, "net.yaml", objects.String()+parts[2])
	refused := ""
	plan := func(label string) rollout.Report {
		r := rollout.Report{State: rollout.Planned, Plan: rollout.Plan{Fingerprint: "f", Effects: "1 to create"}}
		switch {
		case label == refused:
			r.State, r.Plan, r.Reason = rollout.Refused, rollout.Plan{}, "config/vpp/v2/interfaces/loop0 is UNIMPLEMENTED: VPP 22.02 lacks it"
		case label > "edge-160":
			r.Plan.Effects = "1 to create, 2 waiting: config/vpp/v2/route/vrf/0/dst/10.0.0.0/24/gw/ waits for config/vpp/v2/interfaces/uplink2"
		case label > "edge-130": // each another one
			r.Plan.Effects = "1 to create, " + label[5:] + " to delete"
		}
		return r
	}
	ctx, cancel := context.WithCancel(t.Context())
	var agents sync.WaitGroup
	agents.Go(func() { w.answer(ctx, plan) })
	first := run(t, w.env, "fleet", "plan", "--deadline", "2m", "-f", net)
	data := run(t, w.env, "fleet", "plan", "--deadline", "2m", "-f", net, "-o", "json")
	cancel()
	agents.Wait()
	refused = "edge-003"
	ctx, cancel = context.WithCancel(t.Context())
	agents.Go(func() { w.answer(ctx, plan) })
	second := run(t, w.env, "fleet", "plan", "--deadline", "2m", "-f", net)
	cancel()
	agents.Wait()
	var shown struct{ Classes []struct{ Agents []string } }
	if err := json.Unmarshal([]byte(data.out), &shown); err != nil || data.code != exit.CodeFinding || len(shown.Classes) != 32 || len(shown.Classes[0].Agents) != 131 {
		t.Errorf("-o json: %v, exit %d\n%s%s", err, data.code, data.out, data.err)
	}
	golden(t, filepath.Join("testdata", "fleet", "plan.txt"), fmt.Sprintf("%s%s[exit %d]\n\n%s%s[exit %d]\n", first.out, first.err, first.code, second.out, second.err, second.code))
}
