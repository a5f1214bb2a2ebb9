package vpptest_test

import (
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/vpp/vpptest"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

func TestLoopback(t *testing.T) {
	vpptest.OnBoth(t, func(t *testing.T, target vpptest.Target) {
		b := vpptest.Start(t, target)
		lo := loop("loop/1", "10.1.1.1/24", "2001:db8::1/64")
		lo.PhysAddress, lo.Mtu = "02:00:00:00:00:01", 1400
		b.Must(of(lo))
		b.Want(states{
			ifKey("loop/1"): configured,
			"vpp/interface/loop/1/address/static/10.1.1.1/24":    configured,
			"vpp/interface/loop/1/address/static/2001:db8::1/64": configured,
			"vpp/interface/loop/1/vrf/0/ip-version/both":         configured,
			"vpp/interface/loop/1/has-IP-address":                configured,
		})
		if got := b.Dump("vpp-interface")[ifKey("loop/1")]; !proto.Equal(got, lo) {
			t.Errorf("read back\n%v\nexpected\n%v", got, lo)
		}
		b.InSync()

		changed := proto.CloneOf(lo)
		changed.Enabled, changed.Mtu, changed.PhysAddress = false, 2000, "02:00:00:00:00:02"
		changed.IpAddresses = []string{"10.1.1.2/24"}
		b.Must(of(changed))
		if got := b.Dump("vpp-interface")[ifKey("loop/1")]; !proto.Equal(got, changed) {
			t.Errorf("after the update read back\n%v\nexpected\n%v", got, changed)
		}
		b.InSync()

		b.Must(deleted(of(lo)))
		if got := b.Dump("vpp-interface"); len(got) != 1 { // local0
			t.Errorf("after the removal read back %v", got)
		}
		b.Want(states{ifKey("loop/1"): gone, ifKey("local0"): obtained})
	})
}

var _ = interfaces.Interface_TAP
