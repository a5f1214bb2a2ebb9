package vpptest_test

import (
	"strings"
	"testing"

	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/interface_types"
	rdmaapi "go.fd.io/govpp/binapi/rdma"
	vmxnet3api "go.fd.io/govpp/binapi/vmxnet3"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim"
	"github.com/tenuto-dev/tenuto/plugins/vpp/vpptest"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

func vmxnet3(name string) *interfaces.Interface {
	return &interfaces.Interface{
		Name: name, Type: interfaces.Interface_VMXNET3_INTERFACE, Enabled: true,
		Link: &interfaces.Interface_VmxNet3{VmxNet3: &interfaces.VmxNet3Link{}},
	}
}

func rdma(name, host string) *interfaces.Interface {
	return &interfaces.Interface{
		Name: name, Type: interfaces.Interface_RDMA, Enabled: true,
		Link: &interfaces.Interface_Rdma{Rdma: &interfaces.RDMALink{HostIfName: host}},
	}
}

func TestVmxnet3(t *testing.T) {
	kind{
		make: func() *interfaces.Interface {
			i := vmxnet3("vmxnet3-0/b/1f/7")
			i.PhysAddress, i.IpAddresses, i.GetVmxNet3().EnableElog = "02:00:00:00:00:07", []string{"10.1.1.1/24"}, true
			return i
		},
		relink: func(i *interfaces.Interface) { i.GetVmxNet3().RxqSize = 2048 },
		byHand: func(idx uint32, _ *interfaces.Interface) (api.Message, api.Message) {
			return &vmxnet3api.Vmxnet3Delete{SwIfIndex: interface_types.InterfaceIndex(idx)}, &vmxnet3api.Vmxnet3DeleteReply{}
		},
	}.run(t)
}

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

func TestRdma(t *testing.T) {
	t.Parallel()
	b := vpptest.Start(t, vpptest.Simulator(t, simOptions()))
	i := rdma("rdma1", "mlx0")
	i.GetRdma().Mode = interfaces.RDMALink_DV
	b.Must(of(i))
	b.Want(states{ifKey("rdma1"): pending})
	b.SetHostInterface("mlx0", true)
	b.Want(states{ifKey("rdma1"): configured, "vpp/interface/physical/mlx0": gone})
	b.InSync()
	if got := readOne(b, "rdma1").GetRdma(); got.GetHostIfName() != "mlx0" || got.GetRxqSize() != 1024 {
		t.Errorf("read back %v", got)
	}
	err := b.Mux.Conn().Call(t.Context(), &rdmaapi.RdmaDelete{
		SwIfIndex: interface_types.InterfaceIndex(indexOf(b, "rdma1")),
	}, &rdmaapi.RdmaDeleteReply{})
	if err != nil {
		t.Fatal(err)
	}
	b.Resync()
	b.Want(states{ifKey("rdma1"): configured})
	b.SetHostInterface("mlx0", false)
	b.Want(states{ifKey("rdma1"): pending})
	if names := tagged(b, "rdma1"); len(names) > 0 {
		t.Errorf("VPP still has %q", names)
	}
}

func TestInvalidCards(t *testing.T) {
	t.Parallel()
	b := vpptest.Start(t, vpptest.Simulator(t, simOptions()))
	type change = func(*interfaces.Interface)
	wantInvalid(t, b, vmxnet3("vmxnet3-0/b/0/0"), map[string]change{
		"vmx_net3.rxq_size: 100, expected a multiple of 64":                      func(i *interfaces.Interface) { i.GetVmxNet3().RxqSize = 100 },
		"vmx_net3.txq_size: 8192":                                                func(i *interfaces.Interface) { i.GetVmxNet3().TxqSize = 8192 },
		`name: "eth0": expected vmxnet3-<domain>`:                                func(i *interfaces.Interface) { i.Name = "eth0" },
		`name: "vmxnet3-0/b/20/0": "20": expected a hexadecimal number up to 1f`: func(i *interfaces.Interface) { i.Name = "vmxnet3-0/b/20/0" },
	})
	wantInvalid(t, b, rdma("r", "mlx0"), map[string]change{
		"rdma.host_if_name: empty":                    func(i *interfaces.Interface) { i.GetRdma().HostIfName = "" },
		"rdma.rxq_size: 1000, expected a power of 2":  func(i *interfaces.Interface) { i.GetRdma().RxqSize = 1000 },
		"rdma.txq_size: 65536, expected a power of 2": func(i *interfaces.Interface) { i.GetRdma().TxqSize = 65536 },
		"rdma.rxq_num: 65536, expected at most 65535": func(i *interfaces.Interface) { i.GetRdma().RxqNum = 65536 },
		"rdma.mode: 9, expected AUTO, IBV or DV":      func(i *interfaces.Interface) { i.GetRdma().Mode = 9 },
	})
}
