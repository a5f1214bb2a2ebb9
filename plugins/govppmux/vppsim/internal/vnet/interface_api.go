package vnet

import (
	"strings"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim/internal/wire"
	"go.fd.io/govpp/api"
	interfaces_api "go.fd.io/govpp/binapi/interface"
	"go.fd.io/govpp/binapi/interface_types"
)

func (n *VNet) handleInterfaces() {
	wire.HandleDump(n.server, n.swInterfaceDump)
	wire.Handle(n.server, n.swInterfaceSetFlags)
	wire.Handle(n.server, n.swInterfaceTagAddDel)
	wire.Handle(n.server, n.swInterfaceSetMacAddress)
	wire.Handle(n.server, n.swInterfaceGetMacAddress)
	wire.Handle(n.server, n.hwInterfaceSetMtu)
	wire.Handle(n.server, n.swInterfaceSetMtu)
	wire.Handle(n.server, n.swInterfaceSetInterfaceName)
}

// swInterfaceDump: an index of 0 means all, as ~0 does, and an unknown index means
// none; with a name filter the index is ignored.
func (n *VNet) swInterfaceDump(c *wire.Call, req *interfaces_api.SwInterfaceDump) {
	if !req.NameFilterValid && uint32(req.SwIfIndex) != none && req.SwIfIndex != 0 {
		if i := n.byIndex(req.SwIfIndex); i != nil {
			c.Send(n.details(i))
		}
		return
	}
	filter := ""
	if req.NameFilterValid {
		filter = strings.ToLower(req.NameFilter)
	}
	for _, i := range n.ifs.all() {
		if !i.hidden && strings.Contains(strings.ToLower(i.name()), filter) {
			c.Send(n.details(i))
		}
	}
}

func (n *VNet) details(i *swInterface) *interfaces_api.SwInterfaceDetails {
	d := &interfaces_api.SwInterfaceDetails{
		SwIfIndex:        interface_types.InterfaceIndex(i.index),
		SupSwIfIndex:     i.hw.swIndex,
		LinkDuplex:       i.hw.duplex,
		LinkSpeed:        i.hw.speed,
		LinkMtu:          i.hw.linkMTU(),
		Mtu:              i.mtu[:],
		InterfaceName:    i.name(),
		InterfaceDevType: i.hw.device,
		Tag:              i.tag,
	}
	if i.adminUp {
		d.Flags |= interface_types.IF_STATUS_API_FLAG_ADMIN_UP
	}
	if i.hw.linkUp {
		d.Flags |= interface_types.IF_STATUS_API_FLAG_LINK_UP
	}
	if rewrite, exists := n.l2.rewrites[i.index]; exists && i.hw.ethernet {
		d.VtrOp, d.VtrTag1, d.VtrTag2 = rewrite.op, uint32(rewrite.tag1), uint32(rewrite.tag2)
		if rewrite.dot1q {
			d.VtrPushDot1q = 1
		}
	}
	if i.isSub {
		i.sub.describe(d)
	} else {
		d.L2Address = i.hw.mac
	}
	return d
}

func (n *VNet) swInterfaceSetFlags(_ *wire.Call, req *interfaces_api.SwInterfaceSetFlags) *interfaces_api.SwInterfaceSetFlagsReply {
	rv := api.INVALID_SW_IF_INDEX
	if i := n.byIndex(req.SwIfIndex); i != nil {
		rv = n.setAdmin(i, req.Flags&interface_types.IF_STATUS_API_FLAG_ADMIN_UP != 0)
	}
	return &interfaces_api.SwInterfaceSetFlagsReply{Retval: int32(rv)}
}

func (n *VNet) swInterfaceTagAddDel(_ *wire.Call, req *interfaces_api.SwInterfaceTagAddDel) *interfaces_api.SwInterfaceTagAddDelReply {
	rv := ok
	switch i := n.byIndex(req.SwIfIndex); {
	case i == nil:
		rv = api.INVALID_SW_IF_INDEX
	case !req.IsAdd:
		i.tag = ""
	case req.Tag == "":
		rv = api.INVALID_VALUE
	default:
		i.tag = req.Tag[:min(len(req.Tag), 63)]
	}
	return &interfaces_api.SwInterfaceTagAddDelReply{Retval: int32(rv)}
}

func (n *VNet) swInterfaceSetMacAddress(_ *wire.Call, req *interfaces_api.SwInterfaceSetMacAddress) *interfaces_api.SwInterfaceSetMacAddressReply {
	rv := ok
	switch i := n.byIndex(req.SwIfIndex); {
	case i == nil:
		rv = api.INVALID_SW_IF_INDEX
	case i.isSub || !i.hw.ethernet:
		rv = api.UNIMPLEMENTED
	default:
		n.setMAC(i, req.MacAddress)
	}
	return &interfaces_api.SwInterfaceSetMacAddressReply{Retval: int32(rv)}
}

func (n *VNet) swInterfaceGetMacAddress(_ *wire.Call, req *interfaces_api.SwInterfaceGetMacAddress) *interfaces_api.SwInterfaceGetMacAddressReply {
	i := n.byIndex(req.SwIfIndex)
	if i == nil {
		return &interfaces_api.SwInterfaceGetMacAddressReply{Retval: int32(api.INVALID_SW_IF_INDEX)}
	}
	return &interfaces_api.SwInterfaceGetMacAddressReply{MacAddress: i.hw.mac}
}

func (n *VNet) hwInterfaceSetMtu(_ *wire.Call, req *interfaces_api.HwInterfaceSetMtu) *interfaces_api.HwInterfaceSetMtuReply {
	rv := ok
	switch i := n.byIndex(req.SwIfIndex); {
	case i == nil:
		rv = api.INVALID_SW_IF_INDEX
	case i.isSub:
		rv = api.INVALID_VALUE
	case !i.hw.ethernet:
		rv = api.FEATURE_DISABLED
	default:
		rv = n.setMaxFrame(i.hw, uint32(req.Mtu))
	}
	return &interfaces_api.HwInterfaceSetMtuReply{Retval: int32(rv)}
}

func (n *VNet) swInterfaceSetMtu(_ *wire.Call, req *interfaces_api.SwInterfaceSetMtu) *interfaces_api.SwInterfaceSetMtuReply {
	rv := ok
	if i := n.byIndex(req.SwIfIndex); i == nil {
		rv = api.INVALID_SW_IF_INDEX
	} else {
		copy(i.mtu[:], req.Mtu)
	}
	return &interfaces_api.SwInterfaceSetMtuReply{Retval: int32(rv)}
}

func (n *VNet) swInterfaceSetInterfaceName(_ *wire.Call, req *interfaces_api.SwInterfaceSetInterfaceName) *interfaces_api.SwInterfaceSetInterfaceNameReply {
	rv := ok
	switch i := n.byIndex(req.SwIfIndex); {
	case i == nil:
		rv = api.INVALID_SW_IF_INDEX
	case req.Name == "":
		rv = api.INVALID_VALUE
	default:
		i.hw.name = req.Name
	}
	return &interfaces_api.SwInterfaceSetInterfaceNameReply{Retval: int32(rv)}
}
