package descriptor

import (
	"context"

	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/ifaceidx"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/vppcalls"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

// A loopback in VPP is an Ethernet interface without a wire. It is created by
// create_loopback and named loop0, loop1 and so on; it can be the BVI of a
// bridge domain. Without a MAC address in the configuration it gets one that is
// derived from its name and the agent's identity: VPP would give the same to the first
// loopback of every machine, and a loopback that has no tag yet is recognised by it.

type loopback struct {
	kindDefaults
	vpp  *vppcalls.Calls
	seed string // of MAC addresses
}

func (loopback) traits() traits { return traits{macInPlace: true} }

func (k loopback) create(ctx context.Context, i *interfaces.Interface, mac *vppcalls.MAC) (*ifaceidx.IfMeta, error) {
	idx, err := k.vpp.CreateLoopback(ctx, k.mac(i, mac))
	return &ifaceidx.IfMeta{SwIfIndex: idx}, err
}

func (k loopback) mac(i *interfaces.Interface, want *vppcalls.MAC) vppcalls.MAC {
	if want != nil {
		return *want
	}
	return madeUpMAC(k.seed, i.GetName())
}

func (k loopback) created(found vppcalls.Details, _, want *interfaces.Interface) bool {
	mac, err := wantedMAC(want)
	return err == nil && found.MAC == k.mac(want, mac)
}

func (k loopback) remove(ctx context.Context, _ *interfaces.Interface, m *ifaceidx.IfMeta) error {
	return k.vpp.DeleteLoopback(ctx, m.SwIfIndex)
}

func (loopback) claims(d vppcalls.Details) bool {
	return !d.SubInterface && vppcalls.IsLoopbackName(d.Name)
}

func (loopback) read(context.Context, func(uint32) string) (recogniser, error) {
	return func(_ vppcalls.Details, _, i *interfaces.Interface, _ *ifaceidx.IfMeta) bool {
		i.Type = interfaces.Interface_SOFTWARE_LOOPBACK
		return true
	}, nil
}
