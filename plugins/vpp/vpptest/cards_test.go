package vpptest_test

import (
	"strings"
	"testing"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim"
	"github.com/tenuto-dev/tenuto/plugins/vpp/vpptest"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

// VPP names the card as the configuration does: the address arrived as it was meant.
func TestVmxnet3Address(t *testing.T) {
	t.Parallel()
	b := vpptest.Start(t, vpptest.Simulator(t, simOptions()))
	for _, name := range []string{"vmxnet3-0/b/0/0", "vmxnet3-ffff/ff/1f/7", "vmxnet3-1/2/3/4"} {
		b.Must(of(vmxnet3(name)))
		if got := tagged(b, name); len(got) != 1 || got[0] != name {
			t.Errorf("VPP calls %s %q", name, got)
		}
		b.Want(states{"vpp/interface/physical/" + name: gone})
	}
	b.InSync()
}

// A VPP with nothing in it on a machine without the cards.
func TestMissingCards(t *testing.T) {
	none := vppsim.Options{
		HostInterface: func(string) bool { return false }, PCIDevice: func(uint32) bool { return false },
	}
	run := func(t *testing.T, target vpptest.Target) {
		b := vpptest.Start(t, target)
		b.SetHostInterface("nosuchif", true)
		for want, i := range map[string]*interfaces.Interface{
			"no VMXNET3 device at 0000:fe:1e.0 that VPP can use": vmxnet3("vmxnet3-0/fe/1e/0"),
			"create RDMA: ": rdma("rdma1", "nosuchif"),
		} {
			if i.Type == interfaces.Interface_RDMA && b.Sim == nil && !strings.Contains(b.CLI("show plugins"), "rdma_plugin.so") {
				t.Log("RDMA NOT CHECKED ON A REAL VPP: this one was built without the plugin rdma")
				continue
			}
			err := b.Commit(of(i))
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("error %v, expected %q", err, want)
			}
			b.Want(states{ifKey(i.Name): failed})
		}
		for _, d := range b.AllInterfaces() {
			if d.Tag != "" {
				t.Errorf("%s was given the tag %q", d.InterfaceName, d.Tag)
			}
		}
	}
	t.Run("simulator", func(t *testing.T) {
		t.Parallel()
		run(t, vpptest.Simulator(t, none))
	})
	t.Run("real", func(t *testing.T) { run(t, vpptest.Real(t)) })
}
