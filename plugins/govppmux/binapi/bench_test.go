package binapi

import (
	"context"
	"encoding/binary"
	"net"
	"sync"
	"testing"
	"time"

	"go.fd.io/govpp/adapter/socketclient"
	"go.fd.io/govpp/binapi/ip"
	"go.fd.io/govpp/core"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/realvpptest"
)

// benchServer answers ip_route_add_del as fast as it can.
func benchServer() *server {
	s := newServer(nil)
	id := s.ids[nameCRC(&ip.IPRouteAddDelReply{})]
	frame := frameOf(make([]byte, replyHeader+8))
	binary.BigEndian.PutUint16(frame[frameHeader:], id)
	s.handle = func(r *incoming) {
		if r.name != "ip_route_add_del" {
			return
		}
		binary.BigEndian.PutUint32(frame[frameHeader+2:], r.context)
		_, _ = r.peer.w.Write(frame)
	}
	return s
}

// BenchmarkRoutes compares ways to add routes through one connection. The raw
// way, frames encoded beforehand, is the limit of the socket and the server;
// "of-raw" is the rate in relation to it.
func BenchmarkRoutes(b *testing.B) {
	compareRoutes(b, func(b *testing.B) string { return benchServer().listen(b) })
}

// BenchmarkRoutesRealVPP is the same with a real VPP, which is the limit then.
func BenchmarkRoutesRealVPP(b *testing.B) {
	vpp := realvpptest.Start(b)
	compareRoutes(b, func(*testing.B) string { return vpp.Socket })
}

func compareRoutes(b *testing.B, serve func(*testing.B) (socket string)) {
	var raw float64
	report := func(b *testing.B) {
		rate := float64(b.N) / b.Elapsed().Seconds()
		b.ReportMetric(rate, "req/s")
		if raw > 0 {
			b.ReportMetric(rate/raw, "of-raw")
		}
	}
	b.Run("raw", func(b *testing.B) {
		benchRaw(b, serve(b))
		raw = float64(b.N) / b.Elapsed().Seconds()
		report(b)
	})
	b.Run("send-window", func(b *testing.B) { benchSend(b, serve(b)); report(b) })
	b.Run("invoke-128", func(b *testing.B) { benchInvoke(b, serve(b), 128); report(b) })
	b.Run("invoke-1", func(b *testing.B) { benchInvoke(b, serve(b), 1); report(b) })
	b.Run("govpp-stream-window", func(b *testing.B) { benchGovppStream(b, serve(b)); report(b) })
	b.Run("govpp-invoke-128", func(b *testing.B) { benchGovpp(b, serve(b), 128); report(b) })
	b.Run("govpp-invoke-1", func(b *testing.B) { benchGovpp(b, serve(b), 1); report(b) })
}

func connect(b *testing.B, socket string) *Conn {
	c, err := Dial(context.Background(), Options{Socket: socket})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = c.Close() })
	return c
}

func benchInvoke(b *testing.B, socket string, workers int) {
	c := connect(b, socket)
	ctx := context.Background()
	b.ReportAllocs()
	b.ResetTimer()
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			req, reply := hostRoute(7), &ip.IPRouteAddDelReply{}
			for i := w; i < b.N; i += workers {
				if err := c.Invoke(ctx, req, reply); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	b.StopTimer()
}

func benchSend(b *testing.B, socket string) {
	c := connect(b, socket)
	ctx, req := context.Background(), hostRoute(7)
	const depth = 512
	var futures [depth]Future
	var replies [depth]ip.IPRouteAddDelReply
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N {
		at := i % depth
		if i >= depth {
			if err := futures[at].Result(); err != nil {
				b.Fatal(err)
			}
		}
		futures[at] = c.Send(ctx, req, &replies[at])
	}
	for i := max(0, b.N-depth); i < b.N; i++ {
		if err := futures[i%depth].Result(); err != nil {
			b.Fatal(err)
		}
	}
	b.StopTimer()
}

// benchRaw writes encoded frames in batches and counts the replies.
func benchRaw(b *testing.B, socket string) {
	nc, err := net.Dial("unix", socket)
	if err != nil {
		b.Fatal(err)
	}
	defer nc.Close()
	fr := newFrameReader(nc, 1<<24)
	index, ids, err := handshake(nc, fr, "raw")
	if err != nil {
		b.Fatal(err)
	}
	req := hostRoute(7)
	payload := make([]byte, requestHeader+req.Size())
	binary.BigEndian.PutUint16(payload, ids[nameCRC(req)])
	binary.BigEndian.PutUint32(payload[2:], index)
	if _, err := req.Marshal(payload[requestHeader:]); err != nil {
		b.Fatal(err)
	}
	const batch = 256
	frame := frameOf(payload)
	var frames []byte
	for range batch {
		frames = append(frames, frame...)
	}
	b.ReportAllocs()
	b.ResetTimer()
	written := make(chan error, 1)
	go func() {
		for left := b.N; left > 0; left -= batch {
			if _, err := nc.Write(frames[:min(left, batch)*len(frame)]); err != nil {
				written <- err
				return
			}
		}
		written <- nil
	}()
	for range b.N {
		if _, err := fr.next(); err != nil {
			b.Fatal(err)
		}
	}
	b.StopTimer()
	if err := <-written; err != nil {
		b.Fatal(err)
	}
}

// benchGovpp is the connection of govpp's own core, for comparison.
func benchGovpp(b *testing.B, socket string, workers int) {
	conn, err := core.Connect(socketclient.NewVppClient(socket))
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Disconnect()
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	b.ReportAllocs()
	b.ResetTimer()
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			req, reply := hostRoute(7), &ip.IPRouteAddDelReply{}
			for i := w; i < b.N; i += workers {
				if err := conn.Invoke(ctx, req, reply); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	b.StopTimer()
}

// benchGovppStream keeps a stream of govpp's core full: one goroutine sends, one
// receives. The sizes keep it from dropping replies.
func benchGovppStream(b *testing.B, socket string) {
	conn, err := core.Connect(socketclient.NewVppClient(socket))
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Disconnect()
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	const depth = 512
	stream, err := conn.NewStream(ctx, core.WithRequestSize(2*depth), core.WithReplySize(2*depth))
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = stream.Close() }()
	req, room := hostRoute(7), make(chan struct{}, depth)
	b.ReportAllocs()
	b.ResetTimer()
	// The stream can receive when a first message was sent, not while.
	room <- struct{}{}
	if err := stream.SendMsg(req); err != nil {
		b.Fatal(err)
	}
	sent := make(chan error, 1)
	go func() {
		for range b.N - 1 {
			room <- struct{}{}
			if err := stream.SendMsg(req); err != nil {
				sent <- err
				return
			}
		}
		sent <- nil
	}()
	for range b.N {
		if _, err := stream.RecvMsg(); err != nil {
			b.Fatal(err)
		}
		<-room
	}
	b.StopTimer()
	if err := <-sent; err != nil {
		b.Fatal(err)
	}
}
