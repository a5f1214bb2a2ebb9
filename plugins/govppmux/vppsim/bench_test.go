package vppsim_test

import (
	"bufio"
	"encoding/binary"
	"io"
	"net/netip"
	"testing"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim"
	"go.fd.io/govpp/binapi/fib_types"
	interfaces "go.fd.io/govpp/binapi/interface"
	"go.fd.io/govpp/binapi/ip"
	"go.fd.io/govpp/binapi/ip_types"
	"go.fd.io/govpp/binapi/memclnt"
)

// BenchmarkRoutes adds routes over one connection as fast as it goes; the requests
// are encoded beforehand.
func BenchmarkRoutes(b *testing.B) {
	_, socket := startSimulator(b, vppsim.Options{})
	c := dial(b, socket)
	loop := call[interfaces.CreateLoopbackReply](c, &interfaces.CreateLoopback{}).SwIfIndex
	const distinct = 1 << 17
	requests := make([][]byte, distinct)
	for i := range requests {
		addr := [4]byte{20, byte(i >> 16), byte(i >> 8), byte(i)}
		payload := c.encode(&ip.IPRouteAddDel{IsAdd: true, IsMultipath: true, Route: ip.IPRoute{
			Prefix: ip_types.Prefix{Address: ip_types.Address{Un: ip_types.AddressUnionIP4(addr)}, Len: 32},
			NPaths: 1, Paths: []fib_types.FibPath{{
				SwIfIndex: uint32(loop), Weight: 1,
				Nh: fib_types.FibPathNh{Address: ip_types.AddressUnionIP4(netip.MustParseAddr("10.0.0.9").As4())},
			}},
		}}, uint32(i+1))
		requests[i] = make([]byte, 16, 16+len(payload))
		binary.BigEndian.PutUint32(requests[i][8:], uint32(len(payload)))
		requests[i] = append(requests[i], payload...)
	}
	b.ReportAllocs()
	b.ResetTimer()
	done := make(chan error, 1)
	go func() {
		_, err := io.CopyN(io.Discard, c.in, int64(b.N)*(16+14))
		done <- err
	}()
	out := bufio.NewWriterSize(c.conn, 64<<10)
	for i := range b.N {
		if _, err := out.Write(requests[i%distinct]); err != nil {
			b.Fatal(err)
		}
	}
	if err := out.Flush(); err != nil {
		b.Fatal(err)
	}
	if err := <-done; err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "routes/s")
}

// BenchmarkPing is the protocol alone: one request at a time.
func BenchmarkPing(b *testing.B) {
	_, socket := startSimulator(b, vppsim.Options{})
	c := dial(b, socket)
	for b.Loop() {
		c.send(&memclnt.ControlPing{})
		if _, _, err := c.receive(); err != nil {
			b.Fatal(err)
		}
	}
}
