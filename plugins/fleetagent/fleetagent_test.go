package fleetagent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protojson"

	"github.com/tenuto-dev/tenuto/fleet"
	"github.com/tenuto-dev/tenuto/fleet/controller"
	"github.com/tenuto-dev/tenuto/fleet/rollout"
	"github.com/tenuto-dev/tenuto/fleet/store"
	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/infra/holder"
	"github.com/tenuto-dev/tenuto/infra/kv"
	"github.com/tenuto-dev/tenuto/infra/kv/etcd"
	"github.com/tenuto-dev/tenuto/infra/kv/kvtest"
	"github.com/tenuto-dev/tenuto/plugins/fleetagent"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/orchtest"
	ifmodel "github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/model"
	"github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

func connect(t *testing.T, server *kvtest.Process) kv.DB {
	t.Helper()
	cfg := etcd.DefaultConfig()
	cfg.Endpoints = []string{server.Addr}
	db, closeDB, err := etcd.Open(cfg)
	must(t, err)
	t.Cleanup(func() { _ = closeDB() })
	return db
}

type identity struct{ label string }

func (i identity) Identity() holder.Identity {
	return holder.Identity{Label: i.label, Instance: "instance of " + i.label, Host: "host"}
}

// fleetOf is a fleet with running agents.
type fleetOf struct {
	t      *testing.T
	store  store.Store
	server *kvtest.Process
	agents map[string]*member
}

// member is an agent that is connected to etcd through a proxy of its own, and can be started again.
type member struct {
	*orchtest.Agent

	label    string
	stateDir string
	proxy    *kvtest.Proxy
	claims   *kvtest.Agent // claims the label in etcd; nil: no agent does
}

func start(t *testing.T, labels ...string) *fleetOf {
	server := kvtest.Etcd(t)
	f := &fleetOf{t: t, store: store.New(connect(t, server), "test"), server: server, agents: map[string]*member{}}
	for _, label := range labels {
		m := &member{label: label, stateDir: t.TempDir(), proxy: kvtest.NewProxy(t, server.Direct)}
		f.agents[label] = m
		m.start(t, kvstest.NewMockSB())
	}
	return f
}

// start starts the agent, or starts it again.
func (m *member) start(t *testing.T, sb *kvstest.MockSB) {
	m.Agent = orchtest.NewWith(t, sb, []*api.KVDescriptor{orchtest.Describe(sb, "interface", ifmodel.InterfaceModel, nil)})
	m.Scheduler.Cfg = config.Text("kvscheduler", "state-dir: "+m.stateDir)
	m.Orchestrator.State = m.Scheduler
	cfg := etcd.DefaultConfig()
	cfg.Endpoints = []string{m.proxy.Addr}
	engine := etcd.NewPlugin(etcd.UseConf(cfg), etcd.UseDeps(func(d *etcd.Deps) {
		if m.claims != nil {
			m.claims.Use(d)
		}
	}))
	p := &fleetagent.Plugin{Deps: fleetagent.Deps{
		Engine: engine, Orchestrator: m.Orchestrator, State: m.Scheduler, Identity: identity{m.label}, Values: m.Scheduler,
	}}
	p.Cfg = config.Text("fleet", "fleet: test")
	m.Start(m.Scheduler, m.Orchestrator, m.GRPC, engine, p)
}

// revise creates a revision in which each agent has the given interfaces.
func (f *fleetOf) revise(ifs ...*interfaces.Interface) int64 {
	f.t.Helper()
	var items []store.Item
	for _, i := range ifs {
		value, err := protojson.Marshal(i)
		must(f.t, err)
		items = append(items, store.Item{Key: ifmodel.InterfaceModel.KeyFor(i.Name), Value: json.RawMessage(value)})
	}
	configs := map[string][]store.Item{}
	for label := range f.agents {
		configs[label] = items
	}
	number, err := f.store.Revise(f.t.Context(), store.Revision{Created: time.Now()}, configs)
	must(f.t, err)
	return number
}

// roll executes a rollout.
func (f *fleetOf) roll(name string, spec rollout.Spec) controller.View {
	f.t.Helper()
	must(f.t, f.store.CreateRollout(f.t.Context(), rollout.Rollout{Metadata: fleet.Metadata{Name: name}, Spec: spec}))
	view, err := controller.Controller{Store: f.store, Name: "test"}.Run(f.t.Context(), name, func(controller.View) {}, func(err error) { f.t.Log(err) })
	must(f.t, err)
	return view
}

// expect checks how a rollout ended, and which interfaces the agents have.
func (f *fleetOf) expect(v controller.View, phase rollout.Phase, reason string, has map[string]string) {
	f.t.Helper()
	status := v.Rollout.Rollout.Status
	if status.Phase != phase || !strings.Contains(status.Reason, reason) {
		f.t.Errorf("the rollout is %s (%s), expected %s (%s)", status.Phase, status.Reason, phase, reason)
	}
	for label := range f.agents {
		f.has(label, has[label])
	}
	if f.t.Failed() {
		f.t.Logf("%+v", v)
	}
}

// has checks which interfaces an agent has.
func (f *fleetOf) has(label, want string) {
	f.t.Helper()
	var names []string
	for _, key := range f.agents[label].SB.Keys() {
		i := f.agents[label].SB.Get(key).(*interfaces.Interface)
		names = append(names, fmt.Sprintf("%s/%d", i.Name, i.Mtu))
	}
	if got := strings.Join(names, " "); got != want {
		f.t.Errorf("%s has %q, expected %q", label, got, want)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func iface(name string, mtu uint32) *interfaces.Interface {
	return &interfaces.Interface{Name: name, Type: interfaces.Interface_SOFTWARE_LOOPBACK, Mtu: mtu}
}

func spec(revision int64, waves ...[]string) rollout.Spec {
	return rollout.Spec{
		Revision: revision, Waves: waves, ConfirmTimeout: time.Minute, Soak: 100 * time.Millisecond, Deadline: time.Minute,
	}
}

func TestRollout(t *testing.T) {
	t.Parallel()
	f := start(t, "a", "b", "c")
	first := f.revise(iface("loop1", 1500), iface("loop2", 1500))
	f.expect(f.roll("one", spec(first, []string{"a"}, []string{"b", "c"})), rollout.PhaseSucceeded, "", map[string]string{
		"a": "loop1/1500 loop2/1500", "b": "loop1/1500 loop2/1500", "c": "loop1/1500 loop2/1500",
	})

	// What an agent cannot have is refused before anything changes.
	second := f.revise(iface("loop1", 9999))
	f.expect(f.roll("two", spec(second, []string{"a"}, []string{"b", "c"})), rollout.PhaseFailed, "a: config/vpp/v2/interfaces/loop1 is INVALID: mtu: 9999, expected 0 to 9216", map[string]string{
		"a": "loop1/1500 loop2/1500", "b": "loop1/1500 loop2/1500", "c": "loop1/1500 loop2/1500",
	})

	// What fails on one agent of a wave is reverted on all of its agents.
	third := f.revise(iface("loop1", 1400))
	f.agents["c"].SB.Inject(kvstest.Fault{Op: kvscheduler.TxnOperation_UPDATE, Times: 1, Key: ifmodel.InterfaceModel.KeyFor("loop1"), Err: errors.New("no")})
	f.expect(f.roll("three", spec(third, []string{"a"}, []string{"b", "c"})), rollout.PhaseFailed, "c: ", map[string]string{
		"a": "loop1/1400", "b": "loop1/1500 loop2/1500", "c": "loop1/1500 loop2/1500",
	})
}

// begin starts a rollout in the background, and returns a function that waits for its end.
func (f *fleetOf) begin(name string, s rollout.Spec, see func(controller.View)) (wait func() controller.View) {
	f.t.Helper()
	must(f.t, f.store.CreateRollout(f.t.Context(), rollout.Rollout{Metadata: fleet.Metadata{Name: name}, Spec: s}))
	end := make(chan controller.View, 1)
	go func() {
		view, err := controller.Controller{Store: f.store, Name: "test"}.Run(f.t.Context(), name, see, func(error) {})
		if err != nil {
			f.t.Error(err)
		}
		end <- view
	}()
	return func() controller.View { return <-end }
}

// An agent that the revision cuts off reverts alone, and the others of its wave revert, too.
func TestAgentIsCutOff(t *testing.T) {
	t.Parallel()
	f := start(t, "a", "b")
	first := f.revise(iface("loop1", 1500))
	s := spec(first, []string{"a", "b"})
	s.Soak, s.ConfirmTimeout = time.Second, 8*time.Second
	cut := sync.OnceFunc(func() { f.agents["b"].proxy.Partition() })
	wait := f.begin("one", s, func(v controller.View) {
		if v.Agents["b"].Report.State == rollout.Applied {
			cut()
		}
	})
	view := wait()
	for sb := f.agents["b"].SB; len(sb.Keys()) > 0; { // until b has reverted alone
		must(t, t.Context().Err())
		runtime.Gosched()
	}
	f.expect(view, rollout.PhaseFailed, "wave 1 was aborted: agents were not healthy in time", map[string]string{})
}

// An agent that is started again in the middle of a wave continues.
func TestAgentIsStartedAgain(t *testing.T) {
	t.Parallel()
	f := start(t, "a", "b")
	first := f.revise(iface("loop1", 1500))
	s := spec(first, []string{"a", "b"})
	s.Soak = time.Second
	applied := make(chan struct{})
	tell := sync.OnceFunc(func() { close(applied) })
	wait := f.begin("one", s, func(v controller.View) {
		if v.Agents["b"].Report.State == rollout.Applied {
			tell()
		}
	})
	<-applied
	b := f.agents["b"]
	b.Stop()
	b.start(t, b.SB)
	f.expect(wait(), rollout.PhaseSucceeded, "", map[string]string{"a": "loop1/1500", "b": "loop1/1500"})
}

// up starts the server again, and waits until it answers.
func (f *fleetOf) up() {
	f.t.Helper()
	f.server.Start(f.t)
	for {
		if _, err := f.store.LastRevision(f.t.Context()); err == nil {
			return
		}
		must(f.t, f.t.Context().Err())
	}
}

// An etcd that was restored from a backup is not followed until an operator says so.
func TestRestoredEngine(t *testing.T) {
	t.Parallel()
	f := start(t, "a")
	first := f.revise(iface("loop1", 1500))
	f.expect(f.roll("one", spec(first, []string{"a"})), rollout.PhaseSucceeded, "", map[string]string{"a": "loop1/1500"})
	f.server.Stop()
	restore := f.server.Backup(t)
	f.up()
	second := f.revise(iface("loop1", 1400))
	f.expect(f.roll("two", spec(second, []string{"a"})), rollout.PhaseSucceeded, "", map[string]string{"a": "loop1/1400"})
	f.server.Stop()
	restore()
	f.up()
	f.agents["a"].proxy.Reset()
	unread := spec(first, []string{"a"})
	unread.Deadline = time.Second
	f.expect(f.roll("three", unread), rollout.PhaseFailed, "a has not planned the revision in time", map[string]string{"a": "loop1/1400"})
	must(t, f.store.NewEpoch(t.Context()))
	f.expect(f.roll("four", spec(first, []string{"a"})), rollout.PhaseSucceeded, "", map[string]string{"a": "loop1/1500"})
}

// An item that was in trouble before a change does not make the agent unhealthy, and an agent that has the content of
// a revision already follows the decision.
func TestTroubleOfBefore(t *testing.T) {
	t.Parallel()
	f := start(t, "a", "b")
	broken := ifmodel.InterfaceModel.KeyFor("broken")
	f.agents["a"].SB.Inject(kvstest.Fault{Op: kvscheduler.TxnOperation_CREATE, Key: broken, Err: errors.New("no")})
	must(t, f.agents["a"].push(iface("broken", 1500)))
	first := f.revise(iface("broken", 1500), iface("loop1", 1500))
	f.expect(f.roll("one", spec(first, []string{"a", "b"})), rollout.PhaseSucceeded, "", map[string]string{
		"a": "loop1/1500", "b": "broken/1500 loop1/1500",
	})
	second := f.revise(iface("broken", 1500), iface("loop1", 1500))
	view := f.roll("two", spec(second, []string{"a", "b"}))
	f.expect(view, rollout.PhaseSucceeded, "", map[string]string{"a": "loop1/1500", "b": "broken/1500 loop1/1500"})
	for label, a := range view.Agents {
		if a.Report.Confirmed != second || a.Report.Plan.Effects != "no changes" {
			t.Errorf("%s reports %+v", label, a.Report)
		}
	}
}

// push gives the agent an interface as a local client.
func (m *member) push(i *interfaces.Interface) error {
	_, err := m.Orchestrator.PushData(m.Context(), orchestrator.LocalClient, []orchestrator.KeyVal{{Key: ifmodel.InterfaceModel.KeyFor(i.Name), Val: i}})
	var failed *api.TransactionError
	if errors.As(err, &failed) {
		return nil
	}
	return err
}

// rival returns an agent, which does not run yet, whose label "me" another agent has.
func (f *fleetOf) rival() *member {
	f.t.Helper()
	first, second := kvtest.NewAgent("first", 1), kvtest.NewAgent("second", 2)
	cfg := etcd.DefaultConfig()
	cfg.Endpoints = []string{f.server.Addr}
	kvtest.Start(f.t, etcd.NewPlugin(etcd.UseConf(cfg), etcd.UseDeps(func(d *etcd.Deps) { first.Use(d) })))
	db := connect(f.t, f.server)
	for n := 0; n == 0; { // until the first one has the label
		listing, err := db.List(f.t.Context(), "/vnf-agent/me/")
		must(f.t, err)
		n = len(listing.Items)
	}
	return &member{label: "me", stateDir: f.t.TempDir(), proxy: kvtest.NewProxy(f.t, f.server.Direct), claims: &second}
}

// An agent does not act for a label that another agent has.
func TestLabelIsTaken(t *testing.T) {
	t.Parallel()
	f := start(t)
	m := f.rival()
	f.agents["me"] = m
	m.start(t, kvstest.NewMockSB())
	s := spec(f.revise(iface("loop1", 1500)), []string{"me"})
	s.Deadline = time.Second
	f.expect(f.roll("one", s), rollout.PhaseFailed, "no agent planned the revision: me does not run", map[string]string{})
	if a := m.memory(t); a != nil {
		t.Errorf("the agent has worked on an assignment: %s", a)
	}
}

// memory returns what the agent has stored of its assignment.
func (m *member) memory(t *testing.T) []byte {
	t.Helper()
	state, err := m.Scheduler.LoadState("fleet")
	must(t, err)
	return state["memory"]
}

// wait waits until the report of an agent is as it should be.
func (f *fleetOf) wait(label string, ok func(rollout.Report) bool) {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.t.Context(), time.Minute)
	defer cancel()
	var last rollout.Report
	err := f.store.WatchAgent(ctx, label, func(a store.AgentStatus, _ store.Origin) error {
		if last = a.Report; ok(last) {
			return errSeen
		}
		return nil
	})
	if !errors.Is(err, errSeen) {
		f.t.Fatalf("%s reports %+v (%v)", label, last, err)
	}
}

var errSeen = errors.New("seen")

// An agent that is away during rollouts has the newest revision when it runs again, without a controller. One in
// maintenance gets it when the maintenance ends.
func TestCatchUp(t *testing.T) {
	t.Parallel()
	f := start(t, "a", "b")
	skip := func(revision int64) rollout.Spec {
		s := spec(revision, []string{"a", "b"})
		s.Offline, s.Deadline = rollout.OfflineSkip, 5*time.Second
		return s
	}
	b := f.agents["b"]
	f.roll("one", skip(f.revise(iface("loop1", 1500), iface("loop2", 1500))))
	b.Stop()
	f.roll("two", skip(f.revise(iface("loop1", 1450), iface("loop2", 1500))))
	third := f.revise(iface("loop1", 1400), iface("loop2", 1500))
	f.expect(f.roll("three", skip(third)), rollout.PhaseSucceeded, "", map[string]string{"a": "loop1/1400 loop2/1500", "b": "loop1/1500 loop2/1500"})
	b.start(t, b.SB)
	f.wait("b", func(r rollout.Report) bool { return r.Confirmed == third && r.State == rollout.Confirmed })
	f.has("b", "loop1/1400 loop2/1500")

	must(t, f.store.EditAgent(t.Context(), "b", maintenance(true)))
	fourth := f.revise(iface("loop1", 1300), iface("loop2", 1500))
	s := spec(fourth, []string{"a"})
	s.Later = []string{"b"}
	f.expect(f.roll("four", s), rollout.PhaseSucceeded, "", map[string]string{"a": "loop1/1300 loop2/1500", "b": "loop1/1400 loop2/1500"})
	must(t, f.store.EditAgent(t.Context(), "b", maintenance(false)))
	f.wait("b", func(r rollout.Report) bool { return r.Confirmed == fourth && r.State == rollout.Confirmed })
	f.has("b", "loop1/1300 loop2/1500")
}

// An agent that cannot keep the revision that it missed tries twice, and one that would delete most of its items does not
// try. Both say so, and keep what they have.
func TestCatchUpFails(t *testing.T) {
	t.Parallel()
	f := start(t, "a", "b", "c")
	first := f.revise(iface("loop1", 1500), iface("loop2", 1500), iface("loop3", 1500))
	f.roll("one", spec(first, []string{"a", "b", "c"}))
	for _, label := range []string{"b", "c"} {
		f.agents[label].Stop()
	}
	second := f.revise(iface("loop1", 1400), iface("loop2", 1500), iface("loop3", 1500))
	s := spec(second, []string{"a", "b"})
	s.Offline, s.Deadline = rollout.OfflineSkip, 5*time.Second
	f.roll("two", s)
	key := ifmodel.InterfaceModel.KeyFor("loop1")
	f.agents["b"].SB.Inject(kvstest.Fault{Op: kvscheduler.TxnOperation_UPDATE, Times: 2, Key: key, Err: errors.New("no")})
	f.agents["b"].start(t, f.agents["b"].SB)
	f.wait("b", func(r rollout.Report) bool {
		return r.State == rollout.Quarantined && r.Quarantined == second && r.Confirmed == first && strings.Contains(r.Reason, "loop1")
	})
	f.has("b", "loop1/1500 loop2/1500 loop3/1500")

	s = spec(f.revise(iface("loop3", 1500)), []string{"a", "c"})
	s.Offline, s.Deadline = rollout.OfflineSkip, 5*time.Second
	f.roll("three", s)
	f.agents["c"].start(t, f.agents["c"].SB)
	f.wait("c", func(r rollout.Report) bool {
		return r.State == rollout.Held && r.Confirmed == first && strings.HasPrefix(r.Reason, "would delete 2 of 3 items")
	})
	f.has("c", "loop1/1500 loop2/1500 loop3/1500")
}

func maintenance(on bool) func(*fleet.Agent) error {
	return func(a *fleet.Agent) error {
		a.Spec.Maintenance = on
		return nil
	}
}
