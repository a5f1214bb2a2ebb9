package vpptest_test

import (
	"testing"

	"google.golang.org/protobuf/proto"

	linuxmodel "github.com/tenuto-dev/tenuto/plugins/linux/ifplugin/model"
	nsmodel "github.com/tenuto-dev/tenuto/plugins/linux/nsplugin/model"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin"
	"github.com/tenuto-dev/tenuto/plugins/vpp/vpptest"
	"github.com/tenuto-dev/tenuto/plugins/vpp/vpptest/catalogue"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

// Interfaces need something of Linux for their creation. An agent that does not see it, because
// it runs elsewhere or nothing has reported it yet, keeps the interfaces that exist.
func TestUnseenLinuxKeepsInterfaces(t *testing.T) {
	t.Parallel()
	logical := afPacket("x", "")
	logical.Link = &interfaces.Interface_Afpacket{Afpacket: &interfaces.AfpacketLink{LinuxInterface: "logical"}}
	contained := tap("x")
	contained.GetTap().ToMicroservice = "web"
	for name, c := range map[string]struct {
		value *interfaces.Interface
		needs string
	}{
		"AF_PACKET":                      {afPacket("x", "eth7"), linuxmodel.HostInterfaceKey.Key("eth7")},
		"AF_PACKET by its name in Linux": {logical, linuxmodel.InterfaceModel.KeyFor("logical")},
		"RDMA":                           {catalogue.Rdma("x", "mlx0"), linuxmodel.HostInterfaceKey.Key("mlx0")},
		"TAP of a container":             {contained, nsmodel.MicroserviceKey.Key("web")},
	} {
		t.Run(name, func(t *testing.T) {
			target := vpptest.Simulator(t, simOptions())
			names := kernel{"logical": "eth8"}
			start := func(names kernel) *vpptest.Harness {
				return vpptest.Start(t, target, vpptest.UseIf(func(p *ifplugin.Plugin) { p.Host = names }))
			}
			c.value.IpAddresses = []string{"10.7.7.1/24"}
			wanted := map[string]proto.Message{ifKey("x"): c.value}

			b := start(names)
			b.Must(wanted)
			b.Want(states{ifKey("x"): pending})
			b.SetLinux(c.needs, true)
			b.Want(states{ifKey("x"): configured})
			index := b.AllInterfaces()[1].SwIfIndex
			b.Stop()

			b = start(kernel{})
			if ops := b.FullResync(wanted); len(ops) > 0 {
				t.Errorf("the start had to %q", ops)
			}
			b.InSync()
			b.Want(states{ifKey("x"): configured})
			if found := b.AllInterfaces(); len(found) != 2 || found[1].SwIfIndex != index {
				t.Errorf("VPP has %v, expected the interface with index %d", found, index)
			}
			other := proto.CloneOf(c.value)
			other.Enabled = !other.Enabled
			b.Must(of(other))
			b.InSync()
			b.Must(deleted(of(other)))
			if found := b.AllInterfaces(); len(found) != 1 {
				t.Errorf("VPP has %v after the removal", found)
			}
		})
	}
}
