package etcd_test

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/tenuto-dev/tenuto/infra/health"
	"github.com/tenuto-dev/tenuto/infra/infratest"
	"github.com/tenuto-dev/tenuto/infra/kv/etcd"
	"github.com/tenuto-dev/tenuto/infra/kv/kvtest"
)

// grpcProxy is a proxy that ends the connections of its clients, so it responds to their pings
// itself.
type grpcProxy struct {
	pb.KVServer // only Range is called
	pb.WatchServer
	kv      pb.KVClient
	watches pb.WatchClient

	watched  atomic.Int32  // number of watches so far
	old      atomic.Bool   // the server ignores progress requests, as before etcd 3.4
	progress chan struct{} // there was a response to a progress request; buffered

	mu   sync.Mutex
	dead chan struct{} // closed when the present watches are dropped
}

// startGRPCProxy starts a proxy in front of an etcd, and returns its address.
func startGRPCProxy(t *testing.T, server *kvtest.Process) (*grpcProxy, string) {
	t.Helper()
	conn, err := grpc.NewClient(server.Direct, grpc.WithTransportCredentials(insecure.NewCredentials()))
	infratest.Fatal(t, err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	infratest.Fatal(t, err)
	p := &grpcProxy{kv: pb.NewKVClient(conn), watches: pb.NewWatchClient(conn), dead: make(chan struct{}), progress: make(chan struct{}, 1)}
	s := grpc.NewServer()
	pb.RegisterKVServer(s, p)
	pb.RegisterWatchServer(s, p)
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(l) }()
	t.Cleanup(func() {
		s.Stop()
		infratest.Fatal(t, <-ended)
		_ = conn.Close()
	})
	return p, l.Addr().String()
}

func (p *grpcProxy) Range(ctx context.Context, req *pb.RangeRequest) (*pb.RangeResponse, error) {
	return p.kv.Range(ctx, req)
}

// drop lets the present watches be silent for ever. New ones work.
func (p *grpcProxy) drop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	close(p.dead)
	p.dead = make(chan struct{})
}

func (p *grpcProxy) Watch(client pb.Watch_WatchServer) error {
	p.watched.Add(1)
	p.mu.Lock()
	dead := p.dead
	p.mu.Unlock()
	ctx, cancel := context.WithCancel(client.Context())
	defer cancel()
	server, err := p.watches.Watch(ctx)
	if err != nil {
		return err
	}
	go func() {
		for {
			req, err := client.Recv()
			if err != nil {
				cancel()
				return
			}
			if req.GetProgressRequest() == nil || !p.old.Load() {
				_ = server.Send(req)
			}
		}
	}()
	for {
		resp, err := server.Recv()
		if err != nil {
			return err
		}
		select {
		case <-dead: // keeps the stream open
		default:
			if err := client.Send(resp); err != nil {
				return err
			}
			if resp.WatchId < 0 {
				select {
				case p.progress <- struct{}{}:
				default:
				}
			}
		}
	}
}

// A watch on which the server sends nothing is noticed although the connection works, and
// continues where it was.
func TestSilentWatch(t *testing.T) {
	t.Parallel()
	server := kvtest.Etcd(t)
	proxy, addr := startGRPCProxy(t, server)
	cfg := conf(addr)
	cfg.WatchTimeout = 200 * time.Millisecond
	tree := health.NewTree(nil)
	p := etcd.NewPlugin(etcd.UseConf(cfg), etcd.UseDeps(func(d *etcd.Deps) { d.Health = tree.Plugin("etcd") }))
	kvtest.Start(t, p)
	updates := follow(t, p)
	want(t, updates, "resync")
	other := direct(t, server)
	put(t, other, "a=1")
	want(t, updates, "a=1")
	<-proxy.progress
	for _, value := range []string{"b=1", "c=1"} {
		proxy.drop()
		put(t, other, value)
		want(t, updates, value)
	}
	kvtest.AwaitHealth(t, tree, health.OK, "")
}

// A server that does not respond to progress requests is followed.
func TestServerWithoutProgress(t *testing.T) {
	t.Parallel()
	server := kvtest.Etcd(t)
	proxy, addr := startGRPCProxy(t, server)
	proxy.old.Store(true)
	cfg := conf(addr)
	cfg.WatchTimeout = 100 * time.Millisecond
	p, _ := connect(t, cfg)
	updates := follow(t, p)
	want(t, updates, "resync")
	other := direct(t, server)
	put(t, other, "a=1")
	want(t, updates, "a=1")
	before := proxy.watched.Load()
	<-time.After(5 * cfg.WatchTimeout)
	put(t, other, "a=2")
	want(t, updates, "a=2")
	if n := proxy.watched.Load(); n != before {
		t.Errorf("%d watches instead of %d", n, before)
	}
}
