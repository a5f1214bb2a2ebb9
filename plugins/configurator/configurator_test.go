package configurator_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	rpc "google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"

	"github.com/tenuto-dev/tenuto/infra/infratest"
	"github.com/tenuto-dev/tenuto/plugins/configurator"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator"
	pb "github.com/tenuto-dev/tenuto/proto/ligato/configurator"
	kvspb "github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
	"github.com/tenuto-dev/tenuto/proto/ligato/vpp"
	l3 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l3"
)

func TestUpdateGetDelete(t *testing.T) {
	t.Parallel()
	w := start(t)
	var header metadata.MD
	w.update(&pb.UpdateRequest{Update: withInterfaces(iface("a", 1), iface("b", 2))}, rpc.Header(&header))
	w.wantMTU("a", 1)
	if got := header.Get(configurator.SeqNumHeader); len(got) != 1 || got[0] == "" {
		t.Errorf("header %v: no sequence number", header)
	} else if txns := w.Scheduler.GetTransactionHistory(zero, zero); !strings.HasPrefix(txns[len(txns)-1].Description, "Update from 127.0.0.1:") {
		t.Errorf("the transaction is described as %q", txns[len(txns)-1].Description)
	}
	w.update(&pb.UpdateRequest{Update: withInterfaces(iface("a", 3))})
	w.wantMTU("a", 3)
	w.wantMTU("b", 2)
	infratest.EqualMessages(t, "configuration", w.get(), withInterfaces(iface("a", 3), iface("b", 2)))
	if got := w.Orchestrator.ListData(orchestrator.GRPC); len(got) != 2 {
		t.Errorf("the source grpc has %v", got)
	}
	w.update(&pb.UpdateRequest{Update: withInterfaces(iface("c", 4)), FullResync: true})
	infratest.EqualMessages(t, "after the replacement", w.get(), withInterfaces(iface("c", 4)))
	w.wantMTU("a", -1)
	if _, err := w.config.Delete(w.Context(), &pb.DeleteRequest{Delete: withInterfaces(iface("c", 0), iface("never", 0))}); err != nil {
		t.Error(err)
	}
	w.wantMTU("c", -1)
	infratest.EqualMessages(t, "after the removal", w.get(), &pb.Config{})
}

func (w *world) get() *pb.Config {
	w.t.Helper()
	resp, err := w.config.Get(w.Context(), &pb.GetRequest{})
	if err != nil {
		w.t.Fatal(err)
	}
	return resp.Config
}

// A request with an item that is wrong changes nothing, and says where it is.
func TestInvalidItems(t *testing.T) {
	t.Parallel()
	w := start(t)
	_, err := w.config.Update(w.Context(), &pb.UpdateRequest{Update: withInterfaces(iface("a", 1), iface("b", 9001), iface("a", 2))})
	results := wantError(t, err, codes.InvalidArgument, "nothing was changed; update.vpp_config.interfaces[2]: the same item as update.vpp_config.interfaces[0]; "+
		"update.vpp_config.interfaces[1]: mtu: the largest is 9000")
	if len(results) != 2 || results[1].Key != key("b") || results[1].Status.Status != "INVALID" {
		t.Errorf("details %v", results)
	}
	_, err = w.config.Update(w.Context(), &pb.UpdateRequest{Update: withInterfaces(iface("", 1))})
	wantError(t, err, codes.InvalidArgument, "nothing was changed; update.vpp_config.interfaces[0]: the item has no name; "+
		"expected the fields that make up its key config/vpp/v2/interfaces/<name>")
	_, err = w.config.Delete(w.Context(), &pb.DeleteRequest{Delete: withInterfaces(iface("a", 0), iface("", 1))})
	wantError(t, err, codes.InvalidArgument, "nothing was changed; delete.vpp_config.interfaces[1]: the item has no name; "+
		"expected the fields that make up its key config/vpp/v2/interfaces/<name>")
	if got := w.SB.Keys(); len(got) > 0 {
		t.Errorf("the southbound has %v", got)
	}
	many := withInterfaces()
	for range 1000 {
		many.VppConfig.Interfaces = append(many.VppConfig.Interfaces, iface(strings.Repeat("x", 300), 9001))
	}
	_, err = w.config.Update(w.Context(), &pb.UpdateRequest{Update: many})
	if text := err.Error(); !strings.HasSuffix(text, "; and 995 more") || len(text) > 4<<10 {
		t.Errorf("of many problems it says %d bytes: %s", len(text), text)
	}
}

// Errors name the failed keys, and the rest takes effect.
func TestFailures(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.SB.Inject(kvstest.Fault{Op: kvspb.TxnOperation_CREATE, Key: key("b"), Times: 1, Err: errors.New("no room")})
	_, err := w.config.Update(w.Context(), &pb.UpdateRequest{Update: withInterfaces(iface("a", 1), iface("b", 2))})
	results := wantError(t, err, codes.FailedPrecondition, "KeyErrors: ["+key("b")+" (CREATE): no room]")
	if len(results) != 1 || results[0].Key != key("b") || results[0].Status.Status != kvspb.ValueState_RETRYING.String() {
		t.Errorf("details %v", results)
	}
	w.wantMTU("a", 1)
}

func TestRevert(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.SB.Inject(kvstest.Fault{Op: kvspb.TxnOperation_CREATE, Key: key("b"), Times: 1, Err: errors.New("no room")})
	ctx := metadata.AppendToOutgoingContext(w.Context(), configurator.RevertMetadata, "true", configurator.DescriptionMetadata, "a, b")
	_, err := w.config.Update(ctx, &pb.UpdateRequest{Update: withInterfaces(iface("a", 1), iface("b", 2)), WaitDone: true})
	wantError(t, err, codes.FailedPrecondition, "KeyErrors: ["+key("b")+" (CREATE): no room]; everything was reverted")
	w.wantMTU("a", -1)
	w.SB.Inject(kvstest.Fault{Op: kvspb.TxnOperation_CREATE, Key: key("b"), Times: 1, Err: errors.New("no room")})
	w.SB.Inject(kvstest.Fault{Op: kvspb.TxnOperation_DELETE, Key: key("a"), Times: 1, Err: errors.New("in use")})
	_, err = w.config.Update(ctx, &pb.UpdateRequest{Update: withInterfaces(iface("a", 1), iface("b", 2))})
	wantError(t, err, codes.FailedPrecondition, "KeyErrors: ["+key("a")+" (DELETE): in use, "+key("b")+" (CREATE): no room]; everything was reverted but for 1")
	txns := w.Scheduler.GetTransactionHistory(zero, zero)
	if got := txns[len(txns)-1].Description; got != "a, b" {
		t.Errorf("the transaction is described as %q", got)
	}
	_, err = w.config.Update(ctx, &pb.UpdateRequest{Update: withInterfaces(iface("a", 1)), FullResync: true})
	wantError(t, err, codes.InvalidArgument, "resync cannot be reverted")
	ctx = metadata.AppendToOutgoingContext(w.Context(), configurator.RevertMetadata, "perhaps")
	_, err = w.config.Update(ctx, &pb.UpdateRequest{Update: withInterfaces(iface("a", 1))})
	wantError(t, err, codes.InvalidArgument, `metadata tenuto-revert: "perhaps": expected true or false`)
}

func TestWaitDone(t *testing.T) {
	t.Parallel()
	w := start(t)
	routes := &pb.Config{VppConfig: &vpp.ConfigData{Routes: []*l3.Route{route("10.0.0.0/8", "late")}}}
	routeKey := "config/vpp/v2/route/if/late/vrf/0/dst/10.0.0.0/8/"
	w.update(&pb.UpdateRequest{Update: routes}) // without waiting it is applied and pending

	ctx, cancel := context.WithCancel(w.Context())
	done := make(chan error, 1)
	go func() {
		_, err := w.config.Update(ctx, &pb.UpdateRequest{Update: routes, WaitDone: true})
		done <- err
	}()
	w.update(&pb.UpdateRequest{Update: withInterfaces(iface("late", 1)), WaitDone: true})
	if err := <-done; err != nil {
		t.Error(err)
	}
	if w.SB.Get(routeKey) == nil {
		t.Errorf("the southbound has %v", w.SB.Keys())
	}
	cancel()

	// A refusal ends the wait at once, and the scheduler retries it.
	w.SB.Inject(kvstest.Fault{Op: kvspb.TxnOperation_CREATE, Key: key("b"), Times: 1, Err: errors.New("no room")})
	_, err := w.config.Update(w.Context(), &pb.UpdateRequest{Update: withInterfaces(iface("b", 2)), WaitDone: true})
	wantError(t, err, codes.FailedPrecondition, "KeyErrors: ["+key("b")+" (CREATE): no room]")
	w.update(&pb.UpdateRequest{Update: withInterfaces(iface("b", 2)), WaitDone: true})
	w.wantMTU("b", 2)

	// So does an item that cannot be configured.
	nobody := &pb.Config{VppConfig: &vpp.ConfigData{Vrfs: []*l3.VrfTable{{Id: 7}}}}
	_, err = w.config.Update(w.Context(), &pb.UpdateRequest{Update: nobody, WaitDone: true})
	results := wantError(t, err, codes.FailedPrecondition, "accepted, but 1 value is UNIMPLEMENTED: config/vpp/v2/vrf-table/id/7/protocol/IPV4: no plugin of this agent handles it")
	if len(results) != 1 || results[0].Status.Status != "UNIMPLEMENTED" {
		t.Errorf("details %v", results)
	}
	short, stop := context.WithTimeout(w.Context(), 1)
	defer stop()
	_, err = w.config.Update(short, &pb.UpdateRequest{Update: routes, WaitDone: true})
	if rpcCode(err) != codes.DeadlineExceeded {
		t.Errorf("got %v", err)
	}
	if _, err := w.config.Delete(w.Context(), &pb.DeleteRequest{Delete: withInterfaces(iface("b", 0)), WaitDone: true}); err != nil {
		t.Error(err)
	}
	w.wantMTU("b", -1)
}

// Clients may be several sources; another one's value keeps an item alive.
func TestSources(t *testing.T) {
	t.Parallel()
	w := start(t)
	other := metadata.AppendToOutgoingContext(w.Context(), configurator.SourceMetadata, "controller")
	if _, err := w.config.Update(other, &pb.UpdateRequest{Update: withInterfaces(iface("a", 1))}); err != nil {
		t.Fatal(err)
	}
	w.update(&pb.UpdateRequest{Update: withInterfaces(iface("a", 2))})
	w.wantMTU("a", 2) // grpc has the higher priority
	if _, err := w.config.Delete(w.Context(), &pb.DeleteRequest{Delete: withInterfaces(iface("a", 0)), WaitDone: true}); err != nil {
		t.Fatal(err)
	}
	w.wantMTU("a", 1)
	for _, bad := range []string{"localclient", "", "a/b", strings.Repeat("x", 65)} {
		ctx := metadata.AppendToOutgoingContext(w.Context(), configurator.SourceMetadata, bad)
		_, err := w.config.Update(ctx, &pb.UpdateRequest{Update: withInterfaces(iface("a", 3))})
		if rpcCode(err) != codes.InvalidArgument || !strings.Contains(err.Error(), "metadata datasrc") {
			t.Errorf("%q: got %v", bad, err)
		}
	}
	w.wantMTU("a", 1)
}

func TestDump(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.update(&pb.UpdateRequest{Update: withInterfaces(iface("a", 1))})
	w.SB.Put(key("foreign"), iface("foreign", 7))
	dump, err := w.config.Dump(w.Context(), &pb.DumpRequest{})
	if err != nil {
		t.Fatal(err)
	}
	infratest.EqualMessages(t, "dump", dump.Dump, withInterfaces(iface("a", 1), iface("foreign", 7)))
	w.Scheduler.SouthboundDown("mock", errors.New("unplugged"))
	w.Scheduler.TransactionBarrier()
	_, err = w.config.Dump(w.Context(), &pb.DumpRequest{})
	if rpcCode(err) != codes.Unavailable || !strings.Contains(err.Error(), `vpp.interfaces: southbound "mock" is disconnected`) {
		t.Errorf("got %v", err)
	}
}
