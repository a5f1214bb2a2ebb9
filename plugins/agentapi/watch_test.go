package agentapi_test

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"

	rpc "google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/plugins/agentapi"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	pb "github.com/tenuto-dev/tenuto/proto/tenuto/v1"
)

// observed is a scheduler that reports the end of watches with a prefix.
type observed struct {
	agentapi.Scheduler
	prefix string
	ended  chan struct{}
}

type observedWatch struct {
	api.StatusWatch
	ended chan<- struct{}
}

func (o observed) Watch(req api.WatchRequest) api.StatusWatch {
	w := o.Scheduler.Watch(req)
	if req.Prefix == o.prefix {
		return observedWatch{w, o.ended}
	}
	return w
}

func (w observedWatch) Close() {
	w.StatusWatch.Close()
	w.ended <- struct{}{}
}

// events receives the messages of a watch until its end.
func events(stream rpc.ServerStreamingClient[pb.WatchResponse], each func(*pb.WatchResponse)) error {
	for {
		ev, err := stream.Recv()
		if err != nil {
			return err
		}
		each(ev)
	}
}

// A watcher that never reads delays neither transactions nor other watchers. It is disconnected,
// and continues from the last revision that it received.
func TestWatcherThatNeverReads(t *testing.T) {
	t.Parallel()
	ended := make(chan struct{}, 2)
	w := start(t, func(w *world, d *agentapi.Deps) {
		w.GRPC.Cfg = config.Text("grpc", "endpoint: 127.0.0.1:0\nsend-timeout: 1s")
		d.Scheduler = observed{w.Scheduler, key("if"), ended}
	})
	// The windows have fixed sizes: with the default the client would accept more and more.
	conn, err := rpc.NewClient(w.GRPC.Addr().String(), rpc.WithTransportCredentials(insecure.NewCredentials()),
		rpc.WithInitialWindowSize(1<<16), rpc.WithInitialConnWindowSize(1<<20))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	client := pb.NewAgentServiceClient(conn)
	stalled, err := client.Watch(w.Context(), &pb.WatchRequest{KeyPrefix: key("if")})
	if err != nil {
		t.Fatal(err)
	}
	// The other watcher of the same values reads. It is on the same connection.
	ctx, cancel := context.WithCancel(w.Context())
	defer cancel()
	reads, err := client.Watch(ctx, &pb.WatchRequest{KeyPrefix: key("")})
	if err != nil {
		t.Fatal(err)
	}
	last, read := make(chan struct{}), make(chan error, 1)
	go func() {
		read <- events(reads, func(ev *pb.WatchResponse) {
			for _, v := range ev.Values {
				if v.Value.Key == key("last") {
					close(last)
				}
			}
		})
	}()
	changes := 0
	for open := true; open; changes++ {
		change := &pb.Change{Replace: true}
		for i := range 1000 {
			change.Items = append(change.Items, item(t, iface(fmt.Sprintf("if-%d-%d", changes, i), 1500)))
		}
		w.apply(&pb.ApplyRequest{Change: change, Limit: 1})
		select {
		case <-ended:
			open = false
		default:
		}
	}
	w.apply(&pb.ApplyRequest{Change: &pb.Change{Items: []*pb.Item{item(t, iface("last", 1500))}}})
	select {
	case <-last:
	case err := <-read:
		t.Fatalf("the watcher that reads: %v", err)
	case <-w.Context().Done():
		t.Fatal("the watcher that reads does not get the last change")
	}
	cancel()
	if err := <-read; status.Code(err) != codes.Canceled {
		t.Errorf("the watcher that reads: %v", err)
	}
	resumed(w, stalled, changes)
}

// resumed reads what a disconnected watcher received, and the other changes with another watch:
// together they lead to the values that exist.
func resumed(w *world, stalled rpc.ServerStreamingClient[pb.WatchResponse], changes int) {
	w.t.Helper()
	exist, since := map[string]bool{}, ""
	note := func(ev *pb.WatchResponse) {
		if ev.Kind == pb.WatchResponse_RESYNC {
			clear(exist)
		}
		for _, v := range ev.Values {
			if exist[v.Value.Key] = true; v.Value.State.String() == "NONEXISTENT" {
				delete(exist, v.Value.Key)
			}
		}
		if ev.Revision != "" {
			since = ev.Revision
		}
	}
	if err := events(stalled, note); status.Code(err) != codes.ResourceExhausted || !strings.Contains(err.Error(), "did not read the stream for 1s") {
		w.t.Errorf("the watcher that never read: %v", err)
	}
	if since == "" {
		w.t.Fatal("the watcher has received no revision")
	}
	ctx, cancel := context.WithCancel(w.Context())
	defer cancel()
	again, err := w.Watch(ctx, &pb.WatchRequest{KeyPrefix: key("if"), Since: since})
	if err != nil {
		w.t.Fatal(err)
	}
	revision := w.Scheduler.Revision().Number
	err = events(again, func(ev *pb.WatchResponse) {
		note(ev)
		if at, err := api.ParseStatusRevision(since); err != nil {
			w.t.Error(err)
		} else if at.Number >= revision {
			cancel()
		}
	})
	if status.Code(err) != codes.Canceled && err != io.EOF {
		w.t.Errorf("the watch that continues: %v", err)
	}
	for i := range 1000 {
		if k := key(fmt.Sprintf("if-%d-%d", changes-1, i)); !exist[k] {
			w.t.Fatalf("after %d changes %s is missing", changes, k)
		}
	}
	if len(exist) != 1000 {
		w.t.Errorf("%d values exist, expected 1000", len(exist))
	}
}
