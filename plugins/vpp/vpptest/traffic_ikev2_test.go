package vpptest_test

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/vpp/vpptest"
	"github.com/tenuto-dev/tenuto/plugins/vpp/vpptest/catalogue"
	ikev2 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/ikev2"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

// ikev2Ends are the profiles of a pair; the left one initiates.
func ikev2Ends(udp bool) (left, right *ikev2.Profile) {
	left, right = catalogue.IKEv2Profile("tunnel"), catalogue.IKEv2Profile("tunnel")
	left.Responder, left.Initiate = &ikev2.Profile_Responder{Interface: "cable", Address: "10.0.0.2"}, true
	right.LocalId, right.RemoteId = left.RemoteId, left.LocalId
	for _, p := range []*ikev2.Profile{left, right} {
		if p.TunnelInterface = "tunnel"; udp {
			p.UdpEncap, p.UdpPort = true, 4501
		}
	}
	return left, right
}

// Stations at two VPPs reach each other through a tunnel whose keys the VPPs agree on. What they
// agreed on survives resyncs and the restart of an agent, and is agreed on again when one VPP has
// lost it.
func TestTrafficIKEv2(t *testing.T) {
	for name, make := range map[string]func(src, dst, address string) *interfaces.Interface{
		"IPIP tunnel": func(src, dst, address string) *interfaces.Interface {
			i := ipip("tunnel", src, dst)
			i.IpAddresses = []string{address}
			return i
		},
		"IPsec interface": func(_, _, address string) *interfaces.Interface {
			i := ipsecInterface("tunnel")
			i.IpAddresses = []string{address}
			return i
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPair(t, vpptest.RepairLost())
			p.left.Await("vpp/interface/cable/link-state/UP", obtained)
			left, right := ikev2Ends(name == "IPsec interface")
			toBlue, toRed := p.route("tunnel", "10.9.0.2", "10.9.0.1")
			onLeft, onRight := of(make("10.0.0.1", "10.0.0.2", "10.9.0.1/30"), left), of(make("10.0.0.2", "10.0.0.1", "10.9.0.2/30"), right)
			p.right.Must(onRight)
			p.right.Must(toRed)
			p.left.Must(onLeft)
			p.left.Must(toBlue)
			p.red.reaches("198.51.100.1")
			protected(t, p.left)
			agreed := p.left.CLI("show ikev2 sa")
			p.left.InSync()
			p.right.InSync()
			if again := p.left.CLI("show ikev2 sa"); again != agreed {
				t.Errorf("after a resync VPP has\n%s\nbefore it had\n%s", again, agreed)
			}

			// The right VPP forgets, and the left agent sees it.
			p.right.Must(deleted(of(right)))
			p.red.cutFrom("198.51.100.1")
			p.right.Must(of(right))
			p.red.reaches("198.51.100.1")

			// The right VPP refuses another secret.
			other := proto.CloneOf(right)
			other.Auth.Secret = "another"
			p.right.Must(deleted(of(right)))
			p.right.Must(of(other))
			p.red.cutFrom("198.51.100.1")
			p.right.Must(of(right))
			p.red.reaches("198.51.100.1")
			protected(t, p.left)
			p.left.InSync()
			p.right.InSync()
		})
	}
}

func protected(t *testing.T, b *vpptest.Harness) {
	t.Helper()
	if shown := b.CLI("show ipsec protect"); !strings.Contains(shown, "sa 2147483648 (0x80000000)") {
		t.Errorf("the tunnel is not protected:\n%s", shown)
	}
}
