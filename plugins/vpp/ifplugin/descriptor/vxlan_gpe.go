package descriptor

import (
	"context"
	"errors"

	"go.fd.io/govpp/api"

	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/vppcalls"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

// A VXLAN-GPE tunnel tells in every packet what it carries. It has no MAC
// address. VPP looks received IPv4 packets up in a VRF table of choice; for IPv6
// it takes the number for an index of its own, whatever that leads to. When such
// a tunnel is deleted VPP only hides the interface, and uses it for the next
// one.

// vxlanGpeCalls is what VXLAN-GPE tunnels need of VPP.
type vxlanGpeCalls interface {
	CreateVxlanGpe(ctx context.Context, t vppcalls.VxlanGpe) (swIfIndex uint32, err error)
	DeleteVxlanGpe(ctx context.Context, swIfIndex uint32) error
	DumpVxlanGpes(ctx context.Context) (map[uint32]vppcalls.VxlanGpe, error)
	DumpInterfaces(ctx context.Context) ([]vppcalls.Details, error)
}

// checkGpe reports what is wrong with the gpe of a VXLAN tunnel, if it has one.
func checkGpe(l *interfaces.VxlanLink) error {
	g := l.GetGpe()
	if g == nil {
		return nil
	}
	switch p := g.GetProtocol(); {
	case p == interfaces.VxlanLink_Gpe_UNKNOWN || interfaces.VxlanLink_Gpe_Protocol_name[int32(p)] == "":
		return invalid("vxlan.gpe.protocol", "%s, expected IP4, IP6, ETHERNET or NSH", p)
	case p != interfaces.VxlanLink_Gpe_IP4 && g.GetDecapVrfId() != 0:
		return invalid("vxlan.gpe.decap_vrf_id", "%d, expected 0 for protocol %s: VPP has a table for received IPv4 packets only",
			g.GetDecapVrfId(), p)
	}
	return nil
}

func gpeDependencies(i *interfaces.Interface) []kvs.Dependency {
	return vrfExists("vrf-table-for-vxlan-gpe-exists", i.GetVxlan().GetGpe().GetDecapVrfId(), false)
}

func (k vxlan) createGpe(ctx context.Context, i *interfaces.Interface, t vppcalls.Vxlan) (uint32, error) {
	g := i.GetVxlan().GetGpe()
	idx, err := k.vpp.CreateVxlanGpe(ctx, vppcalls.VxlanGpe{Vxlan: t, Protocol: uint8(g.GetProtocol()), DecapVrf: g.GetDecapVrfId()})
	if errors.Is(err, api.TUNNEL_EXIST) {
		same := func(found vppcalls.VxlanGpe) bool { return sameVxlan(found.Vxlan, t) }
		idx, err = adoptAmong(ctx, k.vpp, k.vpp.DumpVxlanGpes, same, same, err)
		err = vxlanConflict(err, t)
	}
	return idx, err
}

func gpeLink(t vppcalls.VxlanGpe) *interfaces.VxlanLink_Gpe {
	return &interfaces.VxlanLink_Gpe{Protocol: interfaces.VxlanLink_Gpe_Protocol(t.Protocol), DecapVrfId: t.DecapVrf}
}
