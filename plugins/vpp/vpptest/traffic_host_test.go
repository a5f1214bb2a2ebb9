package vpptest_test

import (
	"bytes"
	"encoding/binary"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/tenuto-dev/tenuto/plugins/vpp/puntplugin"

	"golang.org/x/sys/unix"

	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/vpptest"
	ipfix "github.com/tenuto-dev/tenuto/proto/ligato/vpp/ipfix"
	punt "github.com/tenuto-dev/tenuto/proto/ligato/vpp/punt"
)

// inside opens a connection in the network namespace of a station. It is closed at the end
// of the test.
func inside[C net.PacketConn](s *station, open func() (C, error)) C {
	s.t.Helper()
	type opened struct {
		conn C
		err  error
	}
	done := make(chan opened)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		ns, err := os.Open("/run/netns/" + s.ns)
		if err != nil {
			done <- opened{err: err}
			return
		}
		defer ns.Close()
		if err := unix.Setns(int(ns.Fd()), unix.CLONE_NEWNET); err != nil {
			done <- opened{err: err}
			return
		}
		conn, err := open()
		done <- opened{conn, err}
	}()
	got := <-done
	if got.err != nil {
		s.t.Fatal(got.err)
	}
	s.t.Cleanup(func() { _ = got.conn.Close() })
	return got.conn
}

// udp opens a port of a station. Packets have no checksums, which the kernel would leave to
// the cable.
func (s *station) udp(address string) *net.UDPConn {
	s.t.Helper()
	conn := inside(s, func() (*net.UDPConn, error) {
		addr, err := net.ResolveUDPAddr("udp4", address)
		if err != nil {
			return nil, err
		}
		return net.ListenUDP("udp4", addr)
	})
	raw, err := conn.SyscallConn()
	if err != nil {
		s.t.Fatal(err)
	}
	if err := raw.Control(func(fd uintptr) {
		_ = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_NO_CHECK, 1)
	}); err != nil {
		s.t.Fatal(err)
	}
	return conn
}

// arrives sends until a packet that is expected arrives, and returns it: the first ones may
// wait for ARP and for links to come up.
func arrives(t *testing.T, at net.PacketConn, send func(), expected func(packet []byte) bool) []byte {
	t.Helper()
	buffer := make([]byte, 2048)
	for late := time.Now().Add(2 * time.Minute); time.Now().Before(late); {
		send()
		if err := at.SetReadDeadline(time.Now().Add(time.Second)); err != nil {
			t.Fatal(err)
		}
		for {
			n, _, err := at.ReadFrom(buffer)
			if err != nil {
				break // the deadline
			}
			if expected(buffer[:n]) {
				return buffer[:n]
			}
		}
	}
	t.Fatal("nothing arrives")
	return nil
}

// A program gets the packets to a port on its socket, and sends packets through VPP's.
func TestTrafficPuntToHost(t *testing.T) {
	b := vpptest.Start(t, vpptest.Real(t))
	red := plug(t, b, "r", "192.0.2.1/24")
	b.Must(of(red.af("red", "192.0.2.254/24")))
	path := filepath.Join(t.TempDir(), "p.sock")
	program, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Net: "unixgram", Name: path})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = program.Close() })
	host := &punt.ToHost{L3Protocol: punt.L3Protocol_IPV4, L4Protocol: punt.L4Protocol_UDP, Port: 1234, SocketPath: path}
	b.Must(of(host))
	client, ask := red.udp("192.0.2.1:0"), []byte("is anybody there")
	got := arrives(t, program, func() {
		_, _ = client.WriteTo(ask, &net.UDPAddr{IP: net.IPv4(192, 0, 2, 254), Port: 1234}) // seen at the program
	}, func(p []byte) bool { return bytes.HasSuffix(p, ask) })

	// Behind 8 bytes of VPP's and the Ethernet header is the packet. Turned around it goes back:
	// action 1 is to route an IPv4 packet.
	const skip = 8 + 14
	if len(got) != skip+20+8+len(ask) {
		t.Fatalf("%d bytes: %x", len(got), got)
	}
	answer := append(binary.NativeEndian.AppendUint32(make([]byte, 4, len(got)), 1), got[skip:]...)
	swap(answer[8+12:8+16], answer[8+16:8+20])
	swap(answer[8+20:8+22], answer[8+22:8+24])
	all, err := b.Scheduler.DumpValuesByDescriptor(puntplugin.ToHostName, kvs.SBView)
	if err != nil || len(all) != 1 {
		t.Fatalf("%v, %v", all, err)
	}
	vpp := &net.UnixAddr{Net: "unixgram", Name: all[0].Metadata.(*puntplugin.Socket).Path}
	arrives(t, client, func() {
		if _, err := program.WriteTo(answer, vpp); err != nil {
			t.Fatal(err)
		}
	}, func(p []byte) bool { return bytes.Equal(p, ask) })
	b.InSync()
}

func swap(a, b []byte) {
	for i := range a {
		a[i], b[i] = b[i], a[i]
	}
}

// Packets for VPP itself of a protocol that it does not have go to another station.
func TestTrafficIPRedirect(t *testing.T) {
	b := vpptest.Start(t, vpptest.Real(t))
	red, blue := plug(t, b, "r", "192.0.2.1/24"), plug(t, b, "b", "198.51.100.1/24")
	b.Must(of(red.af("red", "192.0.2.254/24"), blue.af("blue", "198.51.100.254/24")))
	blue.ip("-n", blue.ns, "link", "set", "lo", "up")
	blue.ip("-n", blue.ns, "address", "add", "192.0.2.254/32", "dev", "lo")
	blue.via("198.51.100.254")
	b.Must(of(&punt.IPRedirect{L3Protocol: punt.L3Protocol_IPV4, RxInterface: "red", TxInterface: "blue", NextHop: "198.51.100.1"}))
	ip := func(s *station, addr net.IP) *net.IPConn {
		return inside(s, func() (*net.IPConn, error) { return net.ListenIP("ip4:253", &net.IPAddr{IP: addr}) })
	}
	vpp := net.IPv4(192, 0, 2, 254)
	client, server, text := ip(red, net.IPv4(192, 0, 2, 1)), ip(blue, vpp), []byte("for VPP itself")
	arrives(t, server, func() {
		_, _ = client.WriteTo(text, &net.IPAddr{IP: vpp}) // seen at the server
	}, func(p []byte) bool { return bytes.Equal(p, text) })
	b.InSync()
}

// A collector gets the records of measured flows, also after the parameters changed meanwhile.
func TestTrafficIPFIX(t *testing.T) {
	b := vpptest.Start(t, vpptest.Real(t))
	red := plug(t, b, "r", "192.0.2.1/24")
	collector := red.udp("192.0.2.1:4739")
	params := &ipfix.FlowProbeParams{ActiveTimer: 1, PassiveTimer: 10, RecordL3: true}
	b.Must(of(
		red.af("red", "192.0.2.254/24"), params, &ipfix.FlowProbeFeature{Interface: "red", Ip4: true},
		&ipfix.IPFIX{Collector: &ipfix.IPFIX_Collector{Address: "192.0.2.1"}, SourceAddress: "192.0.2.254", TemplateInterval: 1},
	))
	ping := func() { red.reaches("192.0.2.254") }
	set := func(p []byte) uint16 { // the ID of the first one in a message of version 10
		if len(p) < 24 || binary.BigEndian.Uint16(p) != 10 {
			return 0
		}
		return binary.BigEndian.Uint16(p[16:])
	}
	const templates, firstData = 2, 256
	records := func(p []byte) bool { return set(p) >= firstData }
	arrives(t, collector, ping, records)
	params = &ipfix.FlowProbeParams{ActiveTimer: 2, PassiveTimer: 20, RecordL3: true, RecordL4: true}
	b.Must(of(params))
	const withPorts = 13 // fields of a record; 10 without what layer 4 has
	arrives(t, collector, ping, func(p []byte) bool { return set(p) == templates && binary.BigEndian.Uint16(p[22:]) == withPorts })
	arrives(t, collector, ping, records)
	b.InSync()
}
