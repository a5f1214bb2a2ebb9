package orchestrator_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tenuto-dev/tenuto/infra/health"
	"github.com/tenuto-dev/tenuto/infra/infratest"
	"github.com/tenuto-dev/tenuto/infra/logging"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator"
	ifmodel "github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/model"
	pb "github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
)

// diary keeps the warnings.
type diary struct {
	logging.PluginLogger
	mu       sync.Mutex
	warnings []string
}

func (d *diary) Warn(msg any, kv ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	text := fmt.Sprint(msg)
	for i := 1; i < len(kv); i += 2 {
		if s, ok := kv[i].(string); ok {
			text += " " + s
		}
	}
	d.warnings = append(d.warnings, text)
}

// about are the warnings that say something.
func (d *diary) about(text string) (found []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, w := range d.warnings {
		if strings.Contains(w, text) {
			found = append(found, w)
		}
	}
	return found
}

// witness is what an operator sees of the orchestrator.
type witness struct {
	*diary
	tree *health.Tree
}

func newWitness(t *testing.T) witness {
	return witness{&diary{PluginLogger: infratest.Logger(t, "orchestrator")}, health.NewTree(nil)}
}

func (w witness) use() orchestrator.Option {
	return orchestrator.UseDeps(func(d *orchestrator.Deps) {
		d.Log, d.Health = w.diary, w.tree.Plugin("orchestrator")
	})
}

func (w witness) state() (health.State, string) {
	s := w.tree.Snapshot().Plugins[0]
	return s.State, s.Reason
}

// The agent is not ready before its configuration has been applied.
func TestStartingUntilSynchronised(t *testing.T) {
	t.Parallel()
	see := newWitness(t)
	want := func(state health.State, reason string) {
		t.Helper()
		until(t, fmt.Sprintf("health is %v: %s", state, reason), func() bool {
			st, r := see.state()
			if st == health.OK && state != health.OK {
				t.Fatalf("health is OK before it is %v: %s", state, reason)
			}
			return st == state && r == reason
		})
	}
	item, sb := iface("a", 1), kvstest.NewMockSB()
	sb.Inject(kvstest.Fault{Op: pb.TxnOperation_CREATE, Key: item.Key, Hang: true})
	one, two := &fakeStore{name: "one"}, &fakeStore{name: "two"}
	w := start(t, sb, see.use(), orchestrator.UseWatchers(one, two))
	want(health.Init, "waits for the initial state of one, two")
	two.resyncs <- newEvent([]orchestrator.KeyVal{item})
	want(health.Init, "waits for the initial state of one")
	one.resyncs <- newEvent(nil)
	want(health.Init, "the initial synchronisation is being executed")
	sb.AwaitHang(item.Key)
	sb.Release(item.Key)
	w.waitSynced()
	want(health.OK, "1 item from 2 sources")
}

const removed = "removing values that are not desired"

// leftovers is a southbound with the interfaces of an earlier run.
func leftovers(names ...string) *kvstest.MockSB {
	sb := kvstest.NewMockSB()
	for _, name := range names {
		kv := iface(name, 1)
		sb.Put(kv.Key, kv.Val)
	}
	return sb
}

// operations are the calls but those that read.
func operations(sb *kvstest.MockSB) string {
	var ops []string
	for _, call := range sb.TakeCalls() {
		if !strings.HasPrefix(call, "retrieve") {
			ops = append(ops, strings.ReplaceAll(call, ifmodel.InterfaceModel.KeyPrefix(), ""))
		}
	}
	return strings.Join(ops, "; ")
}

func (w *world) wantOperations(want string) {
	w.t.Helper()
	if got := operations(w.sb); got != want {
		w.t.Errorf("operations %q, want %q", got, want)
	}
}

// history is the descriptions of all transactions.
func (w *world) history() string {
	var all []string
	for _, txn := range w.scheduler.GetTransactionHistory(time.Time{}, time.Time{}) {
		all = append(all, txn.Description)
	}
	return strings.Join(all, " | ")
}

// A file that is broken when the agent starts takes nothing down. When it is
// repaired, values that are not desired are removed, and nothing else is touched.
func TestBrokenFileAtStart(t *testing.T) {
	t.Parallel()
	dir, sb := t.TempDir(), leftovers("loop1", "loop2", "loop3", "obsolete")
	good, broken := filepath.Join(dir, "a.yaml"), filepath.Join(dir, "b.yaml")
	write(t, good, "vppConfig: {interfaces: [{name: loop1, mtu: 1}, {name: new, mtu: 1}]}\n")
	write(t, broken, "vppConfig: {interfaces: [{name: loop2, mtu: 1}, {name: loop3, mtu: \n")
	see := newWitness(t)
	w := startFiles(t, sb, dir, see.use())
	w.wantOperations("create new")
	told := see.about("nothing found in the southbound is removed")
	if len(told) != 1 || !strings.Contains(told[0], "filedb: "+broken) || strings.Contains(told[0], good) {
		t.Errorf("warnings %q, want one about %s", told, broken)
	}
	if st, reason := see.state(); st != health.Degraded || !strings.Contains(reason, broken) {
		t.Errorf("health %v: %s", st, reason)
	}
	if st := w.Status(iface("loop2", 1).Key).Status.GetValue().GetState(); st != pb.ValueState_DISCOVERED {
		t.Errorf("loop2 is %v", st)
	}
	// A client's resync is no reason to remove anything either.
	if _, err := w.PushData(t.Context(), orchestrator.GRPC, []orchestrator.KeyVal{iface("client", 1)}, orchestrator.WithResync()); err != nil {
		t.Fatal(err)
	}
	w.wantOperations("create client")

	write(t, broken, "vppConfig: {interfaces: [{name: loop2, mtu: 1}, {name: loop3, mut: 1}]}\n")
	until(t, "the good item is known", func() bool { return w.Status(iface("loop2", 1).Key).Source == "filedb" })
	write(t, broken, "vppConfig: {interfaces: [{name: loop2, mtu: 1}, {name: loop3, mtu: 1}]}\n")
	until(t, "the leftover is removed", func() bool { return w.mtu("obsolete") == -1 })
	until(t, "health is good", func() bool { st, _ := see.state(); return st == health.OK })
	w.wantOperations("delete obsolete")
	if got := w.history(); strings.Count(got, removed) != 1 || !strings.HasSuffix(got, removed) {
		t.Errorf("transactions: %s", got)
	}

	// From now on a broken file is what it always was.
	write(t, broken, "vppConfig: {interfaces: [")
	write(t, good, "vppConfig: {interfaces: [{name: loop1, mtu: 1}]}\n")
	until(t, "what the good file gave up is removed", func() bool { return w.mtu("new") == -1 })
	if _, err := w.PushData(t.Context(), orchestrator.GRPC, nil, orchestrator.WithResync()); err != nil {
		t.Fatal(err)
	}
	w.wantOperations("delete new; delete client")
}

// A broken file that is removed asks for nothing.
func TestBrokenFileIsRemoved(t *testing.T) {
	t.Parallel()
	dir, sb := t.TempDir(), leftovers("loop1", "obsolete")
	write(t, filepath.Join(dir, "a.yaml"), "vppConfig: {interfaces: [{name: loop1, mtu: 1}]}\n")
	write(t, filepath.Join(dir, "b.yaml"), "vppConfig: {interfaces: [{name: x, mut: 1}]}\n")
	w := startFiles(t, sb, dir)
	w.wantOperations("")
	if err := os.Remove(filepath.Join(dir, "b.yaml")); err != nil {
		t.Fatal(err)
	}
	until(t, "the leftover is removed", func() bool { return w.mtu("obsolete") == -1 })
	w.wantOperations("delete obsolete")
}

// While a source is silent nothing is removed, whatever the others do.
func TestSilentSource(t *testing.T) {
	t.Parallel()
	sb := leftovers("fast", "slow", "obsolete")
	fast, slow, slower := &fakeStore{name: "fast"}, &fakeStore{name: "slow"}, &fakeStore{name: "slower"}
	see := newWitness(t)
	w := start(t, sb, see.use(), orchestrator.UseWatchers(fast, slow, slower),
		orchestrator.UseConf(orchestrator.Config{InitialSyncTimeout: time.Millisecond, GuardDeletes: "off"}))
	w.waitSynced()
	w.wantOperations("")
	told := see.about("nothing found in the southbound is removed")
	if len(told) != 1 || !strings.Contains(told[0], "slow: no initial state; slower: no initial state") {
		t.Errorf("warnings %q", told)
	}
	for _, step := range []struct {
		store *fakeStore
		items []orchestrator.KeyVal
	}{
		{fast, []orchestrator.KeyVal{iface("fast", 1), iface("gone", 1)}},
		{fast, []orchestrator.KeyVal{iface("fast", 1)}}, // what it gives up itself is removed
		{slow, []orchestrator.KeyVal{iface("slow", 1)}},
	} {
		if err := <-step.store.resync(step.items...); err != nil {
			t.Fatal(err)
		}
	}
	w.wantOperations("create gone; delete gone")
	if st, reason := see.state(); st != health.Degraded || !strings.Contains(reason, "(slower: no initial state)") {
		t.Errorf("health %v: %s", st, reason)
	}
	if err := <-slower.resync(); err != nil {
		t.Fatal(err)
	}
	w.wantOperations("delete obsolete")
	if got := w.history(); !strings.HasSuffix(got, "resync of slower; all sources are complete now, "+removed) {
		t.Errorf("transactions: %s", got)
	}
	until(t, "health is good", func() bool { st, _ := see.state(); return st == health.OK })
	if err := <-fast.resync(); err != nil {
		t.Fatal(err)
	}
	w.wantOperations("delete fast")
}

// An item that cannot be read is a gap, too, until it is right or gone.
func TestUnreadableItemAtStart(t *testing.T) {
	t.Parallel()
	s := &fakeStore{name: "store"}
	w := start(t, leftovers("a", "b"), orchestrator.UseWatchers(s))
	wrong := orchestrator.KeyVal{Key: "config/unknown/x", Val: iface("b", 1).Val}
	if err := <-s.resync(iface("a", 1), wrong); err != nil {
		t.Fatal(err)
	}
	w.wantOperations("")
	if err := s.change(orchestrator.KeyVal{Key: wrong.Key}); err != nil {
		t.Fatal(err)
	}
	w.wantOperations("delete b")
}

// Withdrawing takes back the source's items; values that are not known to be
// leftovers stay.
func TestWithdrawWithGaps(t *testing.T) {
	t.Parallel()
	silent := &fakeStore{name: "silent"}
	w := start(t, leftovers("a", "b"), orchestrator.UseWatchers(silent),
		orchestrator.UseConf(orchestrator.Config{InitialSyncTimeout: time.Millisecond}))
	w.push(orchestrator.LocalClient, iface("a", 1))
	if err := w.Withdraw(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.wantOperations("delete a")
}
