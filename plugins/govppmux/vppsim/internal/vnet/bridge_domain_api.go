package vnet

import (
	"maps"
	"net/netip"
	"slices"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim/internal/wire"
	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/l2"
)

func (n *VNet) handleBridgeDomains() {
	handle[l2.BridgeDomainAddDelReply](n.server, n.bridgeDomainAddDel)
	wire.Handle(n.server, func(_ *wire.Call, req *l2.BridgeDomainAddDelV2) *l2.BridgeDomainAddDelV2Reply {
		v1 := l2.BridgeDomainAddDel(*req)
		if v1.IsAdd && v1.BdID == none {
			v1.BdID = n.l2.unusedID()
		}
		return &l2.BridgeDomainAddDelV2Reply{Retval: int32(n.bridgeDomainAddDel(&v1)), BdID: v1.BdID}
	})
	wire.HandleDump(n.server, n.bridgeDomainDump)
	wire.Handle(n.server, n.bridgeFlags)
	handle[l2.BridgeDomainSetMacAgeReply](n.server, n.bridgeDomainSetMacAge)
	handle[l2.BridgeDomainSetLearnLimitReply](n.server, n.bridgeDomainSetLearnLimit)
	handle[l2.BdIPMacAddDelReply](n.server, n.bdIPMacAddDel)
	handle[l2.BdIPMacFlushReply](n.server, n.bdIPMacFlush)
	wire.HandleDump(n.server, n.bdIPMacDump)
}

func (n *VNet) bridgeDomainAddDel(req *l2.BridgeDomainAddDel) retval {
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
		BviSwIfIndex:   ifIndex(bd.bvi),
		UuFwdSwIfIndex: ifIndex(bd.uuFwd),
	}
	for _, member := range bd.members {
		m := l2.BridgeDomainSwIf{SwIfIndex: ifIndex(member)}
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

func (n *VNet) bridgeDomainSetMacAge(req *l2.BridgeDomainSetMacAge) retval {
	bd, rv := n.l2.domain(req.BdID)
	if rv == ok {
		bd.macAge = req.MacAge
	}
	return rv
}

func (n *VNet) bridgeDomainSetLearnLimit(req *l2.BridgeDomainSetLearnLimit) retval {
	bd, rv := n.l2.domain(req.BdID)
	if rv == ok {
		bd.learnLimit = req.LearnLimit
	}
	return rv
}

// bdIPMacAddDel changes the table that ARP termination answers from. Deleting needs
// the right MAC.
func (n *VNet) bdIPMacAddDel(req *l2.BdIPMacAddDel) retval {
	bd, rv := n.l2.domain(req.Entry.BdID)
	if rv != ok {
		return rv
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
	return rv
}

func (n *VNet) bdIPMacFlush(req *l2.BdIPMacFlush) retval {
	bd, rv := n.l2.domain(req.BdID)
	if rv == ok {
		clear(bd.arp)
	}
	return rv
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
