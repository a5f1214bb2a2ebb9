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
	handle[interfaces_api.SwInterfaceSetFlagsReply](n.server, n.swInterfaceSetFlags)
	handle[interfaces_api.SwInterfaceTagAddDelReply](n.server, n.swInterfaceTagAddDel)
	handle[interfaces_api.SwInterfaceSetMacAddressReply](n.server, n.swInterfaceSetMacAddress)
	wire.Handle(n.server, n.swInterfaceGetMacAddress)
	handle[interfaces_api.HwInterfaceSetMtuReply](n.server, n.hwInterfaceSetMtu)
	handle[interfaces_api.SwInterfaceSetMtuReply](n.server, n.swInterfaceSetMtu)
	handle[interfaces_api.SwInterfaceSetInterfaceNameReply](n.server, n.swInterfaceSetInterfaceName)
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
		SwIfIndex:        ifIndex(i.index),
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
	if i.isSub {
		i.sub.describe(d)
	} else {
		d.L2Address = i.hw.mac
	}
	for _, f := range n.hooks.detailers {
		f.interfaceDetails(d, i)
	}
	return d
}

func (n *VNet) swInterfaceSetFlags(req *interfaces_api.SwInterfaceSetFlags) retval {
	i := n.byIndex(req.SwIfIndex)
	if i == nil {
		return api.INVALID_SW_IF_INDEX
	}
	return n.setAdmin(i, req.Flags&interface_types.IF_STATUS_API_FLAG_ADMIN_UP != 0)
}

func (n *VNet) swInterfaceTagAddDel(req *interfaces_api.SwInterfaceTagAddDel) retval {
	switch i := n.byIndex(req.SwIfIndex); {
	case i == nil:
		return api.INVALID_SW_IF_INDEX
	case !req.IsAdd:
		i.tag = ""
	case req.Tag == "":
		return api.INVALID_VALUE
	default:
		i.tag = req.Tag[:min(len(req.Tag), 63)]
	}
	return ok
}

func (n *VNet) swInterfaceSetMacAddress(req *interfaces_api.SwInterfaceSetMacAddress) retval {
	switch i := n.byIndex(req.SwIfIndex); {
	case i == nil:
		return api.INVALID_SW_IF_INDEX
	case i.isSub || !i.hw.ethernet:
		return api.UNIMPLEMENTED
	default:
		n.setMAC(i, req.MacAddress)
	}
	return ok
}

func (n *VNet) swInterfaceGetMacAddress(_ *wire.Call, req *interfaces_api.SwInterfaceGetMacAddress) *interfaces_api.SwInterfaceGetMacAddressReply {
	i := n.byIndex(req.SwIfIndex)
	if i == nil {
		return &interfaces_api.SwInterfaceGetMacAddressReply{Retval: int32(api.INVALID_SW_IF_INDEX)}
	}
	return &interfaces_api.SwInterfaceGetMacAddressReply{MacAddress: i.hw.mac}
}

func (n *VNet) hwInterfaceSetMtu(req *interfaces_api.HwInterfaceSetMtu) retval {
	i := n.byIndex(req.SwIfIndex)
	switch {
	case i == nil:
		return api.INVALID_SW_IF_INDEX
	case i.isSub:
		return api.INVALID_VALUE
	case !i.hw.ethernet:
		return api.FEATURE_DISABLED
	}
	return n.setMaxFrame(i.hw, uint32(req.Mtu))
}

func (n *VNet) swInterfaceSetMtu(req *interfaces_api.SwInterfaceSetMtu) retval {
	i := n.byIndex(req.SwIfIndex)
	if i == nil {
		return api.INVALID_SW_IF_INDEX
	}
	copy(i.mtu[:], req.Mtu)
	return ok
}

func (n *VNet) swInterfaceSetInterfaceName(req *interfaces_api.SwInterfaceSetInterfaceName) retval {
	switch i := n.byIndex(req.SwIfIndex); {
	case i == nil:
		return api.INVALID_SW_IF_INDEX
	case req.Name == "":
		return api.INVALID_VALUE
	default:
		i.hw.name = req.Name
	}
	return ok
}
