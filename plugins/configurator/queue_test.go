package configurator_test

import (
	"context"
	"strings"
	"testing"
	"time"

	rpc "google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator"
	pb "github.com/tenuto-dev/tenuto/proto/ligato/configurator"
	kvspb "github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
)

// While the southbound hangs, so many requests wait as the bound allows; one
// more is refused, and one whose client disconnects has no effect.
func TestQueueFull(t *testing.T) {
	t.Parallel()
	w := start(t, orchestrator.UseConf(orchestrator.Config{InitialSyncTimeout: time.Minute, QueueCapacity: 1}))
	w.SB.Inject(kvstest.Fault{Op: kvspb.TxnOperation_CREATE, Key: key("hangs"), Hang: true})
	t.Cleanup(w.SB.ReleaseAll)
	done := make(chan error, 2)
	update := func(ctx context.Context, name string, opts ...rpc.CallOption) error {
		_, err := w.config.Update(ctx, &pb.UpdateRequest{Update: withInterfaces(iface(name, 1))}, opts...)
		return err
	}
	go func() { done <- update(w.Context(), "hangs") }()
	w.SB.AwaitHang(key("hangs"))

	gone, cancel := context.WithCancel(w.Context())
	late := make(chan error, 1)
	go func() { late <- update(gone, "late") }()
	w.waitingChanges(1)
	cancel()
	if err := <-late; rpcCode(err) != codes.Canceled {
		t.Errorf("got %v", err)
	}
	w.waitingChanges(0) // the server notices as well
	go func() { done <- update(w.Context(), "waits") }()
	w.waitingChanges(1)
	var trailer metadata.MD
	err := update(w.Context(), "refused", rpc.Trailer(&trailer))
	if rpcCode(err) != codes.ResourceExhausted || !strings.Contains(err.Error(), "queue-capacity in orchestrator.conf") {
		t.Errorf("got %v", err)
	}
	if got := trailer.Get("grpc-retry-pushback-ms"); len(got) != 1 || got[0] != "1000" {
		t.Errorf("trailer %v", trailer)
	}
	w.SB.Release(key("hangs"))
	for range 2 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	w.wantMTU("waits", 1)
	w.wantMTU("late", -1)
	w.wantMTU("refused", -1)
}

// A client with many requests at once does not cause requests of another client
// to be rejected: its own latest request is rejected with an error.
func TestFlood(t *testing.T) {
	t.Parallel()
	w := start(t, orchestrator.UseConf(orchestrator.Config{InitialSyncTimeout: time.Minute, QueueCapacity: 3}))
	w.SB.Inject(kvstest.Fault{Op: kvspb.TxnOperation_CREATE, Key: key("hangs"), Hang: true})
	t.Cleanup(w.SB.ReleaseAll)
	flood := make(chan error, 4)
	for i, name := range []string{"hangs", "a", "b", "c"} {
		go func() {
			_, err := w.config.Update(w.Context(), &pb.UpdateRequest{Update: withInterfaces(iface(name, 1))})
			flood <- err
		}()
		if i == 0 {
			w.SB.AwaitHang(key("hangs"))
		}
		w.waitingChanges(i)
	}
	conn, err := rpc.NewClient(w.Conn.Target(), rpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	other := make(chan error, 1)
	go func() {
		_, err := pb.NewConfiguratorServiceClient(conn).Update(w.Context(), &pb.UpdateRequest{Update: withInterfaces(iface("other", 1))})
		other <- err
	}()
	if err := <-flood; rpcCode(err) != codes.ResourceExhausted || !strings.Contains(err.Error(), ", 3 of them from 127.0.0.1:") {
		t.Errorf("got %v", err)
	}
	w.SB.Release(key("hangs"))
	for range 3 {
		if err := <-flood; err != nil {
			t.Error(err)
		}
	}
	if err := <-other; err != nil {
		t.Error(err)
	}
	w.wantMTU("other", 1)
	w.wantMTU("c", -1)
}

func (w *world) waitingChanges(n int) {
	w.t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for w.Orchestrator.Changes().Waiting != n {
		select {
		case <-tick.C:
		case <-w.Context().Done():
			w.t.Fatalf("%d changes do not wait", n)
		}
	}
}
