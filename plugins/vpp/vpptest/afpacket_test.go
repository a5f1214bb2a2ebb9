package vpptest_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"
	"testing"

	"github.com/vishvananda/netlink"
	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin"
	"github.com/tenuto-dev/tenuto/plugins/vpp/vpptest"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

// kernel gives AF_PACKET interfaces access to the interfaces of the kernel, as
// the Linux plugins do.
type kernel map[string]string // logical name to name in the kernel

func (k kernel) HostName(logical string) (string, bool) {
	host, ok := k[logical]
	return host, ok
}

func (k kernel) SetLinkUp(_ context.Context, host string) error {
	link, err := netlink.LinkByName(host)
	if err != nil {
		return nil // gone, or never there
	}
	return netlink.LinkSetUp(link)
}

func (k kernel) LinkMTU(_ context.Context, host string) (uint32, error) {
	link, err := netlink.LinkByName(host)
	if err != nil {
		return 0, nil // gone, or never there
	}
	return uint32(link.Attrs().MTU), nil
}

func (k kernel) SetLinkMTU(_ context.Context, host string, mtu uint32) error {
	link, err := netlink.LinkByName(host)
	if err != nil {
		return nil // gone, or never there
	}
	return netlink.LinkSetMTU(link, int(mtu))
}

// veth makes a pair of kernel interfaces that ends with the test.
func veth(t *testing.T) (name, peer string) {
	t.Helper()
	name, peer = fmt.Sprintf("tvh%d", os.Getpid()), fmt.Sprintf("tvp%d", os.Getpid())
	link := &netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: name}, PeerName: peer}
	if err := netlink.LinkAdd(link); errors.Is(err, syscall.EPERM) {
		t.Skip("NOT CHECKED WITH THE KERNEL: creating interfaces needs CAP_NET_ADMIN")
	} else if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = netlink.LinkDel(link) }) // may be gone
	for _, n := range []string{name, peer} {
		if err := (kernel{}).SetLinkUp(t.Context(), n); err != nil {
			t.Fatal(err)
		}
	}
	return name, peer
}

// VPP really attached to a kernel interface, which VPP sets down at the end and
// the plugin up again.
func TestAfPacketOnKernelInterface(t *testing.T) {
	target := vpptest.Real(t)
	host, _ := veth(t)
	b := vpptest.Start(t, target, vpptest.UseIf(func(p *ifplugin.Plugin) { p.Host = kernel{"logical": host} }))
	af := afPacket("af", host)
	af.PhysAddress, af.Mtu, af.IpAddresses = "02:00:00:00:00:07", 1400, []string{"10.1.1.1/24"}
	b.Must(of(af))
	b.Want(states{ifKey("af"): pending})
	b.SetHostInterface(host, true)
	b.Want(states{ifKey("af"): configured})
	b.Await("vpp/interface/af/link-state/UP", obtained)
	b.Await("vpp/interface/af/link-state/DOWN", gone)
	readBack(t, b, "vpp-interface", of(af))
	b.InSync()

	// How its queue is served.
	queues := proto.CloneOf(af)
	queues.RxModes = []*interfaces.Interface_RxMode{{DefaultMode: true, Mode: interfaces.Interface_RxMode_POLLING}}
	queues.RxPlacements = []*interfaces.Interface_RxPlacement{{MainThread: true}}
	b.Must(of(queues))
	b.Want(states{"vpp/interface/af/rx-modes": configured, "vpp/interface/af/rx-placement/queue/0": configured})
	readBack(t, b, "vpp-interface", of(queues))
	b.InSync()

	// Another MAC address is another interface.
	other := proto.CloneOf(af)
	other.PhysAddress = "02:00:00:00:00:08"
	b.Must(of(other))
	readBack(t, b, "vpp-interface", of(other))
	b.InSync()

	down := proto.CloneOf(other)
	down.Enabled = false
	b.Must(of(down))
	wantUp(t, host)
	b.Must(deleted(of(af)))
	wantUp(t, host)

	// By the logical name of a Linux interface, which the Linux plugins know.
	logical := afPacket("af", "")
	logical.Link = &interfaces.Interface_Afpacket{Afpacket: &interfaces.AfpacketLink{LinuxInterface: "logical"}}
	b.Must(of(logical))
	b.Want(states{ifKey("af"): pending})
}

func wantUp(t *testing.T, host string) {
	t.Helper()
	i, err := net.InterfaceByName(host)
	if err != nil {
		t.Fatal(err)
	}
	if i.Flags&net.FlagUp == 0 {
		t.Errorf("VPP left %s down", host)
	}
}

// Access to the kernel may be a value of any type, also of one that cannot be
// compared.
func TestAfPacketWithKernel(t *testing.T) {
	t.Parallel()
	b := vpptest.Start(t, vpptest.Simulator(t, simOptions()), vpptest.UseIf(func(p *ifplugin.Plugin) {
		p.Host = kernel{"logical": "nosuchif"}
	}))
	b.SetHostInterface("nosuchif", true)
	af := afPacket("af", "nosuchif")
	b.Must(of(af))
	readBack(t, b, "vpp-interface", of(as(b, af)))
	b.InSync()
}
