package vnet

import (
	"fmt"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim/internal/wire"
	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/gtpu"
	"go.fd.io/govpp/binapi/interface_types"
)

const (
	gtpuDevice = "GTPU"
	// gtpuNodes is how many nodes received packets can go to.
	gtpuNodes = 4
)

type gtpus struct {
	pool[gtpuTunnel]
	parked
}

type gtpuTunnel struct {
	swIndex uint32
	gtpu.GtpuAddDelTunnelV2
}

func (n *VNet) handleGtpus() {
	wire.Handle(n.server, func(_ *wire.Call, req *gtpu.GtpuAddDelTunnelV2) *gtpu.GtpuAddDelTunnelV2Reply {
		index, rv := n.setGtpu(*req)
		return &gtpu.GtpuAddDelTunnelV2Reply{Retval: int32(rv), SwIfIndex: index}
	})
	wire.Handle(n.server, func(_ *wire.Call, req *gtpu.GtpuAddDelTunnel) *gtpu.GtpuAddDelTunnelReply {
		index, rv := n.setGtpu(gtpu.GtpuAddDelTunnelV2{
			IsAdd: req.IsAdd, SrcAddress: req.SrcAddress, DstAddress: req.DstAddress, McastSwIfIndex: req.McastSwIfIndex,
			EncapVrfID: req.EncapVrfID, DecapNextIndex: gtpu.GtpuDecapNextType(req.DecapNextIndex), Teid: req.Teid, Tteid: req.Tteid,
		})
		return &gtpu.GtpuAddDelTunnelReply{Retval: int32(rv), SwIfIndex: index}
	})
	wire.HandleDump(n.server, func(c *wire.Call, req *gtpu.GtpuTunnelV2Dump) {
		n.gtpusOf(req.SwIfIndex, func(t *gtpuTunnel) {
			c.Send(&gtpu.GtpuTunnelV2Details{
				SwIfIndex: interface_types.InterfaceIndex(t.swIndex), SrcAddress: t.SrcAddress, DstAddress: t.DstAddress,
				McastSwIfIndex: t.McastSwIfIndex, EncapVrfID: t.EncapVrfID, DecapNextIndex: t.DecapNextIndex,
				Teid: t.Teid, Tteid: t.Tteid, PduExtension: t.PduExtension, Qfi: t.Qfi,
			})
		})
	})
	wire.HandleDump(n.server, func(c *wire.Call, req *gtpu.GtpuTunnelDump) {
		n.gtpusOf(req.SwIfIndex, func(t *gtpuTunnel) {
			c.Send(&gtpu.GtpuTunnelDetails{
				SwIfIndex: interface_types.InterfaceIndex(t.swIndex), SrcAddress: t.SrcAddress, DstAddress: t.DstAddress,
				McastSwIfIndex: t.McastSwIfIndex, EncapVrfID: t.EncapVrfID, DecapNextIndex: uint32(t.DecapNextIndex),
				Teid: t.Teid, Tteid: t.Tteid,
			})
		})
	})
}

func (n *VNet) gtpusOf(index interface_types.InterfaceIndex, send func(*gtpuTunnel)) {
	for _, t := range n.tunnels.gtpus.all() {
		if index == noInterface || uint32(index) == t.swIndex {
			send(t)
		}
	}
}

// setGtpu: tunnels differ by the other end and the TEID alone.
func (n *VNet) setGtpu(req gtpu.GtpuAddDelTunnelV2) (interface_types.InterfaceIndex, api.VPPApiError) {
	switch {
	case n.fibs.Table(familyOf(addrOf(req.DstAddress)), req.EncapVrfID) == nil:
		return noInterface, api.NO_SUCH_FIB
	case addrOf(req.SrcAddress) == addrOf(req.DstAddress):
		return noInterface, api.SAME_SRC_DST
	case n.noGroupInterface(req.DstAddress, req.McastSwIfIndex):
		return noInterface, api.INVALID_SW_IF_INDEX
	}
	for instance, has := range n.tunnels.gtpus.all() {
		if addrOf(has.DstAddress) != addrOf(req.DstAddress) || has.Teid != req.Teid {
			continue
		}
		if req.IsAdd {
			return noInterface, api.TUNNEL_EXIST
		}
		n.tunnels.gtpus.remove(instance)
		n.park(&n.tunnels.gtpus.parked, n.ifs.at(has.swIndex))
		return interface_types.InterfaceIndex(has.swIndex), ok
	}
	if !req.IsAdd {
		return noInterface, api.NO_SUCH_ENTRY
	}
	return n.addGtpu(&gtpuTunnel{GtpuAddDelTunnelV2: req})
}

func (n *VNet) addGtpu(t *gtpuTunnel) (interface_types.InterfaceIndex, api.VPPApiError) {
	if uint32(t.DecapNextIndex) == none {
		t.DecapNextIndex = gtpu.GTPU_API_DECAP_NEXT_L2
	}
	if t.DecapNextIndex >= gtpuNodes {
		return noInterface, api.INVALID_DECAP_NEXT
	}
	if t.Tteid == 0 {
		t.Tteid = t.Teid
	}
	i := n.unpark(&n.tunnels.gtpus.parked)
	if i == nil {
		i = n.newTunnel(fmt.Sprintf("gtpu_tunnel%d", n.tunnels.gtpus.next()), gtpuDevice, 0)
	}
	t.swIndex, i.hw.instance = i.index, n.tunnels.gtpus.add(t)
	n.setAdmin(i, true)
	return interface_types.InterfaceIndex(i.index), ok
}
