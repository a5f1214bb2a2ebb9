package orchestrator_test

import (
	"encoding/json"
	"errors"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tenuto-dev/tenuto/infra/datasync"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator"
	pb "github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
)

var _ orchestrator.State = (*kvscheduler.Scheduler)(nil)

// memory is a State that outlives agents.
type memory struct {
	mu   sync.Mutex
	kept map[string][]byte
	err  error
	all  int // how often everything was written again
}

func (m *memory) EachState(_ string, f func(key string, data []byte)) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, key := range slices.Sorted(maps.Keys(m.kept)) {
		f(key, m.kept[key])
	}
	return nil
}

func (m *memory) KeepsState() bool { return true }

func (m *memory) SaveState(_ string, put map[string][]byte, all bool) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.err != nil {
		return m.err
	}
	if all {
		m.kept = nil
		m.all++
	}
	if m.kept == nil {
		m.kept = map[string][]byte{}
	}
	for key, data := range put {
		if data == nil {
			delete(m.kept, key)
		} else {
			m.kept[key] = data
		}
	}
	return nil
}

func (m *memory) fail(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.err = err
}

func (m *memory) has(part string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	for key := range m.kept {
		if strings.Contains(key, part) {
			return true
		}
	}
	return false
}

// again starts one more agent on the same southbound, with the same memory.
func again(t *testing.T, sb *kvstest.MockSB, m *memory, stores ...datasync.KeyValProtoWatcher) *world {
	t.Helper()
	return start(t, sb, orchestrator.UseWatchers(stores...), orchestrator.UseConf(orchestrator.Config{InitialSyncTimeout: time.Millisecond}),
		usingState(m))
}

func usingState(m *memory) orchestrator.Option {
	return orchestrator.UseDeps(func(d *orchestrator.Deps) { d.State = m })
}

// changes are the calls that changed the southbound.
func changes(sb *kvstest.MockSB) (list []string) {
	for _, call := range sb.TakeCalls() {
		if !strings.HasPrefix(call, "retrieve ") {
			list = append(list, call)
		}
	}
	return list
}

// What clients asked for is in effect after a restart, without a call that
// changes anything.
func TestClientsAreRemembered(t *testing.T) {
	t.Parallel()
	m := &memory{}
	w := again(t, nil, m)
	w.waitSynced()
	w.push(orchestrator.GRPC, iface("a", 1), iface("b", 1), iface("c", 1))
	w.push(orchestrator.GRPC, iface("b", 2), gone("c"))
	w.push("other", iface("b", 3), iface("d", 1))
	w.sb.Inject(kvstest.Fault{Op: pb.TxnOperation_CREATE, Key: iface("e", 0).Key, Times: 1})
	if _, err := w.PushData(t.Context(), orchestrator.GRPC, items(iface("e", 1), iface("a", 9)), orchestrator.WithRevert()); err == nil {
		t.Error("expected a failure")
	}
	before := w.sb.String()
	w.stop()
	w.sb.TakeCalls()
	w = again(t, w.sb, m)
	w.waitSynced()
	if calls := changes(w.sb); len(calls) > 0 || w.sb.String() != before {
		t.Errorf("the restart made: %q", calls)
	}
	if got := len(w.ListData(orchestrator.GRPC)); got != 2 {
		t.Errorf("%d items of remote clients, expected 2", got)
	}
	w.wantMTU("b", 2) // remote clients win over unknown sources
	if _, err := w.PushData(t.Context(), orchestrator.GRPC, items(iface("a", 5)), orchestrator.WithResync()); err != nil {
		t.Fatal(err)
	}
	w.stop()
	w = again(t, w.sb, m)
	w.waitSynced()
	w.wantMTU("a", 5)
	w.wantMTU("b", 3)
	if err := w.Withdraw(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.stop()
	w = again(t, w.sb, m)
	w.waitSynced()
	if got := w.ListData(""); len(got) > 0 {
		t.Errorf("withdrawn, and yet remembered: %v", got)
	}
}

// TestStoresAreRemembered: the previous state of a store that cannot be reached is used.
// Nothing is removed before the store answers, because it may have changed before the
// restart or since. The state of a store that is no longer configured is dropped, unless no other is
// configured: then it stays until that is accepted.
func TestStoresAreRemembered(t *testing.T) {
	t.Parallel()
	m, db := &memory{}, &fakeStore{name: "db"}
	w := again(t, nil, m, db)
	w.waitSynced()
	if err := <-db.resync(iface("a", 1), iface("b", 1)); err != nil {
		t.Fatal(err)
	}
	if err := db.change(iface("b", 2), iface("c", 1)); err != nil {
		t.Fatal(err)
	}
	w.stop()
	w.sb.Put(iface("left", 0).Key, iface("left", 1).Val)
	w.sb.TakeCalls()

	silent := &fakeStore{name: "db"}
	w = again(t, w.sb, m, silent)
	w.waitSynced()
	if calls := changes(w.sb); len(calls) > 0 {
		t.Errorf("the store has not answered, and yet: %q", calls)
	}
	if err := <-silent.resync(iface("a", 1), iface("c", 4)); err != nil {
		t.Fatal(err)
	}
	w.wantMTU("b", -1)
	w.wantMTU("c", 4)
	w.wantMTU("left", -1)
	w.stop()

	for range 2 {
		w = again(t, w.sb, m)
		w.waitSynced()
		w.wantMTU("a", 1)
		w.wantMTU("c", 4)
		if g := w.guardOf("db"); g == nil || g.Deletes != 2 || g.Reason != "it is no longer configured, and neither is any other store; that would delete 2 of 2 items" {
			t.Errorf("guard %+v", g)
		}
		w.stop()
	}
	other := &fakeStore{name: "other"}
	w = again(t, w.sb, m, other)
	if err := <-other.resync(iface("c", 7)); err != nil {
		t.Fatal(err)
	}
	w.waitSynced()
	w.wantMTU("a", -1)
	w.wantMTU("c", 7)
	if m.has("db") {
		t.Error("a store that is no longer configured is remembered")
	}
	w.stop()

	w = again(t, w.sb, m)
	w.waitSynced()
	w.wantMTU("c", 7)
	if n, err := w.AcceptSource(t.Context(), "other", orchestrator.Caller{}); n != 1 || err != nil {
		t.Errorf("accepted %d changes: %v", n, err)
	}
	w.wantMTU("c", -1)
	w.stop()
	w = again(t, w.sb, m)
	w.waitSynced()
	if m.has("other") {
		t.Error("an accepted store is remembered")
	}
}

// A change that was not confirmed when the agent died is taken back by the next
// one, at once if it is too late; until then it can still be confirmed.
func TestConfirmationOutlivesTheAgent(t *testing.T) {
	t.Parallel()
	m := &memory{}
	unconfirmed := func(w *world, mtu uint32) *world {
		w.applyPlan(w.plan(items(iface("a", mtu), iface("new", 1))), orchestrator.ApplyOptions{ConfirmTimeout: time.Hour})
		w.stop()
		return w
	}
	w := again(t, nil, m)
	w.waitSynced()
	w.push(orchestrator.GRPC, iface("a", 1))
	unconfirmed(w, 2)
	w = again(t, w.sb, m)
	w.waitSynced()
	w.wantMTU("a", 2)
	if _, err := w.ApplyPlan(t.Context(), w.plan(items(iface("b", 2))), orchestrator.ApplyOptions{}); !errors.Is(err, orchestrator.ErrUnconfirmed) {
		t.Errorf("a plan while a change waits: %v", err)
	}
	if _, err := w.ConfirmCommit(""); err != nil {
		t.Fatal(err)
	}
	w.stop()
	w = again(t, w.sb, m)
	w.waitSynced()
	if _, err := w.ConfirmCommit(""); !errors.Is(err, orchestrator.ErrNothingToConfirm) {
		t.Errorf("confirmed, and yet waited for: %v", err)
	}
	w.push(orchestrator.GRPC, gone("new"))

	for _, left := range []time.Duration{-time.Minute, 50 * time.Millisecond} {
		unconfirmed(w, 7)
		w.sb.TakeCalls()
		m.expire(t, left)
		w = again(t, w.sb, m)
		w.waitSynced()
		until(t, "it is taken back", func() bool { return w.mtu("a") == 2 && w.mtu("new") == -1 && !m.has("unconfirmed") })
		if left < 0 {
			if calls := changes(w.sb); len(calls) != 2 {
				t.Errorf("overdue: %q, expected one update and one removal", calls)
			}
		}
	}
	w.stop()
	w = again(t, w.sb, m)
	w.waitSynced()
	w.wantMTU("a", 2)
}

// expire moves the deadline of the change that waits.
func (m *memory) expire(t *testing.T, left time.Duration) {
	t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	var kept map[string]any
	if err := json.Unmarshal(m.kept["unconfirmed"], &kept); err != nil {
		t.Fatal(err)
	}
	kept["deadline"] = map[string]any{"wall": time.Now().Add(left), "timeout": time.Hour}
	m.kept["unconfirmed"], _ = json.Marshal(kept)
}

// What cannot be kept does not stop anybody, and is kept by the next change
// that can be.
func TestMemoryThatFails(t *testing.T) {
	t.Parallel()
	m := &memory{}
	w := again(t, nil, m)
	w.waitSynced()
	w.push(orchestrator.GRPC, iface("a", 1))
	m.fail(errors.New("disk full"))
	w.push(orchestrator.GRPC, iface("b", 1))
	w.wantMTU("b", 1)
	if m.has("interfaces/b") {
		t.Fatal("kept, although nothing could be")
	}
	m.fail(nil)
	w.push(orchestrator.GRPC, iface("c", 1))
	for _, name := range []string{"a", "b", "c"} {
		if !m.has("interfaces/" + name) {
			t.Errorf("%s is not kept", name)
		}
	}
	w.stop()
}

// Damaged records are left out; the agent starts.
func TestDamagedMemory(t *testing.T) {
	t.Parallel()
	key := iface("a", 1).Key
	m := &memory{kept: map[string][]byte{
		"item\x00grpc\x00" + key:               []byte("{"),
		"item\x00grpc\x00" + iface("b", 1).Key: []byte(`{"type": "no.such.Type", "value": "AA=="}`),
		"item\x00grpc\x00" + iface("c", 1).Key: []byte(`{"type": "ligato.vpp.interfaces.Interface", "value": "////"}`),
		"item\x00grpc\x00no/model":             []byte(`{"type": "ligato.vpp.interfaces.Interface"}`),
		"item\x00nothing":                      {},
		"store\x00gone":                        {1},
		"unconfirmed":                          []byte(`{"before": [{}]}`),
		"something of a later program":         {},
	}}
	w := again(t, nil, m)
	w.waitSynced()
	if got := w.ListData(""); len(got) > 0 {
		t.Errorf("got %v", got)
	}
}

// With the state-dir of a real scheduler all of it works as well.
func TestStateDir(t *testing.T) {
	t.Parallel()
	sb, dir := kvstest.NewMockSB(), t.TempDir()
	for life := range 2 {
		s := kvscheduler.NewPlugin(kvscheduler.UseOutput(io.Discard), kvscheduler.UseConf(func() kvscheduler.Config {
			c := kvscheduler.DefaultConfig()
			c.StateDir = dir
			return c
		}()))
		w := startWith(t, s, sb, orchestrator.UseDeps(func(d *orchestrator.Deps) { d.State = s }))
		w.waitSynced()
		if life == 0 {
			w.push(orchestrator.GRPC, iface("a", 1))
		} else if calls := changes(sb); len(calls) > 0 {
			t.Errorf("the restart made: %q", calls)
		}
		w.wantMTU("a", 1)
		if st := w.Status(iface("a", 0).Key).Status.GetValue().GetState(); st != api.ValueState(pb.ValueState_CONFIGURED) {
			t.Errorf("a is %v", st)
		}
		w.stop()
		sb.TakeCalls()
	}
}
