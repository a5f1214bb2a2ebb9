package vpptest_test

import (
	"bytes"
	"net"
	"net/netip"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/tenuto-dev/tenuto/plugins/vpp/srplugin"

	"github.com/tenuto-dev/tenuto/plugins/vpp/vpptest"
	l3 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l3"
	srv6 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/srv6"
)

// The segments of the packets of the dynamic proxy: one in VPP, and the one after it, which is
// the address of the sender.
const (
	proxySegment = "2001:db8:100::1"
	lastSegment  = "2001:db8:1::1"
)

// What a segment routing header can carry.
const (
	carriesIPv4     = 4
	carriesIPv6     = 41
	carriesEthernet = 143
)

// payload is at the end of packets.
const payload = "to blue."

// segmentRoutingHeader is what a source node sends to proxySegment with a packet of a protocol.
func segmentRoutingHeader(protocol byte) []byte {
	h := []byte{protocol, 2 * 16 / 8, 4, 1, 1, 0, 0, 7} // type 4, one segment left of two, with a tag
	for _, segment := range []string{lastSegment, proxySegment} {
		h = append(h, netip.MustParseAddr(segment).AsSlice()...)
	}
	return h
}

// service makes a station forward packets, as a service that knows nothing of segments does.
func (s *station) service() {
	s.t.Helper()
	for _, setting := range []string{"net.ipv4.ip_forward=1", "net.ipv4.conf.all.rp_filter=0", "net.ipv4.conf.eth0.rp_filter=0", "net.ipv6.conf.all.forwarding=1"} {
		if out, err := exec.Command("ip", "netns", "exec", s.ns, "sysctl", "-w", setting).CombinedOutput(); err != nil {
			s.t.Fatalf("%v: %s", err, out)
		}
	}
}

// address6 gives a station an IPv6 address at once, without looking for duplicates.
func (s *station) address6(address string) {
	s.t.Helper()
	s.ip("-n", s.ns, "address", "add", address, "dev", "eth0", "nodad")
}

// mac returns the MAC address of a station.
func (s *station) mac() string {
	s.t.Helper()
	out, err := exec.Command("ip", "netns", "exec", s.ns, "cat", "/sys/class/net/eth0/address").Output()
	if err != nil {
		s.t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

func dynamicProxy(out, in, address string) *srv6.LocalSID {
	return &srv6.LocalSID{Sid: proxySegment, EndFunction: &srv6.LocalSID_EndFunctionAd{EndFunctionAd: &srv6.LocalSID_EndAD{
		OutgoingInterface: out, IncomingInterface: in, L3ServiceAddress: address,
	}}}
}

// The dynamic proxy takes packets out of their SRv6 packets, passes them through a service, and
// puts them back: they arrive with the same header and one segment less to go.
func TestTrafficSRv6DynamicProxy(t *testing.T) {
	b := vpptest.Start(t, vpptest.Real(t))
	red, blue, green := plug(t, b, "r", "192.0.2.1/24"), plug(t, b, "b", "198.51.100.1/24"), plug(t, b, "g", "203.0.113.1/24")
	red.address6(lastSegment + "/64")
	blue.address6("2001:db8:2::1/64")
	blue.via("198.51.100.254")
	blue.ip("-n", blue.ns, "-6", "route", "add", "default", "via", "2001:db8:2::254")
	blue.service()
	ports := of(red.af("red", "192.0.2.254/24", "2001:db8:1::254/64"), blue.af("blue", "198.51.100.254/24", "2001:db8:2::254/64"), green.af("green"))
	b.Must(ports)
	red.ip("-n", red.ns, "-6", "route", "add", "2001:db8:100::/64", "via", "2001:db8:1::254")
	routing := inside(red, func() (*net.IPConn, error) {
		return net.ListenIP("ip6:43", &net.IPAddr{IP: net.ParseIP(lastSegment)})
	})

	const ip4TTL, ip6HopLimit = 8, 7 // their places in packets
	passes := func(proxy *srv6.LocalSID, protocol byte, packet []byte, counted int) {
		t.Helper()
		b.Must(of(proxy))
		header := segmentRoutingHeader(protocol)
		back := arrives(t, routing, func() {
			_, _ = routing.WriteTo(slices.Concat(header, packet), &net.IPAddr{IP: net.ParseIP(proxySegment)}) // seen when it is back
		}, func(p []byte) bool { return p[0] == protocol && bytes.HasSuffix(p, []byte(payload)) })
		checkProxied(t, back, header, packet, counted)
		b.InSync()
	}
	ip4, ip6 := ip4Packet("203.0.113.1", "203.0.113.2"), ip6Packet("2001:db8:3::1", "2001:db8:3::2")
	passes(dynamicProxy("blue", "blue", "198.51.100.1"), carriesIPv4, ip4, ip4TTL)

	// All IPv6 packets of a service go to the next segment, also those that look for neighbors.
	neighbor := &l3.ARPEntry{Interface: "blue", IpAddress: "2001:db8:2::1", PhysAddress: blue.mac(), Static: true}
	b.Must(of(neighbor))
	blue.ip("-n", blue.ns, "neighbor", "replace", "2001:db8:2::254", "lladdr", blue.af("blue").PhysAddress, "dev", "eth0")
	passes(dynamicProxy("blue", "blue", "2001:db8:2::1"), carriesIPv6, ip6, ip6HopLimit)

	// A service on layer 2: blue is a bridge to the cable that green had.
	green.ip("-n", green.ns, "link", "set", "eth0", "netns", blue.ns, "name", "eth1")
	for _, args := range [][]string{
		{"link", "add", "bridge", "type", "bridge"}, {"link", "set", "bridge", "up"},
		{"link", "set", "eth0", "master", "bridge"}, {"link", "set", "eth1", "master", "bridge"}, {"link", "set", "eth1", "up"},
	} {
		blue.ip(append([]string{"-n", blue.ns}, args...)...)
	}
	frame := slices.Concat([]byte{2, 0, 0, 0, 9, 2, 2, 0, 0, 0, 9, 1, 8, 0}, ip4)
	passes(dynamicProxy("blue", "green", ""), carriesEthernet, frame, notCounted)
	b.Must(deleted(ports)) // the segment waits
	b.Want(states{srplugin.LocalSIDModel.Key(dynamicProxy("", "", "")): pending})
	b.InSync()
}

// notCounted stands for packets that do not pass routers.
const notCounted = -1

// checkProxied checks a packet that is back from a proxy; counted is the place of what routers count
// down.
func checkProxied(t *testing.T, back, header, packet []byte, counted int) {
	t.Helper()
	const left = 3 // the place of the number of segments that are left
	expected := slices.Clone(header)
	expected[left]--
	if !bytes.HasPrefix(back, expected) {
		t.Fatalf("the routing header is %x, expected %x", back[:min(len(back), len(header))], expected)
	}
	inner := slices.Clone(back[len(header):])
	if counted != notCounted {
		if len(inner) != len(packet) || inner[counted] >= packet[counted] {
			t.Fatalf("the packet is %x, expected %x with less time to live", inner, packet)
		}
		inner[counted] = packet[counted]
		if inner[0]>>4 == 4 {
			copy(inner[10:12], packet[10:12]) // the checksum
		}
	}
	if !bytes.Equal(inner, packet) {
		t.Fatalf("the packet is %x, expected %x", inner, packet)
	}
}

func ip4Packet(src, dst string) []byte {
	p := []byte{0x45, 0, 0, 28, 0, 1, 0, 0, 64, 253, 0, 0}
	p = append(append(p, netip.MustParseAddr(src).AsSlice()...), netip.MustParseAddr(dst).AsSlice()...)
	sum := uint32(0)
	for i := 0; i < len(p); i += 2 {
		sum += uint32(p[i])<<8 | uint32(p[i+1])
	}
	sum = ^(sum&0xffff + sum>>16)
	p[10], p[11] = byte(sum>>8), byte(sum)
	return append(p, payload...)
}

func ip6Packet(src, dst string) []byte {
	const noNextHeader = 59
	p := []byte{0x60, 0, 0, 0, 0, 8, noNextHeader, 64}
	p = append(append(p, netip.MustParseAddr(src).AsSlice()...), netip.MustParseAddr(dst).AsSlice()...)
	return append(p, payload...)
}
