package vnet

import (
	"slices"
	"strings"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim/internal/wire"
	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/l2"
)

// Bits of the L2 input features, per bridge domain and per interface; both
// bitmaps appear in replies.
const (
	featDrop = 1 << iota
	featXconnect
	featFlood
	featARPUFwd
	featARPTerm
	featUUFlood
	featUUFwd
	featForward
	featRewrite
	featLearn
	featVTR
)

// l2Mode is what an interface does with Ethernet frames.
type l2Mode uint8

const (
	modeL3 l2Mode = iota
	modeBridge
	modeXconnect
)

// l2Config is the L2 half of an interface.
type l2Config struct {
	mode     l2Mode
	bd       uint32 // index, not ID, of the bridge domain
	bvi      bool
	shg      uint8
	peer     uint32 // where a cross-connect sends to; may be gone
	features uint32
	on       string // other features that are on; see setLayer2
	seq      uint8  // changes whenever learnt MACs become invalid
	flood    floodClass
}

// floodClass decides an interface's place in the flood list of a bridge domain.
type floodClass uint8

const (
	floodNormal floodClass = iota
	floodBVI
	floodNone
)

// layer2 is the state of bridging.
type layer2 struct {
	domains []*bridgeDomain // by index; entries stay when a domain is deleted
	indexes instances
	byID    map[uint32]uint32
	idSeed  uint32
}

func newLayer2() layer2 {
	s := layer2{byID: make(map[uint32]uint32)}
	s.add(0)
	s.domains[0].features = featDrop
	return s
}

func (n *VNet) handleL2() {
	n.handleBridgeDomains()
	handle[l2.SwInterfaceSetL2BridgeReply](n.server, n.setL2Bridge)
	wire.Handle(n.server, n.l2Flags)
}

// leaveL2 undoes what an interface is in L2 before it gets a new role. Entries of
// the L2 FIB that were configured stay; only the BVI's own goes.
func (n *VNet) leaveL2(i *swInterface) {
	if i.l2.mode != modeBridge {
		return
	}
	bd := n.l2.domains[i.l2.bd]
	bd.removeMember(i)
	if bd.bvi == i.index {
		bd.bvi = none
		i.l2.bvi = false
		n.l2fib.delete(macKey{i.l2.bd, i.hw.mac}, i.index)
		i.l2.flood = floodNone
	}
	if bd.uuFwd == i.index {
		bd.uuFwd = none
		bd.features &^= featUUFwd
	}
	if (i.l2.features|bd.features)&featLearn != 0 {
		i.l2.seq++
	}
}

// toL3 takes an interface out of L2. The tag rewrite goes with it.
func (n *VNet) toL3(i *swInterface) {
	n.leaveL2(i)
	i.l2 = l2Config{features: featDrop, seq: i.l2.seq, flood: i.l2.flood}
	n.forgetL2(i.index)
}

// setLayer2 turns a feature of layer 2 on or off: one that the interface loses when it leaves layer 2,
// although VPP lists its settings still.
func (n *VNet) setLayer2(index ifIndex, feature string, on bool) {
	i := n.byIndex(index)
	if i == nil {
		return
	}
	all := strings.Fields(i.l2.on)
	at, has := slices.BinarySearch(all, feature)
	switch {
	case on && !has:
		all = slices.Insert(all, at, feature)
	case !on && has:
		all = slices.Delete(all, at, at+1)
	}
	i.l2.on = strings.Join(all, " ")
}

// forgetL2 makes the features forget what they keep for an interface in L2.
func (n *VNet) forgetL2(index uint32) {
	for _, f := range n.hooks.l2Leavers {
		f.leftL2(index)
	}
}

// toBridge puts an interface into a bridge domain. When the domain has a BVI
// already, the interface ends up in the domain without being a member of it: the
// way VPP leaves it.
func (n *VNet) toBridge(i *swInterface, index uint32, port l2.L2PortType, shg uint8) retval {
	n.leaveL2(i)
	bd := n.l2.domains[index]
	bd.validate()
	i.l2.mode, i.l2.bd, i.l2.bvi = modeBridge, index, false
	i.l2.seq++
	i.l2.features |= featForward | featUUFlood | featUUFwd | featFlood | featLearn | featARPUFwd | featARPTerm | featDrop
	i.l2.features &^= featXconnect
	switch port {
	case l2.L2_API_PORT_TYPE_UU_FWD:
		bd.uuFwd = i.index
		bd.features |= featUUFwd
		i.l2.shg = shg
		return ok
	case l2.L2_API_PORT_TYPE_BVI:
		if bd.bvi != none {
			return api.BD_ALREADY_HAS_BVI
		}
		bd.bvi = i.index
		i.l2.bvi = true
		i.l2.features &^= featLearn
		i.l2.flood = floodBVI
		n.l2fib.entries[macKey{index, i.hw.mac}] = macEntry{out: i.index, static: true, bvi: true}
	}
	i.l2.shg = shg
	bd.addMember(i)
	return ok
}

// l2Gone cleans up behind a deleted interface. Of a cross-connect the other side
// goes back to L3 too, whatever it has become since.
func (n *VNet) l2Gone(i *swInterface) {
	if i.l2.mode == modeXconnect {
		if peer := n.ifs.at(i.l2.peer); peer != nil {
			n.toL3(peer)
		}
		n.forgetL2(i.l2.peer)
	}
	if i.l2.mode != modeL3 {
		n.toL3(i)
	}
}

func (n *VNet) setL2Bridge(req *l2.SwInterfaceSetL2Bridge) retval {
	i := n.byIndex(req.RxSwIfIndex)
	switch {
	case i == nil:
		return api.INVALID_SW_IF_INDEX
	case req.PortType > l2.L2_API_PORT_TYPE_UU_FWD:
		return api.INVALID_VALUE
	case !req.Enable:
		n.toL3(i)
	case req.BdID > maxBridgeDomainID:
		return api.BD_ID_EXCEED_MAX
	default:
		if req.PortType == l2.L2_API_PORT_TYPE_BVI {
			if rv, crashes := n.noMAC(i, "bridged virtual interface"); crashes {
				return rv
			}
		}
		return n.toBridge(i, n.l2.findOrAdd(req.BdID), req.PortType, req.Shg)
	}
	return ok
}

func (n *VNet) l2Flags(_ *wire.Call, req *l2.L2Flags) *l2.L2FlagsReply {
	i := n.byIndex(req.SwIfIndex)
	if i == nil {
		return &l2.L2FlagsReply{Retval: int32(api.INVALID_SW_IF_INDEX)}
	}
	flags := l2.BdFlags(req.FeatureBitmap) &^ l2.BRIDGE_API_FLAG_ARP_UFWD
	if req.IsSet {
		i.l2.features |= featuresOf(flags)
	} else {
		i.l2.features &^= featuresOf(flags)
	}
	return &l2.L2FlagsReply{ResultingFeatureBitmap: i.l2.features}
}
