package ipsecplugin

import (
	"strconv"

	"go.fd.io/govpp/binapi/interface_types"

	"github.com/tenuto-dev/tenuto/plugins/vpp/ipsecplugin/model"
	"github.com/tenuto-dev/tenuto/plugins/vpp/item"
)

// The names of the descriptors.
const (
	SAName               = "vpp-ipsec-sa"
	SPDName              = "vpp-ipsec-spd"
	SPDInterfaceName     = "vpp-spd-interface"
	SPName               = "vpp-ipsec-sp"
	TunnelProtectionName = "vpp-tun-protect"
)

// allInterfaces stands for an interface in dumps.
const allInterfaces = interface_types.InterfaceIndex(item.NoInterface)

// saKey returns the key of the association with a number.
func saKey(id uint32) string { return model.SAModel.KeyFor(number(id)) }

func number(id uint32) string { return strconv.FormatUint(uint64(id), 10) }
