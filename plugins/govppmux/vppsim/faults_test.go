package vppsim_test

import (
	"errors"
	"net"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim"
	"go.fd.io/govpp/api"
	interfaces "go.fd.io/govpp/binapi/interface"
	"go.fd.io/govpp/binapi/memclnt"
	"go.fd.io/govpp/binapi/vpe"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func loops(vpp *vppsim.VPP) int { return strings.Count(vpp.Dump(), " loop") }

func TestFaultsOfOneMessage(t *testing.T) {
	t.Parallel()
	create := &interfaces.CreateLoopback{}
	for _, tc := range []struct {
		name    string
		inject  func(*vppsim.VPP) error
		retvals []int32 // of two requests; 1 means no reply
		loops   int
	}{
		{"fail once", func(v *vppsim.VPP) error { return v.Fail("create_loopback", api.NO_SUCH_ENTRY, 1) }, []int32{-6, 0}, 1},
		{"fail always", func(v *vppsim.VPP) error { return v.Fail("create_loopback", api.NO_SUCH_ENTRY, -1) }, []int32{-6, -6}, 0},
		{"fail after the effect", func(v *vppsim.VPP) error { return v.FailAfter("create_loopback", api.EAGAIN, 1) }, []int32{-165, 0}, 2},
		{"drop", func(v *vppsim.VPP) error { return v.Drop("create_loopback", 1) }, []int32{1, 0}, 1},
		{"mute", func(v *vppsim.VPP) error { return v.Mute("create_loopback", 1) }, []int32{1, 0}, 2},
		{"forget", func(v *vppsim.VPP) error { return v.Forget("create_loopback") }, []int32{1, 1}, 0},
		{"heal", func(v *vppsim.VPP) error {
			err := errors.Join(v.Forget("create_loopback"), v.Drop("create_loopback", -1))
			v.Heal()
			return err
		}, []int32{0, 0}, 2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			vpp, socket := startSimulator(t, vppsim.Options{})
			c := dial(t, socket)
			must(t, tc.inject(vpp))
			for at, want := range tc.retvals {
				got := int32(1)
				if answers := c.exchange(create); len(answers) == 1 {
					got = answers[0].(*interfaces.CreateLoopbackReply).Retval
				}
				if got != want {
					t.Errorf("request %d: retval %d, expected %d", at, got, want)
				}
			}
			if n := loops(vpp); n != tc.loops {
				t.Errorf("%d loopbacks, expected %d", n, tc.loops)
			}
		})
	}
}

func TestFaultOnUnknownMessage(t *testing.T) {
	t.Parallel()
	vpp := vppsim.New(vppsim.Options{})
	for _, err := range []error{
		vpp.Forget("nope"), vpp.Delay("nope", time.Second), vpp.Drop("nope", 1), vpp.Mute("nope", 1),
		vpp.Fail("nope", api.BUG, 1), vpp.FailAfter("nope", api.BUG, 1),
	} {
		if !errors.Is(err, vppsim.ErrUnknownMessage) {
			t.Errorf("%v", err)
		}
	}
	must(t, vpp.Close())
}

func TestFailedDumpIsEmpty(t *testing.T) {
	t.Parallel()
	vpp, socket := startSimulator(t, vppsim.Options{})
	must(t, vpp.Fail("sw_interface_dump", api.UNSPECIFIED, 1))
	if got := dial(t, socket).exchange(&interfaces.SwInterfaceDump{SwIfIndex: 0xffffffff}); len(got) != 0 {
		t.Errorf("%v", got)
	}
}

func TestForgottenMessageIsMissingFromTheTable(t *testing.T) {
	t.Parallel()
	vpp, socket := startSimulator(t, vppsim.Options{})
	must(t, vpp.Forget("show_version"))
	for nameCRC := range dial(t, socket).ids {
		if strings.HasPrefix(nameCRC, "show_version_") {
			t.Errorf("%s is in the table", nameCRC)
		}
	}
}

// TestDelay: the delayed request keeps back what its client sent behind it, not what
// others sent, and takes effect in the end.
func TestDelay(t *testing.T) {
	t.Parallel()
	vpp, socket := startSimulator(t, vppsim.Options{})
	slow, other := dial(t, socket), dial(t, socket)
	must(t, vpp.Delay("create_loopback", 50*time.Millisecond))
	slow.send(&interfaces.CreateLoopback{})
	ping := slow.send(&memclnt.ControlPing{})
	other.exchange(&vpe.ShowVersion{})
	if n := loops(vpp); n != 0 {
		t.Skip("SKIPPED: the machine was too slow to look before the delay had passed")
	}
	if m, _, err := slow.receive(); err != nil || m.GetMessageName() != "create_loopback_reply" {
		t.Fatalf("%v, %v", m, err)
	}
	if _, context, err := slow.receive(); err != nil || context != ping {
		t.Fatalf("context %d, %v", context, err)
	}
	if n := loops(vpp); n != 1 {
		t.Errorf("%d loopbacks", n)
	}
}

func TestDelayEndsWithTheConnection(t *testing.T) {
	t.Parallel()
	vpp, socket := startSimulator(t, vppsim.Options{})
	c := dial(t, socket)
	must(t, vpp.Delay("create_loopback", time.Hour))
	c.send(&interfaces.CreateLoopback{})
	vpp.Disconnect()
	if n := loops(vpp); n != 0 {
		t.Errorf("%d loopbacks", n)
	}
}

func TestHang(t *testing.T) {
	t.Parallel()
	vpp, socket := startSimulator(t, vppsim.Options{})
	c := dial(t, socket)
	vpp.Hang()
	c.send(&interfaces.CreateLoopback{})
	if n := loops(vpp); n != 0 {
		t.Errorf("%d loopbacks while hanging", n)
	}
	vpp.Resume()
	if m, _, err := c.receive(); err != nil || m.GetMessageName() != "create_loopback_reply" {
		t.Fatalf("%v, %v", m, err)
	}
	vpp.Hang() // and Close must still work
	c.send(&interfaces.CreateLoopback{})
}

func TestDisconnectKeepsTheState(t *testing.T) {
	t.Parallel()
	vpp, socket := startSimulator(t, vppsim.Options{})
	c := dial(t, socket)
	call[interfaces.CreateLoopbackReply](c, &interfaces.CreateLoopback{})
	pid := vpp.PID()
	vpp.Disconnect()
	if _, err := c.read(); !ended(err) {
		t.Errorf("the connection lives on: %v", err)
	}
	if dial(t, socket); loops(vpp) != 1 || vpp.PID() != pid {
		t.Errorf("%d loopbacks, pid %d was %d", loops(vpp), vpp.PID(), pid)
	}
}

func TestDieAndRestart(t *testing.T) {
	t.Parallel()
	vpp, socket := startSimulator(t, vppsim.Options{})
	c := dial(t, socket)
	call[interfaces.CreateLoopbackReply](c, &interfaces.CreateLoopback{})
	pid, id := vpp.PID(), c.ids["show_version_51077d14"]
	must(t, vpp.Die())
	if _, err := c.read(); !ended(err) {
		t.Errorf("the connection lives on: %v", err)
	}
	if _, err := net.Dial("unix", socket); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("connecting to a dead VPP: %v", err)
	}
	must(t, vpp.Restart())
	again := dial(t, socket)
	if loops(vpp) != 0 {
		t.Error("the state survived")
	}
	ping := call[memclnt.ControlPingReply](again, &memclnt.ControlPing{})
	if ping.VpePID == pid || ping.VpePID != vpp.PID() {
		t.Errorf("pid %d, was %d", ping.VpePID, pid)
	}
	if again.ids["show_version_51077d14"] == id {
		t.Error("the message ids are the same after a restart")
	}
	must(t, vpp.Restart()) // also without dying first
	dial(t, socket).exchange(&vpe.ShowVersion{})
}

func TestJournalAndCounts(t *testing.T) {
	t.Parallel()
	vpp, socket := startSimulator(t, vppsim.Options{JournalSize: 3})
	c := dial(t, socket)
	for range 3 {
		c.exchange(&interfaces.CreateLoopback{})
	}
	c.exchange(&interfaces.SwInterfaceTagAddDel{IsAdd: true, SwIfIndex: 2, Tag: "two"})
	records := vpp.Journal()
	if len(records) != 3 || records[1].Name != "sw_interface_tag_add_del" || records[2].Name != "control_ping" {
		t.Fatalf("%+v", records)
	}
	if tag, ok := records[1].Message.(*interfaces.SwInterfaceTagAddDel); !ok || tag.Tag != "two" || records[1].Client != c.index {
		t.Errorf("%+v", records[1])
	}
	if records[2].Seq != 8 || vpp.Count("create_loopback") != 3 || vpp.Counts()["control_ping"] != 4 {
		t.Errorf("seq %d, counts %v", records[2].Seq, vpp.Counts())
	}
}

func TestHandleReplaces(t *testing.T) {
	t.Parallel()
	vpp, socket := startSimulator(t, vppsim.Options{})
	vppsim.Handle(vpp, func(c *vppsim.Call, _ *vpe.ShowVersion) *vpe.ShowVersionReply {
		return &vpe.ShowVersionReply{Version: "mine"}
	})
	vppsim.HandleDump(vpp, func(c *vppsim.Call, _ *interfaces.SwInterfaceDump) {
		c.Send(&interfaces.SwInterfaceDetails{InterfaceName: "a"})
		c.Send(&interfaces.SwInterfaceDetails{InterfaceName: "b"})
	})
	c := dial(t, socket)
	if v := call[vpe.ShowVersionReply](c, &vpe.ShowVersion{}).Version; v != "mine" {
		t.Errorf("version %q", v)
	}
	if got := c.exchange(&interfaces.SwInterfaceDump{}); len(got) != 2 {
		t.Errorf("%v", got)
	}
	vpp.SendEvent(c.index, &interfaces.SwInterfaceEvent{PID: 5, SwIfIndex: 3})
	vpp.SendEvent(c.index+1, &interfaces.SwInterfaceEvent{})
	c.exchange(&memclnt.ControlPing{})
	if len(c.events) != 1 || c.events[0].(*interfaces.SwInterfaceEvent).SwIfIndex != 3 {
		t.Errorf("events %v", c.events)
	}
}

// HangAt stops before or after the effect of one request, by number or by name.
func TestHangAt(t *testing.T) {
	t.Parallel()
	for _, message := range []string{"", "create_loopback"} {
		for _, late := range []bool{false, true} {
			vpp, socket := startSimulator(t, vppsim.Options{})
			c := dial(t, socket)
			must(t, vpp.HangAt(message, 2, late))
			for range 3 {
				c.send(&interfaces.CreateLoopback{})
			}
			for !vpp.Hung() {
				runtime.Gosched()
			}
			want := 1
			if late {
				want = 2
			}
			if got := loops(vpp); got != want {
				t.Errorf("%q late %v: %d loopbacks while it hangs, expected %d", message, late, got, want)
			}
			vpp.Resume()
			for range 3 {
				if _, _, err := c.receive(); err != nil {
					t.Fatal(err)
				}
			}
			if got := loops(vpp); got != 3 {
				t.Errorf("%q late %v: %d loopbacks afterwards, expected 3", message, late, got)
			}
		}
	}
	vpp := vppsim.New(vppsim.Options{})
	for _, command := range []string{"hangat any", "hangat any x", "hangat any 1 early", "hangat create_loopback -1"} {
		if _, err := vpp.Command(command); !errors.Is(err, vppsim.ErrUsage) {
			t.Errorf("%s: %v", command, err)
		}
	}
	for _, command := range []string{"hangat any 5", "hangat create_loopback 1 late"} {
		if _, err := vpp.Command(command); err != nil {
			t.Errorf("%s: %v", command, err)
		}
	}
}
