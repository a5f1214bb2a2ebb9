package vnet

import (
	"maps"
	"net/netip"
	"slices"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim/internal/wire"
	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/interface_types"
	"go.fd.io/govpp/binapi/l2"
)

func (n *VNet) handleBridgeDomains() {
	wire.Handle(n.server, func(_ *wire.Call, req *l2.BridgeDomainAddDel) *l2.BridgeDomainAddDelReply {
		return &l2.BridgeDomainAddDelReply{Retval: int32(n.bridgeDomainAddDel(req))}
	})
	wire.Handle(n.server, func(_ *wire.Call, req *l2.BridgeDomainAddDelV2) *l2.BridgeDomainAddDelV2Reply {
		v1 := l2.BridgeDomainAddDel(*req)
		if v1.IsAdd && v1.BdID == none {
			v1.BdID = n.l2.unusedID()
		}
		return &l2.BridgeDomainAddDelV2Reply{Retval: int32(n.bridgeDomainAddDel(&v1)), BdID: v1.BdID}
	})
	wire.HandleDump(n.server, n.bridgeDomainDump)
	wire.Handle(n.server, n.bridgeFlags)
	wire.Handle(n.server, n.bridgeDomainSetMacAge)
	wire.Handle(n.server, n.bridgeDomainSetLearnLimit)
	wire.Handle(n.server, n.bdIPMacAddDel)
	wire.Handle(n.server, n.bdIPMacFlush)
	wire.HandleDump(n.server, n.bdIPMacDump)
}

func (n *VNet) bridgeDomainAddDel(req *l2.BridgeDomainAddDel) api.VPPApiError {
	if req.IsAdd {
		return n.l2.createDomain(req)
	}
	return n.l2.deleteDomain(req.BdID)
}

// bridgeDomainDump: ~0 means all. The filter by interface exists in the message
// only; VPP returns nothing for it.
func (n *VNet) bridgeDomainDump(c *wire.Call, req *l2.BridgeDomainDump) {
	if uint32(req.SwIfIndex) != none || req.BdID == 0 {
		return
	}
	for _, bd := range n.l2.domains {
		if bd.features != 0 && bd.id > 0 && (req.BdID == none || req.BdID == bd.id) {
			c.Send(n.bridgeDomainDetails(bd))
		}
	}
}

func (n *VNet) bridgeDomainDetails(bd *bridgeDomain) *l2.BridgeDomainDetails {
	d := &l2.BridgeDomainDetails{
		BdID:           bd.id,
		Flood:          bd.features&featFlood != 0,
		UuFlood:        bd.features&featUUFlood != 0,
		Forward:        bd.features&featForward != 0,
		Learn:          bd.features&featLearn != 0,
		ArpTerm:        bd.features&featARPTerm != 0,
		ArpUfwd:        bd.features&featARPUFwd != 0,
		MacAge:         bd.macAge,
		BdTag:          bd.tag,
		BviSwIfIndex:   interface_types.InterfaceIndex(bd.bvi),
		UuFwdSwIfIndex: interface_types.InterfaceIndex(bd.uuFwd),
	}
	for _, member := range bd.members {
		m := l2.BridgeDomainSwIf{SwIfIndex: interface_types.InterfaceIndex(member)}
		if i := n.ifs.at(member); i != nil {
			m.Shg = i.l2.shg
		}
		d.SwIfDetails = append(d.SwIfDetails, m)
	}
	d.NSwIfs = uint32(len(d.SwIfDetails))
	return d
}

func (n *VNet) bridgeFlags(_ *wire.Call, req *l2.BridgeFlags) *l2.BridgeFlagsReply {
	bd, rv := n.l2.domain(req.BdID)
	if rv != ok {
		return &l2.BridgeFlagsReply{Retval: int32(rv)}
	}
	bd.validate()
	if req.IsSet {
		bd.features |= featuresOf(req.Flags)
	} else {
		bd.features &^= featuresOf(req.Flags)
	}
	return &l2.BridgeFlagsReply{ResultingFeatureBitmap: bd.features}
}

func (n *VNet) bridgeDomainSetMacAge(_ *wire.Call, req *l2.BridgeDomainSetMacAge) *l2.BridgeDomainSetMacAgeReply {
	bd, rv := n.l2.domain(req.BdID)
	if rv == ok {
		bd.macAge = req.MacAge
	}
	return &l2.BridgeDomainSetMacAgeReply{Retval: int32(rv)}
}

func (n *VNet) bridgeDomainSetLearnLimit(_ *wire.Call, req *l2.BridgeDomainSetLearnLimit) *l2.BridgeDomainSetLearnLimitReply {
	bd, rv := n.l2.domain(req.BdID)
	if rv == ok {
		bd.learnLimit = req.LearnLimit
	}
	return &l2.BridgeDomainSetLearnLimitReply{Retval: int32(rv)}
}

// bdIPMacAddDel changes the table that ARP termination answers from. Deleting needs
// the right MAC.
func (n *VNet) bdIPMacAddDel(_ *wire.Call, req *l2.BdIPMacAddDel) *l2.BdIPMacAddDelReply {
	bd, rv := n.l2.domain(req.Entry.BdID)
	if rv != ok {
		return &l2.BdIPMacAddDelReply{Retval: int32(rv)}
	}
	bd.validate()
	addr := addrOf(req.Entry.IP)
	old, exists := bd.arp[addr]
	switch {
	case req.IsAdd:
		bd.arp[addr] = req.Entry.Mac
	case exists && old == req.Entry.Mac:
		delete(bd.arp, addr)
	default:
		rv = api.UNSPECIFIED
	}
	return &l2.BdIPMacAddDelReply{Retval: int32(rv)}
}

func (n *VNet) bdIPMacFlush(_ *wire.Call, req *l2.BdIPMacFlush) *l2.BdIPMacFlushReply {
	bd, rv := n.l2.domain(req.BdID)
	if rv == ok {
		clear(bd.arp)
	}
	return &l2.BdIPMacFlushReply{Retval: int32(rv)}
}

func (n *VNet) bdIPMacDump(c *wire.Call, req *l2.BdIPMacDump) {
	for index, bd := range n.l2.domains {
		if index == 0 || bd.features == 0 || (req.BdID != none && req.BdID != bd.id) {
			continue
		}
		for _, addr := range slices.SortedFunc(maps.Keys(bd.arp), netip.Addr.Compare) {
			c.Send(&l2.BdIPMacDetails{Entry: l2.BdIPMac{BdID: bd.id, IP: apiAddr(addr), Mac: bd.arp[addr]}})
		}
	}
}
