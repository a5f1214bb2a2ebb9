package vpptest_test

import (
	"context"
	"encoding/binary"
	"net"
	"syscall"
	"testing"

	"github.com/vishvananda/netlink"
	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/infra/infratest"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin"
	"github.com/tenuto-dev/tenuto/plugins/vpp/vpptest"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

// Places in a DHCP message, and the options and types that a lease needs.
const (
	dhcpYourAddress = 16
	dhcpCookie      = 236
	dhcpOptions     = 240
	dhcpReply       = 2

	optSubnetMask, optRouter, optLease, optType, optServer, optEnd = 1, 3, 51, 53, 54, 255

	dhcpDiscover, dhcpOffer, dhcpRequest, dhcpAck = 1, 2, 3, 5
)

// serveDHCP gives 192.0.2.7/24 with the router 192.0.2.1 to every client on an
// interface of the kernel, until the test ends.
func serveDHCP(t *testing.T, iface string) {
	t.Helper()
	link, err := netlink.LinkByName(iface)
	if err != nil {
		t.Fatal(err)
	}
	addr, err := netlink.ParseAddr("192.0.2.1/24")
	if err == nil {
		err = netlink.AddrAdd(link, addr)
	}
	if err != nil {
		t.Fatal(err)
	}
	config := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error {
		var failed error
		err := c.Control(func(fd uintptr) {
			if failed = syscall.SetsockoptString(int(fd), syscall.SOL_SOCKET, syscall.SO_BINDTODEVICE, iface); failed == nil {
				failed = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_BROADCAST, 1)
			}
		})
		if err == nil {
			err = failed
		}
		return err
	}}
	conn, err := config.ListenPacket(context.Background(), "udp4", ":67")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	t.Cleanup(func() {
		_ = conn.Close()
		<-done
	})
	go func() {
		defer close(done)
		buf := make([]byte, 1500)
		for {
			n, _, err := conn.ReadFrom(buf)
			if err != nil {
				return
			}
			if answer := dhcpAnswer(buf[:n]); answer != nil {
				_, _ = conn.WriteTo(answer, &net.UDPAddr{IP: net.IPv4bcast, Port: 68})
			}
		}
	}()
}

// dhcpAnswer offers to a DISCOVER and grants to a REQUEST.
func dhcpAnswer(ask []byte) []byte {
	kind := byte(0)
	for at := dhcpOptions; at+2 < len(ask) && ask[at] != optEnd; {
		if ask[at] == 0 { // padding
			at++
			continue
		}
		if ask[at] == optType {
			kind = ask[at+2]
		}
		at += 2 + int(ask[at+1])
	}
	answer := map[byte]byte{dhcpDiscover: dhcpOffer, dhcpRequest: dhcpAck}[kind]
	if answer == 0 {
		return nil
	}
	out := append([]byte(nil), ask[:dhcpOptions]...)
	out[0] = dhcpReply
	copy(out[dhcpYourAddress:], []byte{192, 0, 2, 7})
	binary.BigEndian.PutUint32(out[dhcpCookie:], 0x63825363)
	out = append(out, optType, 1, answer, optServer, 4, 192, 0, 2, 1, optSubnetMask, 4, 255, 255, 255, 0,
		optRouter, 4, 192, 0, 2, 1, optLease, 4, 0, 0, 14, 16, optEnd)
	return append(out, make([]byte, max(0, 300-len(out)))...)
}

// A real VPP obtains a real lease.
func TestDHCPLeaseOfServer(t *testing.T) {
	target := vpptest.Real(t)
	host, peer := veth(t)
	serveDHCP(t, peer)
	b := vpptest.Start(t, target, vpptest.UseIf(func(p *ifplugin.Plugin) { p.Host = kernel{} }))
	b.SetHostInterface(host, true)
	i := afPacket("af", host)
	i.SetDhcpClient, i.PhysAddress = true, "02:00:00:00:00:07"
	b.Must(of(i))
	lease, address := "vpp/interface/dhcp-lease/af", "vpp/interface/af/address/from_dhcp/192.0.2.7/24"
	b.Await(lease, obtained)
	b.Want(states{address: configured})
	want := &interfaces.DHCPLease{
		InterfaceName: "af", HostName: "af", HostPhysAddress: "02:00:00:00:00:07",
		HostIpAddress: "192.0.2.7/24", RouterIpAddress: "192.0.2.1/24",
	}
	infratest.EqualMessages(t, "lease", b.Dump("vpp-dhcp-lease")[lease], want)
	readBack(t, b, "vpp-interface", of(as(b, i)))
	b.InSync()
	without := proto.CloneOf(i)
	without.SetDhcpClient = false
	b.Must(of(without))
	b.Await(lease, gone)
	b.InSync()
}
