package vpptest_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenuto-dev/tenuto/plugins/vpp/vpptest"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
	l3 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l3"
)

// pair is two real VPPs, each with an agent and a station, and a memif between
// them:
//
//	red 192.0.2.1 -- left 10.0.0.1 -- memif -- 10.0.0.2 right -- blue 198.51.100.1
type pair struct {
	left, right *vpptest.Harness
	red, blue   *station
}

func newPair(t *testing.T, opts ...vpptest.Option) *pair {
	t.Helper()
	p := &pair{left: vpptest.Start(t, vpptest.Real(t), opts...), right: vpptest.Start(t, vpptest.Real(t), opts...)}
	p.red, p.blue = plug(t, p.left, "r", "192.0.2.1/24"), plug(t, p.right, "b", "198.51.100.1/24")
	p.red.via("192.0.2.254")
	p.blue.via("198.51.100.254")
	socket := filepath.Join(t.TempDir(), "memif.sock")
	p.left.Must(of(p.red.af("red", "192.0.2.254/24"), cable("cable", 1, socket, true, "10.0.0.1/30")))
	p.right.Must(of(p.blue.af("blue", "198.51.100.254/24"), cable("cable", 1, socket, false, "10.0.0.2/30")))
	return p
}

// cable is one end of a memif.
func cable(name string, id uint32, socket string, master bool, addresses ...string) *interfaces.Interface {
	i := memif(name, id, socket)
	i.GetMemif().Master, i.IpAddresses = master, addresses
	i.PhysAddress = fmt.Sprintf("02:00:00:00:00:%02x", id)
	if master {
		i.PhysAddress = fmt.Sprintf("02:00:00:00:80:%02x", id)
	}
	return i
}

// route makes each VPP send what is for the station of the other one to a next
// hop through an interface.
func (p *pair) route(iface, leftHop, rightHop string) (left, right values) {
	return of(&l3.Route{DstNetwork: "198.51.100.0/24", NextHopAddr: leftHop, OutgoingInterface: iface}),
		of(&l3.Route{DstNetwork: "192.0.2.0/24", NextHopAddr: rightHop, OutgoingInterface: iface})
}

// Stations at two VPPs reach each other through a memif, and when one VPP has
// died and return with nothing.
func TestTrafficMemif(t *testing.T) {
	p := newPair(t)
	p.red.cutFrom("198.51.100.1")
	toBlue, toRed := p.route("cable", "10.0.0.2", "10.0.0.1")
	p.left.Must(toBlue)
	p.right.Must(toRed)
	p.red.reaches("198.51.100.1")
	p.left.Await("vpp/interface/cable/link-state/UP", obtained)

	epoch := p.right.Mux.Session().Epoch
	p.right.Restart(t)
	p.right.Connected(epoch)
	allConfigured(t, p.right, toRed)
	p.red.reaches("198.51.100.1")
	p.blue.reaches("192.0.2.1")
	p.left.InSync()
	p.right.InSync()
}

// Stations at two VPPs in a bridge domain each, joined by one VLAN of the memif,
// while the VPPs route to each other on another.
func TestTrafficVLAN(t *testing.T) {
	p := newPair(t)
	p.blue.ip("-n", p.blue.ns, "address", "add", "192.0.2.2/24", "dev", "eth0")
	vlan := func(id uint32, rewrite interfaces.SubInterface_TagRewriteOptions, addresses ...string) *interfaces.Interface {
		i := subif(fmt.Sprintf("cable.%d", id), "cable", id)
		i.GetSub().TagRwOption, i.IpAddresses = rewrite, addresses
		return i
	}
	const pop = interfaces.SubInterface_POP1
	p.left.Must(of(p.red.af("red"), vlan(100, pop), bridge("bd", "red", "cable.100"), vlan(200, 0, "10.7.0.1/30")))
	p.right.Must(of(p.blue.af("blue"), vlan(100, pop), bridge("bd", "blue", "cable.100"), vlan(200, 0, "10.7.0.2/30")))
	p.red.reaches("192.0.2.2")
	p.blue.reaches("192.0.2.1")
	if out := p.left.CLI("ping 10.7.0.2 repeat 5 interval 0.2"); !strings.Contains(out, "bytes from 10.7.0.2") {
		t.Errorf("the VPPs do not reach each other on VLAN 200:\n%s", out)
	}

	// A station without VLANs cannot use frames that keep their tag, and frames
	// of another VLAN do not arrive.
	p.right.Must(of(vlan(100, interfaces.SubInterface_DISABLED)))
	p.red.cutFrom("192.0.2.2")
	p.right.Must(deleted(of(vlan(100, pop))))
	p.right.Must(of(vlan(101, pop), bridge("bd", "blue", "cable.101")))
	p.red.cutFrom("192.0.2.2")
	p.left.Must(of(vlan(101, pop), bridge("bd", "red", "cable.101")))
	p.red.reaches("192.0.2.2")
	p.left.InSync()
	p.right.InSync()
}

// The same through tunnels over the memif.
func TestTrafficTunnels(t *testing.T) {
	p := newPair(t)
	p.left.Await("vpp/interface/cable/link-state/UP", obtained)
	for name, make := range map[string]func(src, dst string) *interfaces.Interface{
		"gre":  func(src, dst string) *interfaces.Interface { return gre("tunnel", src, dst, interfaces.GreLink_L3) },
		"ipip": func(src, dst string) *interfaces.Interface { return ipip("tunnel", src, dst) },
	} {
		t.Run(name, func(t *testing.T) {
			left, right := make("10.0.0.1", "10.0.0.2"), make("10.0.0.2", "10.0.0.1")
			left.IpAddresses, right.IpAddresses = []string{"10.9.0.1/30"}, []string{"10.9.0.2/30"}
			p.red.cutFrom("198.51.100.1")
			toBlue, toRed := p.route("tunnel", "10.9.0.2", "10.9.0.1")
			p.left.Must(of(left))
			p.right.Must(of(right))
			p.left.Must(toBlue)
			p.right.Must(toRed)
			p.red.reaches("198.51.100.1")
			p.blue.reaches("192.0.2.1")
			p.left.InSync()
			p.right.InSync()
			p.left.Must(deleted(of(left)))
			p.left.Must(deleted(toBlue))
			p.right.Must(deleted(of(right)))
			p.right.Must(deleted(toRed))
		})
	}
}

// Stations at two VPPs in one bridge domain that a VXLAN tunnel joins.
func TestTrafficVXLAN(t *testing.T) {
	p := newPair(t)
	p.blue.ip("-n", p.blue.ns, "address", "add", "192.0.2.2/24", "dev", "eth0")
	p.left.Must(of(p.red.af("red"), bridge("bd", "red", "vx")))
	p.right.Must(of(p.blue.af("blue"), bridge("bd", "blue", "vx")))
	p.red.cutFrom("192.0.2.2")
	p.left.Must(of(vxlan("vx", "10.0.0.1", "10.0.0.2", 42)))
	p.right.Must(of(vxlan("vx", "10.0.0.2", "10.0.0.1", 42)))
	p.red.reaches("192.0.2.2")
	p.blue.reaches("192.0.2.1")
	p.left.InSync()

	// Another network identifier is another network.
	p.right.Must(of(vxlan("vx", "10.0.0.2", "10.0.0.1", 43)))
	p.red.cutFrom("192.0.2.2")
	p.left.Must(of(vxlan("vx", "10.0.0.1", "10.0.0.2", 43)))
	p.red.reaches("192.0.2.2")
	p.right.InSync()
}

// Two memifs bonded; one is enough.
func TestTrafficBond(t *testing.T) {
	p := newPair(t)
	socket := filepath.Join(t.TempDir(), "bond.sock")
	ends := func(b *vpptest.Harness, master bool, address string) {
		both := bond("bond", 1, "one", "two")
		both.GetBond().Mode = interfaces.BondLink_ACTIVE_BACKUP
		both.GetBond().Lb = interfaces.BondLink_L2
		both.IpAddresses = []string{address}
		b.Must(of(both, cable("one", 11, socket, master), cable("two", 12, socket, master)))
	}
	ends(p.left, true, "10.8.0.1/30")
	ends(p.right, false, "10.8.0.2/30")
	toBlue, toRed := p.route("bond", "10.8.0.2", "10.8.0.1")
	p.left.Must(toBlue)
	p.right.Must(toRed)
	p.red.reaches("198.51.100.1")
	for _, side := range []*vpptest.Harness{p.left, p.right} {
		side.Must(deleted(of(cable("one", 11, socket, true))))
	}
	p.red.reaches("198.51.100.1")
}
