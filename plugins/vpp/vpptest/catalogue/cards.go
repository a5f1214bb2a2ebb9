package catalogue

import (
	"go.fd.io/govpp/api"
	rdmaapi "go.fd.io/govpp/binapi/rdma"
	vmxnet3api "go.fd.io/govpp/binapi/vmxnet3"
	"google.golang.org/protobuf/proto"

	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

// Vmxnet3 is a VMXNET3 device that is up.
func Vmxnet3(name string) *interfaces.Interface {
	return &interfaces.Interface{
		Name: name, Type: interfaces.Interface_VMXNET3_INTERFACE, Enabled: true,
		Link: &interfaces.Interface_VmxNet3{VmxNet3: &interfaces.VmxNet3Link{}},
	}
}

// Rdma is an RDMA device that is up.
func Rdma(name, host string) *interfaces.Interface {
	return &interfaces.Interface{
		Name: name, Type: interfaces.Interface_RDMA, Enabled: true,
		Link: &interfaces.Interface_Rdma{Rdma: &interfaces.RDMALink{HostIfName: host}},
	}
}

func vmxnet3() Item {
	link := func(change func(l *interfaces.VmxNet3Link)) Change {
		return iface(func(i *interfaces.Interface) { change(i.GetVmxNet3()) })
	}
	return ofInterface(Item{
		Make: func() proto.Message {
			i := Vmxnet3("vmxnet3-0/b/1f/7")
			i.PhysAddress, i.IpAddresses, i.GetVmxNet3().EnableElog = "02:00:00:00:00:19", []string{"10.19.1.1/24"}, true
			return i
		},
		Capability: "interface VMXNET3_INTERFACE",
		Spellings:  []Change{link(func(l *interfaces.VmxNet3Link) { l.RxqSize = 1024 })},
		Recreates:  []Change{link(func(l *interfaces.VmxNet3Link) { l.RxqSize = 2048 })},
		Refusals: map[string]Change{
			"vmx_net3.rxq_size: 100, expected a multiple of 64":   link(func(l *interfaces.VmxNet3Link) { l.RxqSize = 100 }),
			"vmx_net3.txq_size: 8192":                             link(func(l *interfaces.VmxNet3Link) { l.TxqSize = 8192 }),
			`name: "eth0": expected vmxnet3-<domain>`:             iface(func(i *interfaces.Interface) { i.Name = "eth0" }),
			`name: "vmxnet3-0/b/20/0": expected vmxnet3-<domain>`: iface(func(i *interfaces.Interface) { i.Name = "vmxnet3-0/b/20/0" }),
		},
		Conflicts: []Conflict{{
			First: Vmxnet3("vmxnet3-0/b/0/0"), Second: Vmxnet3("vmxnet3-0/B/0/0"),
			Says: `create VMXNET3_INTERFACE: name: "vmxnet3-0/B/0/0": VPP has it already, as interface "vmxnet3-0/b/0/0" (`,
		}},
		ByHand: func(index func(string) uint32, m proto.Message) (api.Message, api.Message) {
			return &vmxnet3api.Vmxnet3Delete{SwIfIndex: of(index, m)}, &vmxnet3api.Vmxnet3DeleteReply{}
		},
		Without: map[string]string{"Needs": "the device is no item", "Real": "it needs the device"},
	})
}

func rdma() Item {
	link := func(change func(l *interfaces.RDMALink)) Change {
		return iface(func(i *interfaces.Interface) { change(i.GetRdma()) })
	}
	return ofInterface(Item{
		Make:       func() proto.Message { return Rdma("rdma1", "eth2") },
		Capability: "interface RDMA",
		Spellings:  []Change{link(func(l *interfaces.RDMALink) { l.RxqNum = 1 })},
		Recreates:  []Change{link(func(l *interfaces.RDMALink) { l.HostIfName = "eth1" }), link(func(l *interfaces.RDMALink) { l.RxqNum = 2 })},
		Refusals: map[string]Change{
			"rdma.host_if_name: empty":                    link(func(l *interfaces.RDMALink) { l.HostIfName = "" }),
			"rdma.rxq_size: 1000, expected a power of 2":  link(func(l *interfaces.RDMALink) { l.RxqSize = 1000 }),
			"rdma.txq_size: 65536, expected a power of 2": link(func(l *interfaces.RDMALink) { l.TxqSize = 65536 }),
			"rdma.rxq_num: 65536, expected 0 to 65535":    link(func(l *interfaces.RDMALink) { l.RxqNum = 65536 }),
			"rdma.mode: 9, expected AUTO, IBV, DV":        link(func(l *interfaces.RDMALink) { l.Mode = 9 }),
		},
		ByHand: func(index func(string) uint32, m proto.Message) (api.Message, api.Message) {
			return &rdmaapi.RdmaDelete{SwIfIndex: of(index, m)}, &rdmaapi.RdmaDeleteReply{}
		},
		Without: map[string]string{
			"Needs": "the interface of the kernel is no item of VPP", "Conflicts": "VPP opens a device twice", "Real": "it needs the device",
		},
	})
}
