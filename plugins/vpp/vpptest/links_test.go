package vpptest_test

import (
	"testing"

	"go.fd.io/govpp/binapi/interface_types"
	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin"
	"github.com/tenuto-dev/tenuto/plugins/vpp/vpptest"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

// The state of a link follows events, in this and in later sessions.
func TestLinkState(t *testing.T) {
	vpptest.OnBoth(t, func(t *testing.T, target vpptest.Target) {
		b := vpptest.Start(t, target)
		up, down := "vpp/interface/lo/link-state/UP", "vpp/interface/lo/link-state/DOWN"
		lo := loop("lo")
		disabled := proto.CloneOf(lo)
		disabled.Enabled = false
		follow := func() {
			t.Helper()
			b.Must(of(lo))
			b.Await(up, obtained)
			b.Await(down, gone)
			b.Must(of(disabled))
			b.Await(down, obtained)
			b.Await(up, gone)
			b.Must(of(lo))
			b.Await(up, obtained)
		}
		follow()
		epoch := b.Mux.Session().Epoch
		target.Restart(t)
		b.Connected(epoch)
		b.Await(up, obtained)
		follow()
		b.Must(deleted(of(lo)))
		b.Await(up, gone)
		b.Await(down, gone)
		// The index of the interface is given to another one.
		b.Must(of(loop("other")))
		b.Await("vpp/interface/other/link-state/UP", obtained)
		b.Want(states{up: gone})
	})
}

func TestDefaultMTU(t *testing.T) {
	vpptest.OnBoth(t, func(t *testing.T, target vpptest.Target) {
		b := vpptest.Start(t, target, vpptest.UseIf(func(p *ifplugin.Plugin) {
			conf := ifplugin.DefaultConfig()
			conf.MTU = 1500
			ifplugin.UseConf(conf)(p)
		}))
		own := loop("own")
		own.Mtu = 1300
		b.Must(of(loop("lo"), own))
		got := b.Dump("vpp-interface")
		for name, want := range map[string]uint32{"lo": 1500, "own": 1300} {
			if mtu := got[ifKey(name)].(*interfaces.Interface).GetMtu(); mtu != want {
				t.Errorf("MTU of %s is %d, expected %d", name, mtu, want)
			}
		}
		b.InSync()
		b.Must(of(loop("own"))) // back to the default
		if mtu := b.Dump("vpp-interface")[ifKey("own")].(*interfaces.Interface).GetMtu(); mtu != 1500 {
			t.Errorf("MTU is %d", mtu)
		}
	})
}

// A physical interface is only configured: the value waits for the device,
// marks it, and gives it back. The packet generator of VPP makes the device.
func TestPhysicalInterface(t *testing.T) {
	vpptest.OnBoth(t, physicalInterface)
}

func physicalInterface(t *testing.T, target vpptest.Target) {
	b := vpptest.Start(t, target)
	nic := &interfaces.Interface{
		Name: "pg0", Type: interfaces.Interface_DPDK, Enabled: true, PhysAddress: "02:00:00:00:00:09",
		IpAddresses: []string{"10.1.1.1/24"},
	}
	b.Must(of(nic))
	b.Want(states{ifKey("pg0"): pending})
	b.CLI("create packet-generator interface pg0")
	b.Await(ifKey("pg0"), configured)
	readBack(t, b, "vpp-interface", of(as(b, nic)))
	b.InSync()

	changed := proto.CloneOf(nic)
	changed.PhysAddress, changed.IpAddresses = "02:00:00:00:00:0a", nil
	b.Must(of(changed))
	readBack(t, b, "vpp-interface", of(as(b, changed)))

	b.Must(deleted(of(nic)))
	readBack(t, b, "vpp-interface", nil)
	b.Want(states{"vpp/interface/physical/pg0": obtained})
	for _, d := range b.AllInterfaces() {
		if d.InterfaceName == "pg0" && (d.Tag != "" || d.Flags&interface_types.IF_STATUS_API_FLAG_ADMIN_UP != 0) {
			t.Errorf("the device was not given back: %+v", d)
		}
	}
}
