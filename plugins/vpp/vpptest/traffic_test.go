package vpptest_test

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/vpp/vpptest"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
	l3 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l3"
)

// station is a network namespace with one cable to a VPP.
type station struct {
	t    *testing.T
	ns   string
	port string // the other end of the cable, for AF_PACKET
}

// plug makes a namespace with an address on its interface eth0, and reports the
// agent that the other end of the cable is there.
func plug(t *testing.T, b *vpptest.Harness, name, address string) *station {
	t.Helper()
	s := &station{t, fmt.Sprintf("tvt%d-%s", os.Getpid(), name), fmt.Sprintf("tvt%d%s", os.Getpid(), name)}
	if err := exec.Command("ip", "netns", "add", s.ns).Run(); err != nil {
		t.Skipf("NOT CHECKED WITH TRAFFIC: no network namespace could be made: %v", err)
	}
	t.Cleanup(func() {
		_ = exec.Command("ip", "link", "del", s.port).Run() // goes with the namespace, but later
		_ = exec.Command("ip", "netns", "del", s.ns).Run()
	})
	s.ip("link", "add", s.port, "type", "veth", "peer", "name", "eth0", "netns", s.ns)
	s.ip("link", "set", s.port, "arp", "off", "up") // the kernel may have the addresses as well
	s.ip("-n", s.ns, "address", "add", address, "dev", "eth0")
	s.ip("-n", s.ns, "link", "set", "eth0", "up")
	b.SetHostInterface(s.port, true)
	return s
}

func (s *station) ip(args ...string) {
	s.t.Helper()
	if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
		s.t.Fatalf("ip %s: %v: %s", strings.Join(args, " "), err, out)
	}
}

// via sends what is not local to a gateway.
func (s *station) via(gateway string) {
	s.ip("-n", s.ns, "route", "replace", "default", "via", gateway)
}

// af is the interface of VPP at the cable. It has always the same MAC address,
// so that none is forgotten.
func (s *station) af(name string, addresses ...string) *interfaces.Interface {
	i := afPacket(name, s.port)
	i.PhysAddress, i.IpAddresses = fmt.Sprintf("02:00:00:00:01:%02x", s.port[len(s.port)-1]), addresses
	return i
}

// once sends one packet and reports whether it was answered.
func (s *station) once(address string) (answered bool, output string) {
	out, err := exec.Command("ip", "netns", "exec", s.ns, "ping", "-c", "1", "-W", "1", address).CombinedOutput()
	return err == nil, string(out)
}

// reaches waits until an address answers; the first packets may wait for ARP
// and for links to come up.
func (s *station) reaches(address string) {
	s.t.Helper()
	for late := time.Now().Add(2 * time.Minute); ; {
		ok, out := s.once(address)
		if ok {
			return
		}
		if time.Now().After(late) {
			s.t.Fatalf("%s does not answer %s:\n%s", address, s.ns, out)
		}
	}
}

// cutFrom fails the test if an address answers.
func (s *station) cutFrom(address string) {
	s.t.Helper()
	if ok, out := s.once(address); ok {
		s.t.Errorf("%s answers %s:\n%s", address, s.ns, out)
	}
}

// Two stations in a bridge domain, which is all that connects them.
func TestTrafficSwitched(t *testing.T) {
	b := vpptest.Start(t, vpptest.Real(t))
	red, blue := plug(t, b, "r", "192.0.2.1/24"), plug(t, b, "b", "192.0.2.2/24")
	bd := bridge("bd", "red", "blue")
	b.Must(of(red.af("red"), blue.af("blue")))
	red.cutFrom("192.0.2.2")
	b.Must(of(bd))
	red.reaches("192.0.2.2")
	blue.reaches("192.0.2.1")

	// The bridge domain as a host of its own.
	withBVI := proto.CloneOf(bd)
	withBVI.Interfaces = append(withBVI.Interfaces, bridge("", "bvi").Interfaces...)
	withBVI.Interfaces[2].BridgedVirtualInterface = true
	b.Must(of(withBVI, loop("bvi", "192.0.2.9/24")))
	red.reaches("192.0.2.9")

	// Members of a split horizon group do not reach each other, only the BVI.
	split := proto.CloneOf(withBVI)
	split.Interfaces[0].SplitHorizonGroup, split.Interfaces[1].SplitHorizonGroup = 7, 7
	b.Must(of(split))
	red.cutFrom("192.0.2.2")
	red.reaches("192.0.2.9")
	b.Must(deleted(of(bd)))
	red.cutFrom("192.0.2.9")
	b.InSync()
}

// Two stations in networks of their own, VPP is the router between them, in a
// table of its own as well.
func TestTrafficRouted(t *testing.T) {
	b := vpptest.Start(t, vpptest.Real(t))
	red, blue := plug(t, b, "r", "192.0.2.1/24"), plug(t, b, "b", "198.51.100.1/24")
	red.via("192.0.2.254")
	blue.via("198.51.100.254")
	left, right := red.af("red", "192.0.2.254/24"), blue.af("blue", "198.51.100.254/24")
	b.Must(of(left, right))
	red.reaches("198.51.100.1")

	// What is behind the other station needs a route.
	blue.ip("-n", blue.ns, "address", "add", "203.0.113.1/32", "dev", "lo")
	blue.ip("-n", blue.ns, "link", "set", "lo", "up")
	red.cutFrom("203.0.113.1")
	behind := &l3.Route{DstNetwork: "203.0.113.0/24", NextHopAddr: "198.51.100.1", OutgoingInterface: "blue"}
	b.Must(of(behind))
	red.reaches("203.0.113.1")
	b.Must(deleted(of(behind)))
	red.cutFrom("203.0.113.1")

	// One of them in another table: the routers of both know only their own.
	other := proto.CloneOf(right)
	other.Vrf = 7
	b.Must(of(&l3.VrfTable{Id: 7}, other))
	red.cutFrom("198.51.100.1")
	blue.reaches("198.51.100.254")
	b.Must(of(&l3.Route{DstNetwork: "198.51.100.0/24", Type: l3.Route_INTER_VRF, ViaVrfId: 7},
		&l3.Route{VrfId: 7, DstNetwork: "192.0.2.0/24", Type: l3.Route_INTER_VRF, ViaVrfId: 0}))
	red.reaches("198.51.100.1")
	b.InSync()
}
