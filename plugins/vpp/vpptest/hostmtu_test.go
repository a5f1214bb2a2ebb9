package vpptest_test

import (
	"context"
	"sync"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/descriptor"
	"github.com/tenuto-dev/tenuto/plugins/vpp/vpptest"
)

// hostLinks are host interfaces with an MTU.
type hostLinks struct {
	mu  sync.Mutex
	mtu map[string]uint32
}

func (h *hostLinks) HostName(logical string) (string, bool)  { return logical, true }
func (h *hostLinks) SetLinkUp(context.Context, string) error { return nil }

func (h *hostLinks) LinkMTU(_ context.Context, host string) (uint32, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.mtu[host], nil
}

func (h *hostLinks) SetLinkMTU(_ context.Context, host string, mtu uint32) error {
	h.set(host, mtu)
	return nil
}

// set is what VPP does.
func (h *hostLinks) set(host string, mtu uint32) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.mtu[host] != 0 {
		h.mtu[host] = mtu
	}
	return true
}

// VPP sets the MTU of an AF_PACKET interface on its host interface. When the MTU or the interface is removed, this
// agent or the next one restores the MTU of the host interface.
func TestHostMTU(t *testing.T) {
	t.Run("simulator", func(t *testing.T) {
		t.Parallel()
		links := &hostLinks{mtu: map[string]uint32{"h": 1500}}
		target := vpptest.Simulator(t, vppsim.Options{HostMTU: links.set})
		hostMTU(t, target, "h", links)
	})
	t.Run("real", func(t *testing.T) {
		target := vpptest.Real(t)
		host, _ := veth(t)
		hostMTU(t, target, host, kernel{})
	})
}

func hostMTU(t *testing.T, target vpptest.Target, host string, links descriptor.HostInterfaces) {
	const before = 1500
	want := func(when string, want uint32) {
		t.Helper()
		if got, err := links.LinkMTU(t.Context(), host); err != nil || got != want {
			t.Errorf("%s: the MTU of the host interface is %d, expected %d (%v)", when, got, want, err)
		}
	}
	dir := t.TempDir()
	start := func() *vpptest.Harness {
		return vpptest.Start(t, target, vpptest.StateDir(dir), vpptest.UseIf(func(p *ifplugin.Plugin) { p.Host = links }))
	}
	b := start()
	b.SetHostInterface(host, true)
	without := afPacket("af", host)
	with := proto.CloneOf(without)
	with.Mtu = 1700
	other := proto.CloneOf(without)
	other.Mtu = 1800

	b.Must(of(without))
	b.Want(states{ifKey("af"): configured})
	want("without MTU", before)
	b.Must(of(with))
	want("with MTU", 1744)
	b.Must(of(other))
	want("with another MTU", 1844)
	b.InSync()
	b.Must(of(without))
	want("MTU removed", before)
	b.InSync()

	b.Must(of(with))
	want("with MTU again", 1744)
	b.Must(deleted(of(with)))
	want("deleted", before)

	b.Must(of(with))
	b.Stop()
	b = start()
	b.SetHostInterface(host, true)
	b.FullResync(of(with))
	want("restarted", 1744)
	b.InSync()
	b.Must(of(without))
	want("MTU removed after a restart", before)
	b.InSync()
	b.Must(of(other))
	b.Stop()
	b = start()
	b.SetHostInterface(host, true)
	b.FullResync(of())
	want("withdrawn while the agent was stopped", before)

	// Another process has changed the MTU meanwhile.
	b.Must(of(with))
	if err := links.SetLinkMTU(t.Context(), host, 3000); err != nil {
		t.Fatal(err)
	}
	b.Must(deleted(of(with)))
	want("changed by another process", 3000)
	b.Must(of(with))
	b.Must(deleted(of(with)))
	want("deleted again", 3000)
}
