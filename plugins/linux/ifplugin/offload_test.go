package ifplugin_test

import (
	"runtime"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	ifmodel "github.com/tenuto-dev/tenuto/plugins/linux/ifplugin/model"
	"github.com/tenuto-dev/tenuto/plugins/linux/linuxtest"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi/nltest"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/linux/interfaces"
)

// offloads returns the value with offloads, which are on; a hyphen before a name means off.
func offloads(v *interfaces.Interface, names ...string) *interfaces.Interface {
	v = proto.CloneOf(v)
	for _, name := range names {
		name, off := strings.CutPrefix(name, "-")
		v.Offloads = append(v.Offloads, &interfaces.Offload{Name: name, Enabled: !off})
	}
	return v
}

// TestOffloads: offloads are turned on and off, found again by the next agent, set back when
// another process changes them, and become what they were before when they are removed from the
// value or with it.
func TestOffloads(t *testing.T) {
	t.Parallel()
	nltest.Run(t, func(t *testing.T, w *nltest.World) {
		const gro, tso, gso = "generic-receive-offload", "tcp-segmentation-offload", "generic-segmentation-offload"
		own, stateDir := w.Open(t, ""), t.TempDir()
		makeDevice(t, own, "eth")
		is := func(link, name string, want int) {
			t.Helper()
			expectSysctl(t, own, link, netlinkapi.OffloadParameter(name), want)
		}
		set := func(link, name string, value int) {
			t.Helper()
			must(t, own.SetSysctl(t.Context(), link, netlinkapi.OffloadParameter(name), value))
		}
		for _, name := range []string{gro, tso, gso} {
			set("eth", name, 1)
		}
		eth := &interfaces.Interface{Name: "outside/1", HostIfName: "eth", Type: interfaces.Interface_EXISTING, Enabled: true}
		all := []proto.Message{offloads(with(eth, "ipv4.arp_ignore", 1), "-"+tso, "-"+gro, gso), offloads(veth("x", "y", ""), gro, "-"+gso), veth("y", "x", "left")}
		a := linuxtest.StartIn(t, w, stateDir)
		must(t, a.Apply(all...))
		a.Quiet("the existing interface is configured", func() bool { return a.State(linuxtest.Key(t, eth)).GetState() == configured })
		a.Expect(configured, all...)
		is("eth", tso, 0)
		is("eth", gro, 0)
		is("eth", gso, 1)
		is("h-x", gro, 1)
		is("h-x", gso, 0)
		unchanged(t, a, all...)
		a.Stop()
		a = linuxtest.StartIn(t, w, stateDir)
		unchanged(t, a, all...)

		set("eth", tso, 1) // by another process
		must(t, a.Resync(all...))
		is("eth", tso, 0)
		must(t, a.Apply(offloads(with(eth, "ipv4.arp_ignore", 1), "-"+gro, "-"+gso)))
		if ops, want := a.Executed(), []string{
			"DELETE " + ifmodel.SysctlKey.Key(netlinkapi.OffloadParameter(tso), "outside/1"),
			"UPDATE " + ifmodel.SysctlKey.Key(netlinkapi.OffloadParameter(gso), "outside/1"),
		}; !slices.Equal(ops, want) {
			t.Errorf("operations are %v, expected %v", ops, want)
		}
		is("eth", gso, 0)
		must(t, a.Delete(eth))
		for _, name := range []string{gro, tso, gso} {
			is("eth", name, 1)
		}
		fixed := offloads(veth("x", "y", ""), "ntuple-filters")
		err := a.Apply(fixed)
		if text := linuxtest.ErrorText(err); !strings.Contains(text, `turn ntuple-filters of "h-x" on`) && w.Sim == nil || err == nil {
			t.Errorf("an offload that the device does not have: %s", text)
		}
	})
}

// TestOffloadNeedsAnother: an offload becomes what it was before although one that it needs is off,
// and an interface with it can be deleted.
func TestOffloadNeedsAnother(t *testing.T) {
	t.Parallel()
	nltest.Run(t, func(t *testing.T, w *nltest.World) {
		const tso = "tcp-segmentation-offload"
		own := w.Open(t, "")
		is := func(name string, want int) {
			t.Helper()
			expectSysctl(t, own, "h-x", netlinkapi.OffloadParameter(name), want)
		}
		unsummed := veth("x", "y", "")
		unsummed.GetVeth().TxChecksumOffloading = interfaces.VethLink_CHKSM_OFFLOAD_DISABLED
		a := linuxtest.Start(t, w)
		must(t, a.Apply(offloads(veth("x", "y", ""), "-"+tso), veth("y", "x", "left")))
		is(tso, 0)
		must(t, a.Apply(offloads(unsummed, "-"+tso)))
		must(t, a.Apply(unsummed))
		must(t, a.Apply(veth("x", "y", "")))
		is(tso, 1)
		must(t, a.Apply(unsummed))
		must(t, a.Apply(offloads(unsummed, "-"+tso)))
		must(t, a.Apply(offloads(veth("x", "y", ""), "-"+tso)))
		is(tso, 0)
		must(t, a.Apply(veth("x", "y", "")))
		is(tso, 1)
		must(t, a.Apply(offloads(unsummed, "-"+tso)))
		must(t, a.Delete(unsummed))
		if _, err := own.LinkByName(t.Context(), "h-x"); !netlinkapi.IsGone(err) {
			t.Errorf("the link is there: %v", err)
		}
	})
}

// TestValidateOffloads: errors name the field and the expected value.
func TestValidateOffloads(t *testing.T) {
	t.Parallel()
	a := linuxtest.Start(t, nltest.Sim())
	unsummed := veth("x", "y", "")
	unsummed.GetVeth().TxChecksumOffloading = interfaces.VethLink_CHKSM_OFFLOAD_DISABLED
	for want, v := range map[string]*interfaces.Interface{
		`offloads[0].name: "tso"; expected one of`:                                                                                offloads(veth("x", "y", ""), "tso"),
		`offloads[1].name: "receive-hashing" again`:                                                                               offloads(veth("x", "y", ""), "receive-hashing", "receive-hashing"),
		`offloads[0].name: "tx-checksumming"; expected rx_checksum_offloading and`:                                                offloads(veth("x", "y", ""), "tx-checksumming"),
		`offloads[1].enabled: true for "tcp-segmentation-offload"; expected false, because it needs scatter-gather, which is off`: offloads(veth("x", "y", ""), "-scatter-gather", "tcp-segmentation-offload"),
		`offloads[0].enabled: true for "generic-segmentation-offload"; expected false, because it needs tx-checksumming`:          offloads(unsummed, "generic-segmentation-offload"),
		`sysctls[0].name: "offload.receive-hashing"; expected one of`:                                                             with(veth("x", "y", ""), "offload.receive-hashing", 1),
	} {
		if got := linuxtest.ErrorText(a.Apply(v)); !strings.Contains(got, want) {
			t.Errorf("expected %q, got %q", want, got)
		}
	}
}

// TestQueues: numbers of queues are set, found again by the next agent, changed, and become what
// they were before.
func TestQueues(t *testing.T) {
	t.Parallel()
	nltest.Run(t, func(t *testing.T, w *nltest.World) {
		most := min(2, runtime.NumCPU()) // of a VETH
		own, stateDir := w.Open(t, ""), t.TempDir()
		queues := func(v *interfaces.Interface, q *interfaces.Queues) *interfaces.Interface {
			v = proto.CloneOf(v)
			v.Queues = q
			return v
		}
		is := func(rx, tx int) {
			t.Helper()
			expectSysctl(t, own, "h-x", netlinkapi.QueuesRX, rx)
			expectSysctl(t, own, "h-x", netlinkapi.QueuesTX, tx)
		}
		x, y := veth("x", "y", ""), veth("y", "x", "left")
		a := linuxtest.StartIn(t, w, stateDir)
		must(t, a.Apply(x, y))
		before, err := own.Sysctls(t.Context(), "h-x", netlinkapi.QueueParameters())
		must(t, err)
		both := queues(x, &interfaces.Queues{Rx: uint32(most), Tx: uint32(most)})
		must(t, a.Apply(both))
		is(most, most)
		unchanged(t, a, both, y)
		a.Stop()
		a = linuxtest.StartIn(t, w, stateDir)
		unchanged(t, a, both, y)
		must(t, a.Apply(queues(x, &interfaces.Queues{Rx: 1})))
		is(1, before[netlinkapi.QueuesTX])
		must(t, a.Apply(x))
		is(before[netlinkapi.QueuesRX], before[netlinkapi.QueuesTX])
		if err := a.Apply(queues(x, &interfaces.Queues{Combined: 2})); err == nil {
			t.Error("a VETH has combined queues")
		}
		text := linuxtest.ErrorText(a.Apply(queues(x, &interfaces.Queues{Tx: 65536})))
		if want := "queues.tx: 65536, expected 0 to 65535"; !strings.Contains(text, want) {
			t.Errorf("expected %q, got %q", want, text)
		}
	})
}
