//lint:file-ignore SA1019 the deprecated fields are part of the wire schema, and have to be understood or refused

package vpptest_test

import (
	"fmt"
	"maps"
	"testing"

	"google.golang.org/protobuf/proto"

	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
	l3 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l3"
)

// stallPairs are interfaces of each kind before and after a change that re-creates them.
func stallPairs() map[string][2]*interfaces.Interface {
	pair := func(i *interfaces.Interface, change func(i *interfaces.Interface)) [2]*interfaces.Interface {
		next := proto.CloneOf(i)
		change(next)
		return [2]*interfaces.Interface{i, next}
	}
	return map[string][2]*interfaces.Interface{
		"loopback":     {loop("a"), memif("a", 1, "/run/x.sock")},
		"memif":        pair(memif("a", 1, "/run/x.sock"), func(i *interfaces.Interface) { i.GetMemif().SocketFilename = "/run/y.sock" }),
		"AF_PACKET":    pair(afPacket("a", "eth0"), func(i *interfaces.Interface) { i.GetAfpacket().HostIfName = "eth1" }),
		"TAP":          pair(tap("a"), func(i *interfaces.Interface) { i.GetTap().HostIfName = "other" }),
		"bond":         pair(bond("a", 1), func(i *interfaces.Interface) { i.GetBond().Id = 2 }),
		"VXLAN":        pair(vxlan("a", "192.0.2.1", "192.0.2.2", 1), func(i *interfaces.Interface) { i.GetVxlan().Vni = 2 }),
		"VXLAN-GPE":    pair(vxlanGpe("a", "192.0.2.1", "192.0.2.2", 1), func(i *interfaces.Interface) { i.GetVxlan().Vni = 2 }),
		"GRE":          pair(gre("a", "192.0.2.1", "192.0.2.2", interfaces.GreLink_L3), func(i *interfaces.Interface) { i.GetGre().DstAddr = "192.0.2.3" }),
		"IPIP":         pair(ipip("a", "192.0.2.1", "192.0.2.2"), func(i *interfaces.Interface) { i.GetIpip().DstAddr = "192.0.2.3" }),
		"GTP-U":        pair(gtpu("a", "192.0.2.1", "192.0.2.2", 1), func(i *interfaces.Interface) { i.GetGtpu().Teid = 2 }),
		"IPsec":        pair(ipsecInterface("a"), func(i *interfaces.Interface) { i.GetIpsec().TunnelMode = interfaces.IPSecLink_POINT_TO_MULTIPOINT }),
		"WireGuard":    pair(wireguard("a"), func(i *interfaces.Interface) { i.GetWireguard().Port = 51821 }),
		"RDMA":         pair(rdma("a", "eth0"), func(i *interfaces.Interface) { i.GetRdma().HostIfName = "eth1" }),
		"VMXNET3":      pair(vmxnet3("vmxnet3-0/b/0/0"), func(i *interfaces.Interface) { i.GetVmxNet3().RxqSize = 2048 }),
		"subinterface": pair(subif("a", "lo", 1), func(i *interfaces.Interface) { i.GetSub().SubId = 2 }),
	}
}

// VPP stalls at each message by which an interface is created, re-created and removed,
// and the agent is killed meanwhile. What the messages did, before and after that, is
// found out from what was on record.
func TestKilledAtEachMessage(t *testing.T) {
	t.Parallel()
	for name, pair := range stallPairs() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStalls(t, 1)
			before, after := of(pair[0], loop("lo")), of(pair[1])
			for at := range 18 {
				s.story = append(s.story[:0], fmt.Sprintf("killed at message %d, late %t", at/2+1, at%2 == 1))
				for _, step := range []values{before, after, deleted(after)} {
					s.killAt(hangs{at: map[string]int{"": at/2 + 1}, late: at%2 == 1}, step, after)
				}
			}
		})
	}
}

// killAt makes a change while the simulator stalls and the agent is killed. If the change
// is undone by the next one, the agent is to know at once.
func (s *stalls) killAt(at hangs, change, next values) {
	s.mu.Lock()
	s.kill = s.t.TempDir()
	kill := s.kill
	s.mu.Unlock()
	s.arm(at)
	s.commit(change)
	if s.disarm() {
		maps.Copy(s.wanted, next)
		s.restart(kill)
	}
	s.settle()
}

// A table that was chosen for addresses is given up with them, although nothing that is
// read of an interface without addresses tells of its table. VPP stalls at each message.
func TestStallInTable(t *testing.T) {
	t.Parallel()
	with := func(addrs ...string) values {
		all := of(&l3.VrfTable{Id: 1, Label: "one"})
		for n, name := range []string{"a", "b", "c"} {
			i := loop(name)
			for _, addr := range addrs {
				i.IpAddresses = append(i.IpAddresses, fmt.Sprintf(addr, n))
			}
			i.Vrf = 1
			maps.Copy(all, of(i))
		}
		return all
	}
	for _, restart := range []bool{false, true} {
		t.Run(fmt.Sprintf("restart=%t", restart), func(t *testing.T) {
			t.Parallel()
			s := newStalls(t, 1)
			for at := range 40 {
				s.story = append(s.story[:0], fmt.Sprintf("stall at message %d, late %t", at/2+1, at%2 == 1))
				s.arm(hangs{at: map[string]int{"": at/2 + 1}, late: at%2 == 1})
				s.commit(with("10.0.%d.1/24"))
				switch hung := s.disarm(); {
				case hung && restart:
					maps.Copy(s.wanted, with())
					s.restart("")
				case hung:
					s.commit(with())
					s.resume <- struct{}{}
				}
				s.settle()
				s.commit(deleted(with()))
				s.settle()
			}
		})
	}
}
