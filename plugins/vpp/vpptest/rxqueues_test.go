package vpptest_test

import (
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin"
	"github.com/tenuto-dev/tenuto/plugins/vpp/vpptest"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

// Modes and placements of receive queues on a real VPP, on an interface that has
// queues on any machine.
func TestRxQueuesOnKernelInterface(t *testing.T) {
	target := vpptest.Real(t)
	host, _ := veth(t)
	b := vpptest.Start(t, target, vpptest.UseIf(func(p *ifplugin.Plugin) { p.Host = kernel{} }))
	b.SetHostInterface(host, true)
	i := afPacket("af", host)
	i.RxModes = []*interfaces.Interface_RxMode{{DefaultMode: true, Mode: interfaces.Interface_RxMode_POLLING}}
	i.RxPlacements = []*interfaces.Interface_RxPlacement{{Queue: 0, MainThread: true}}
	b.Must(of(i))
	modes, placement := "vpp/interface/af/rx-modes", "vpp/interface/af/rx-placement/queue/0"
	b.Await(modes, configured)
	b.Await(placement, configured)
	readBack(t, b, "vpp-interface", of(as(b, i)))
	b.InSync()
	for _, mode := range []interfaces.Interface_RxMode_Type{interfaces.Interface_RxMode_INTERRUPT, interfaces.Interface_RxMode_DEFAULT} {
		i = proto.CloneOf(i)
		i.RxModes[0].Mode = mode
		b.Must(of(i))
		b.Await(modes, configured)
		b.InSync()
	}
	// The driver has no adaptive mode: the interface stays as it is.
	i = proto.CloneOf(i)
	i.RxModes[0].Mode = interfaces.Interface_RxMode_ADAPTIVE
	if err := b.Commit(of(i)); err == nil {
		t.Error("no error")
	}
	b.Want(states{ifKey("af"): configured, modes: failed, placement: configured})
}
