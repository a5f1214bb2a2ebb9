package vpptest_test

import (
	"strings"
	"testing"

	"go.fd.io/govpp/api"

	"github.com/tenuto-dev/tenuto/plugins/vpp/vpptest"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

// Two memifs on one socket, in the roles and modes that VPP has; fields that
// VPP does not report are as desired; sockets are deleted with their last
// memif.
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
