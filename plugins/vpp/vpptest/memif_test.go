package vpptest_test

import (
	"strings"
	"testing"

	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/interface_types"
	memifapi "go.fd.io/govpp/binapi/memif"

	"github.com/tenuto-dev/tenuto/plugins/vpp/vpptest"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

func memif(name string, id uint32, socket string) *interfaces.Interface {
	return &interfaces.Interface{
		Name: name, Type: interfaces.Interface_MEMIF, Enabled: true,
		Link: &interfaces.Interface_Memif{Memif: &interfaces.MemifLink{Id: id, SocketFilename: socket, Master: true}},
	}
}

func TestMemif(t *testing.T) {
	kind{
		make: func() *interfaces.Interface {
			i := memif("memif1", 7, "tenuto-test.sock")
			i.PhysAddress, i.IpAddresses = "02:00:00:00:00:07", []string{"10.1.1.1/24"}
			i.GetMemif().Secret = "secret"
			return i
		},
		relink: func(i *interfaces.Interface) { i.GetMemif().Id, i.GetMemif().SocketFilename = 8, "other.sock" },
		byHand: func(idx uint32, _ *interfaces.Interface) (api.Message, api.Message) {
			return &memifapi.MemifDelete{SwIfIndex: interface_types.InterfaceIndex(idx)}, &memifapi.MemifDeleteReply{}
		},
		real: true,
	}.run(t)
}

// Two memifs on one socket, in the roles and modes that VPP has; what VPP does
// not tell is as wanted; sockets go with their last memif.
func TestMemifSockets(t *testing.T) {
	vpptest.OnBoth(t, func(t *testing.T, target vpptest.Target) {
		b := vpptest.Start(t, target)
		a, c, d := memif("a", 1, "x.sock"), memif("c", 2, "x.sock"), memif("d", 3, "")
		c.GetMemif().Mode = interfaces.MemifLink_IP
		d.GetMemif().Master, d.GetMemif().RingSize, d.GetMemif().RxQueues, d.GetMemif().Secret = false, 512, 2, "s"
		b.Must(of(a, c, d))
		b.InSync()
		d.GetMemif().BufferSize, d.GetMemif().TxQueues = 2048, 1 // the defaults
		wantLink(t, b, d)
		sockets := func() int { return strings.Count(b.CLI("show memif"), "x.sock") }
		if b.Real != nil && sockets() == 0 {
			t.Errorf("no socket in\n%s", b.CLI("show memif"))
		}
		b.Must(deleted(of(a)))
		b.InSync()
		b.Must(deleted(of(c)))
		if b.Real != nil && sockets() != 0 {
			t.Errorf("the socket was left behind:\n%s", b.CLI("show memif"))
		}
		if b.Sim != nil && strings.Contains(b.Sim.Dump(), "x.sock") {
			t.Errorf("the socket was left behind:\n%s", b.Sim.Dump())
		}
	})
}

// A socket has memifs of one role: the error names the owner, if that is it.
func TestMemifRefused(t *testing.T) {
	vpptest.OnBoth(t, func(t *testing.T, target vpptest.Target) {
		b := vpptest.Start(t, target)
		b.Must(of(memif("first", 1, "x.sock")))
		slave := memif("second", 2, "x.sock")
		slave.GetMemif().Master = false
		for _, test := range []struct {
			i    *interfaces.Interface
			want string
		}{
			{memif("second", 1, "x.sock"), `memif.socket_filename, memif.id: "x.sock", 1: VPP has it already, as interface "first"`},
			{slave, `memif.master: false: the socket "x.sock" has memifs of the other role, such as interface "first" (memif`},
		} {
			err := b.Commit(of(test.i))
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, expected %q", err, test.want)
			}
			b.Want(states{ifKey("second"): failed, ifKey("first"): configured})
		}
		b.Must(deleted(of(memif("first", 1, "x.sock"))))
		b.Resync()
		b.Want(states{ifKey("second"): configured})
	})
}

// The reply is lost: the memif without tag is found again, not refused for ever.
func TestMemifLostReply(t *testing.T) {
	t.Parallel()
	target := vpptest.Simulator(t, simOptions())
	b := vpptest.Start(t, target)
	if err := target.Sim.FailAfter(newest(t, target, "memif_create_v2", "memif_create"), api.VPPApiError(-1), 1); err != nil {
		t.Fatal(err)
	}
	i := memif("m", 1, "x.sock")
	if err := b.Commit(of(i)); err == nil {
		t.Error("no error")
	}
	b.Resync()
	b.Want(states{ifKey("m"): configured})
	b.InSync()
	if n := strings.Count(target.Sim.Dump(), "/1 memif "); n != 1 {
		t.Errorf("%d memifs:\n%s", n, target.Sim.Dump())
	}
}

func TestInvalidMemif(t *testing.T) {
	t.Parallel()
	b := vpptest.Start(t, vpptest.Simulator(t, simOptions()))
	wantInvalid(t, b, memif("m", 1, ""), map[string]func(*interfaces.Interface){
		"memif.ring_size: 1000, expected a power of 2":     func(i *interfaces.Interface) { i.GetMemif().RingSize = 1000 },
		"memif.ring_size: 32768":                           func(i *interfaces.Interface) { i.GetMemif().RingSize = 32768 },
		"memif.buffer_size: 65536, expected at most 65535": func(i *interfaces.Interface) { i.GetMemif().BufferSize = 65536 },
		"memif.rx_queues: 256":                             func(i *interfaces.Interface) { i.GetMemif().RxQueues = 256 },
		"memif.tx_queues: 256":                             func(i *interfaces.Interface) { i.GetMemif().TxQueues = 256 },
		"memif.secret: has 24 bytes":                       func(i *interfaces.Interface) { i.GetMemif().Secret = strings.Repeat("x", 24) },
		"memif.socket_filename: has 108 bytes":             func(i *interfaces.Interface) { i.GetMemif().SocketFilename = strings.Repeat("x", 108) },
		"memif.mode: PUNT_INJECT":                          func(i *interfaces.Interface) { i.GetMemif().Mode = interfaces.MemifLink_PUNT_INJECT },
		"phys_address: a memif of mode IP": func(i *interfaces.Interface) {
			i.GetMemif().Mode, i.PhysAddress = interfaces.MemifLink_IP, "02:00:00:00:00:01"
		},
		"link: missing, expected MemifLink": func(i *interfaces.Interface) { i.Link = nil },
	})
}
