package orchestrator_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/infra/datasync"
	"github.com/tenuto-dev/tenuto/infra/kv"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator"
	ifmodel "github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/model"
	l3model "github.com/tenuto-dev/tenuto/plugins/vpp/l3plugin/model"
	pb "github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
	l3 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l3"
)

// The value of the highest source is in effect, regardless of the order,
// and the next one shows when it goes.
func TestPriority(t *testing.T) {
	t.Parallel()
	low, high := &fakeStore{name: "low"}, &fakeStore{name: "high"}
	w := start(t, nil, orchestrator.UseWatchers(datasync.KVProtoWatchers{low}, high), orchestrator.UseConf(unguarded()))
	lowDone, highDone := low.resync(iface("a", 1), iface("b", 1)), high.resync(iface("a", 2))
	if err := errors.Join(<-lowDone, <-highDone); err != nil {
		t.Fatal(err)
	}
	w.waitSynced()
	w.wantMTU("a", 2)
	w.wantMTU("b", 1)

	w.push(orchestrator.LocalClient, iface("a", 4))
	results := w.push(orchestrator.GRPC, iface("a", 3), iface("c", 3))
	if results[0].Source != orchestrator.LocalClient || results[1].Source != orchestrator.GRPC {
		t.Errorf("sources in effect %q, %q", results[0].Source, results[1].Source)
	}
	if err := errors.Join(low.change(iface("a", 11)), high.change(iface("a", 22))); err != nil {
		t.Fatal(err)
	}
	w.wantMTU("a", 4)
	w.push(orchestrator.LocalClient, gone("a"))
	w.wantMTU("a", 3)
	w.push(orchestrator.GRPC, gone("a"))
	w.wantMTU("a", 22)
	if err := high.change(gone("a")); err != nil {
		t.Fatal(err)
	}
	w.wantMTU("a", 11)

	// A resync of one source leaves the others alone.
	if _, err := w.PushData(t.Context(), orchestrator.GRPC, []orchestrator.KeyVal{iface("d", 3)}, orchestrator.WithResync()); err != nil {
		t.Fatal(err)
	}
	w.wantMTU("a", 11)
	w.wantMTU("c", -1)
	w.wantMTU("d", 3)
	if err := <-low.resync(); err != nil {
		t.Fatal(err)
	}
	w.wantMTU("a", -1)
	w.wantMTU("b", -1)
	w.wantMTU("d", 3)

	var names []string
	for _, s := range w.Sources() {
		names = append(names, s.Name)
	}
	if got := strings.Join(names, " "); got != "low high grpc localclient" {
		t.Errorf("sources %s", got)
	}
}

func TestPriorityFromConfiguration(t *testing.T) {
	t.Parallel()
	w := start(t, nil, orchestrator.UseConf(orchestrator.Config{
		InitialSyncTimeout: time.Second, SourcePriority: []string{"localclient", "custom"},
	}))
	w.push("custom", iface("a", 1))
	w.push(orchestrator.LocalClient, iface("a", 2))
	w.push(orchestrator.GRPC, iface("a", 3))
	w.wantMTU("a", 1)
	w.push("custom", gone("a"))
	w.wantMTU("a", 2)
}

// What the slowest source wants is not removed by the others' coming first, and
// the whole start is one transaction.
func TestInitialSynchronisationIsOne(t *testing.T) {
	t.Parallel()
	sb := kvstest.NewMockSB()
	for _, kv := range []orchestrator.KeyVal{iface("fast", 1), iface("slow", 1), iface("client", 1), iface("nobody", 1)} {
		sb.Put(kv.Key, kv.Val)
	}
	fast, slow := &fakeStore{name: "fast"}, &fakeStore{name: "slow"}
	w := start(t, sb, orchestrator.UseWatchers(fast, slow))
	fastDone := fast.resync(iface("fast", 1))
	client := make(chan error)
	go func() {
		_, err := w.PushData(t.Context(), orchestrator.LocalClient, []orchestrator.KeyVal{iface("client", 1)})
		client <- err
	}()
	until(t, "the client waits", func() bool { return w.Changes().Sources[orchestrator.LocalClient] == 1 })
	slowDone := slow.resync(iface("slow", 1))
	if err := errors.Join(<-fastDone, <-slowDone, <-client); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(sb.TakeCalls(), "; "); strings.Contains(got, "create") || strings.Count(got, "delete") != 1 ||
		!strings.Contains(got, "delete config/vpp/v2/interfaces/nobody") {
		t.Errorf("operations: %s", got)
	}
	if n := len(w.scheduler.GetTransactionHistory(time.Time{}, time.Time{})); n != 1 {
		t.Errorf("%d transactions, want 1", n)
	}
}

func TestSourceThatIsLate(t *testing.T) {
	t.Parallel()
	late := &fakeStore{name: "late"}
	w := start(t, nil, orchestrator.UseWatchers(late),
		orchestrator.UseConf(orchestrator.Config{InitialSyncTimeout: time.Millisecond}))
	w.waitSynced()
	w.push(orchestrator.LocalClient, iface("a", 1))
	if err := <-late.resync(iface("b", 1)); err != nil {
		t.Fatal(err)
	}
	w.wantMTU("a", 1)
	w.wantMTU("b", 1)
}

// Items of a store that cannot be are left out and told; the others are applied.
func TestRejectedItemsOfStores(t *testing.T) {
	t.Parallel()
	s := &fakeStore{name: "store"}
	w := start(t, nil, orchestrator.UseWatchers(s))
	wrong := iface("a", 7)
	wrong.Key, wrong.Location = iface("c", 1).Key, kv.At("f.yaml").Line(7)
	unknown := orchestrator.KeyVal{Key: "config/unknown/x", Val: &interfaces.Interface{}}
	other := orchestrator.KeyVal{Key: l3model.RouteModel.KeyFor("x"), Val: &interfaces.Interface{}}
	if err := <-s.resync(iface("a", 1), wrong, unknown, other); err != nil {
		t.Fatal(err)
	}
	w.wantMTU("a", 1)
	got := w.Sources()[0].Rejected
	want := "config/unknown/x: no model has such keys|decode the value: not decodable|" +
		"f.yaml:7: key config/vpp/v2/interfaces/c: its value has the key config/vpp/v2/interfaces/a, for which key config/vpp/v2/interfaces/a has another value"
	if len(got) != 3 {
		t.Errorf("rejected %q", got)
	}
	for _, part := range strings.Split(want, "|") {
		if !strings.Contains(strings.Join(got, "\n"), part) {
			t.Errorf("rejected %q, want also %q", got, part)
		}
	}
	if err := s.change(iface("c", 1)); err != nil {
		t.Fatal(err)
	}
	if got := w.Sources()[0].Rejected; len(got) != 2 {
		t.Errorf("after the item is right, rejected %q", got)
	}
}

func TestPushInvalid(t *testing.T) {
	t.Parallel()
	w := start(t, nil)
	w.waitSynced()
	wrong := iface("b", 1)
	wrong.Key = "config/vpp/v2/interfaces/"
	results, err := w.PushData(t.Context(), orchestrator.LocalClient, []orchestrator.KeyVal{iface("a", 1), iface("a", 2), wrong})
	if !errors.Is(err, orchestrator.ErrInvalidItems) || results[0].Err != nil || results[1].Err == nil || results[2].Err == nil {
		t.Errorf("results %v, error %v", results, err)
	}
	w.wantMTU("a", -1)
}

// A change that is undone leaves the sources as they were.
func TestRevert(t *testing.T) {
	t.Parallel()
	w := start(t, nil)
	w.push(orchestrator.LocalClient, iface("a", 1), iface("b", 1))
	w.sb.Inject(kvstest.Fault{Op: pb.TxnOperation_CREATE, Key: iface("c", 1).Key})
	results, err := w.PushData(t.Context(), orchestrator.LocalClient,
		[]orchestrator.KeyVal{iface("a", 2), gone("b"), iface("c", 2)}, orchestrator.WithRevert())
	var txn *api.TransactionError
	if !errors.As(err, &txn) || !txn.Reverted() || results[2].Err == nil {
		t.Fatalf("results %v, error %v", results, err)
	}
	w.wantMTU("a", 1)
	w.wantMTU("b", 1)
	if got := w.ListData(""); len(got) != 2 || got[0].Val.(*interfaces.Interface).Mtu != 1 {
		t.Errorf("store after the revert: %v", got)
	}
	if _, err := w.PushData(t.Context(), orchestrator.LocalClient, nil, orchestrator.WithRevert(), orchestrator.WithResync()); err == nil {
		t.Error("a resync that can be reverted was accepted")
	}
}

// A value that failed is tried again when it is put again, and when a source
// that shadows another is put again, nothing happens.
func TestPutAgain(t *testing.T) {
	t.Parallel()
	w := start(t, nil)
	w.sb.Inject(kvstest.Fault{Op: pb.TxnOperation_CREATE, Key: iface("a", 1).Key, Err: api.Permanent(errors.New("no")), Times: 1})
	results, err := w.PushData(t.Context(), orchestrator.LocalClient, []orchestrator.KeyVal{iface("a", 1)})
	if err == nil || results[0].Status.GetValue().GetState() != pb.ValueState_FAILED {
		t.Fatalf("results %v, error %v", results, err)
	}
	if s := w.Sources()[0]; s.LastError == "" {
		t.Errorf("status %+v without the error", s)
	}
	results = w.push(orchestrator.LocalClient, iface("a", 1))
	if results[0].Status.GetValue().GetState() != pb.ValueState_CONFIGURED {
		t.Errorf("put again: %v", results[0].Status)
	}
	before := len(w.scheduler.GetTransactionHistory(time.Time{}, time.Time{}))
	w.push("custom", iface("a", 5))
	if after := len(w.scheduler.GetTransactionHistory(time.Time{}, time.Time{})); after != before {
		t.Errorf("a value without effect made %d transactions", after-before)
	}
}

// Values wait for each other and for descriptors, whatever source they are from.
func TestStates(t *testing.T) {
	t.Parallel()
	w := start(t, nil)
	route := &l3.Route{DstNetwork: "10.0.0.0/8", OutgoingInterface: "a"}
	arp := &l3.ARPEntry{Interface: "a", IpAddress: "10.0.0.1"}
	results := w.push(orchestrator.GRPC,
		orchestrator.KeyVal{Key: l3model.RouteModel.Key(route), Val: route},
		orchestrator.KeyVal{Key: l3model.ARPModel.Key(arp), Val: arp})
	if a, b := results[0].Status.Value.State, results[1].Status.Value.State; a != pb.ValueState_PENDING || b != pb.ValueState_UNIMPLEMENTED {
		t.Errorf("states %v, %v", a, b)
	}
	w.push(orchestrator.LocalClient, iface("a", 1))
	if st := w.Status(l3model.RouteModel.Key(route)); st.Status.Value.State != pb.ValueState_CONFIGURED || st.Source != orchestrator.GRPC {
		t.Errorf("route is %v from %s", st.Status, st.Source)
	}
	results, err := w.PushData(t.Context(), orchestrator.GRPC, []orchestrator.KeyVal{iface("b", 9001)})
	if err == nil || results[0].Status.Value.State != pb.ValueState_INVALID || !errors.Is(results[0].Err, errMTU) {
		t.Errorf("invalid value: %v, %v", results, err)
	}
}

func TestWithdraw(t *testing.T) {
	t.Parallel()
	w := start(t, nil)
	w.push(orchestrator.LocalClient, iface("a", 1))
	if err := w.Withdraw(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.wantMTU("a", -1)
	if _, err := w.PushData(t.Context(), orchestrator.LocalClient, []orchestrator.KeyVal{iface("a", 1)}); !errors.Is(err, orchestrator.ErrWithdrawn) {
		t.Errorf("a change afterwards: %v", err)
	}
}

func TestConfig(t *testing.T) {
	t.Parallel()
	if err := config.Lint(orchestrator.DefaultConfig()); err != nil {
		t.Error(err)
	}
	bad := orchestrator.Config{GuardDeletes: "101%", SourcePriority: []string{"a", "", "a"}}
	if err := bad.Validate(); err == nil || strings.Count(err.Error(), "expected") != 5 {
		t.Errorf("validate: %v", err)
	}
	if ifmodel.InterfaceModel.KeyFor("x") != iface("x", 0).Key {
		t.Error("keys of the tests are wrong")
	}
}
