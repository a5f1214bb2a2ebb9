package descriptor

import (
	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/ifaceidx"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/vppcalls"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

// A loopback in VPP is an Ethernet interface without a wire. It is created by
// create_loopback and named loop0, loop1 and so on; it can be the BVI of a
// bridge domain. An address that is not asked for is a random one: VPP would
// give the same to the first loopback of every machine.

// loopbackCalls is what loopbacks need of VPP.
type loopbackCalls interface {
	CreateLoopback(name string, mac *vppcalls.MAC) (swIfIndex uint32, err error)
	DeleteLoopback(swIfIndex uint32) error
}

type loopback struct{ vpp loopbackCalls }

func (loopback) traits() traits { return traits{macInPlace: true} }

func (loopback) check(*interfaces.Interface) error { return nil }

func (loopback) dependencies(*interfaces.Interface) []kvs.Dependency { return nil }

func (loopback) sameLink(_, _ *interfaces.Interface) bool { return true }

func (k loopback) create(i *interfaces.Interface, mac *vppcalls.MAC) (*ifaceidx.IfMeta, error) {
	idx, err := k.vpp.CreateLoopback(i.GetName(), mac)
	return &ifaceidx.IfMeta{SwIfIndex: idx}, err
}

func (k loopback) remove(_ *interfaces.Interface, m *ifaceidx.IfMeta) error {
	return k.vpp.DeleteLoopback(m.SwIfIndex)
}

func (loopback) afterAdminDown(*interfaces.Interface) error { return nil }

func (loopback) recognise(d vppcalls.Details, _ dumps, _, i *interfaces.Interface, _ *ifaceidx.IfMeta) bool {
	if d.SubInterface || !vppcalls.IsLoopbackName(d.Name) {
		return false
	}
	i.Type = interfaces.Interface_SOFTWARE_LOOPBACK
	return true
}
