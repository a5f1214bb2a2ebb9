package vnet

import (
	"fmt"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim/internal/wire"
	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/gtpu"
)

const (
	gtpuDevice = "GTPU"
	// gtpuNodes is how many nodes received packets can go to.
	gtpuNodes = 4
)

type gtpus struct {
	*VNet
	kind[gtpu.GtpuAddDelTunnelV2]
	parked
}

func newGtpus(n *VNet) feature { return &gtpus{VNet: n} }

func (gs *gtpus) register(server *wire.Server) {
	handleCreate[gtpu.GtpuAddDelTunnelV2Reply](server, gs.setGtpu)
	handleCreate[gtpu.GtpuAddDelTunnelReply](server, func(req *gtpu.GtpuAddDelTunnel) (ifIndex, retval) {
		return gs.setGtpu(&gtpu.GtpuAddDelTunnelV2{
			IsAdd: req.IsAdd, SrcAddress: req.SrcAddress, DstAddress: req.DstAddress, McastSwIfIndex: req.McastSwIfIndex,
			EncapVrfID: req.EncapVrfID, DecapNextIndex: gtpu.GtpuDecapNextType(req.DecapNextIndex), Teid: req.Teid, Tteid: req.Tteid,
		})
	})
	wire.HandleDump(server, func(c *wire.Call, req *gtpu.GtpuTunnelV2Dump) {
		for index, t := range gs.of(req.SwIfIndex) {
			c.Send(&gtpu.GtpuTunnelV2Details{
				SwIfIndex: index, SrcAddress: t.SrcAddress, DstAddress: t.DstAddress,
				McastSwIfIndex: t.McastSwIfIndex, EncapVrfID: t.EncapVrfID, DecapNextIndex: t.DecapNextIndex,
				Teid: t.Teid, Tteid: t.Tteid, PduExtension: t.PduExtension, Qfi: t.Qfi,
			})
		}
	})
	wire.HandleDump(server, func(c *wire.Call, req *gtpu.GtpuTunnelDump) {
		for index, t := range gs.of(req.SwIfIndex) {
			c.Send(&gtpu.GtpuTunnelDetails{
				SwIfIndex: index, SrcAddress: t.SrcAddress, DstAddress: t.DstAddress,
				McastSwIfIndex: t.McastSwIfIndex, EncapVrfID: t.EncapVrfID, DecapNextIndex: uint32(t.DecapNextIndex),
				Teid: t.Teid, Tteid: t.Tteid,
			})
		}
	})
}

func (gs *gtpus) reset() { gs.kind, gs.parked = kind[gtpu.GtpuAddDelTunnelV2]{}, parked{} }

// setGtpu: tunnels differ by the other end and the TEID alone.
func (gs *gtpus) setGtpu(req *gtpu.GtpuAddDelTunnelV2) (ifIndex, retval) {
	switch {
	case gs.fibs.Table(familyOf(addrOf(req.DstAddress)), req.EncapVrfID) == nil:
		return noInterface, api.NO_SUCH_FIB
	case addrOf(req.SrcAddress) == addrOf(req.DstAddress):
		return noInterface, api.SAME_SRC_DST
	case gs.noGroupInterface(req.DstAddress, req.McastSwIfIndex):
		return noInterface, api.INVALID_SW_IF_INDEX
	}
	instance, has := gs.with(func(has *gtpu.GtpuAddDelTunnelV2) bool {
		return addrOf(has.DstAddress) == addrOf(req.DstAddress) && has.Teid == req.Teid
	})
	switch {
	case req.IsAdd && has != nil:
		return noInterface, api.TUNNEL_EXIST
	case req.IsAdd:
		return gs.addGtpu(req)
	case has == nil:
		return noInterface, api.NO_SUCH_ENTRY
	}
	gs.remove(instance)
	gs.park(&gs.parked, gs.ifs.at(has.swIndex))
	return ifIndex(has.swIndex), ok
}

func (gs *gtpus) addGtpu(t *gtpu.GtpuAddDelTunnelV2) (ifIndex, retval) {
	if uint32(t.DecapNextIndex) == none {
		t.DecapNextIndex = gtpu.GTPU_API_DECAP_NEXT_L2
	}
	if t.DecapNextIndex >= gtpuNodes {
		return noInterface, api.INVALID_DECAP_NEXT
	}
	if t.Tteid == 0 {
		t.Tteid = t.Teid
	}
	i := gs.unpark(&gs.parked)
	if i == nil {
		i = gs.newTunnel(fmt.Sprintf("gtpu_tunnel%d", gs.next()), gtpuDevice, 0)
	}
	gs.keep(i, t)
	gs.setAdmin(i, true)
	return ifIndex(i.index), ok
}
