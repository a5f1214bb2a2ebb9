package vnet

import (
	"fmt"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim/internal/wire"
	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/interface_types"
	"go.fd.io/govpp/binapi/ip_types"
	"go.fd.io/govpp/binapi/ipsec"
)

const (
	ipsecDevice = "IPSEC Tunnel"
	// maxIpsecs is the number of instances of IPsec interfaces.
	maxIpsecs = 16 * 1024
)

type ipsecs struct {
	pool[ipsecInterface]
	names instances
}

type ipsecInterface struct {
	swIndex uint32
	ipsec.IpsecItf
}

func (n *VNet) handleIpsecs() {
	wire.Handle(n.server, func(_ *wire.Call, req *ipsec.IpsecItfCreate) *ipsec.IpsecItfCreateReply {
		index, rv := n.createIpsec(req.Itf)
		return &ipsec.IpsecItfCreateReply{Retval: int32(rv), SwIfIndex: index}
	})
	wire.Handle(n.server, func(_ *wire.Call, req *ipsec.IpsecItfDelete) *ipsec.IpsecItfDeleteReply {
		i := n.byIndex(req.SwIfIndex)
		if i == nil || i.isSub || i.hw.device != ipsecDevice {
			return &ipsec.IpsecItfDeleteReply{Retval: int32(api.INVALID_SW_IF_INDEX)}
		}
		n.tunnels.ipsecs.names.release(n.tunnels.ipsecs.at(i.hw.instance).UserInstance)
		n.tunnels.ipsecs.remove(i.hw.instance)
		n.deleteHardware(i.hw)
		return &ipsec.IpsecItfDeleteReply{}
	})
	wire.HandleDump(n.server, func(c *wire.Call, req *ipsec.IpsecItfDump) {
		for _, t := range n.tunnels.ipsecs.all() {
			if req.SwIfIndex == noInterface || uint32(req.SwIfIndex) == t.swIndex {
				d := &ipsec.IpsecItfDetails{Itf: t.IpsecItf}
				d.Itf.SwIfIndex = interface_types.InterfaceIndex(t.swIndex)
				c.Send(d)
			}
		}
	})
}

// createIpsec makes ipsec<instance>, down, with the lowest free instance if none
// is asked for.
func (n *VNet) createIpsec(itf ipsec.IpsecItf) (interface_types.InterfaceIndex, api.VPPApiError) {
	if rv := checkMode(itf.Mode, ip_types.Address{}); rv != ok {
		return noInterface, rv
	}
	if itf.UserInstance == none {
		itf.UserInstance = n.tunnels.ipsecs.names.take()
	} else if itf.UserInstance >= maxIpsecs || !n.tunnels.ipsecs.names.claim(itf.UserInstance) {
		return noInterface, api.INVALID_REGISTRATION
	}
	i := n.newTunnel(fmt.Sprintf("ipsec%d", itf.UserInstance), ipsecDevice, tunnelMTU)
	i.hw.instance = n.tunnels.ipsecs.add(&ipsecInterface{swIndex: i.index, IpsecItf: itf})
	return interface_types.InterfaceIndex(i.index), ok
}
