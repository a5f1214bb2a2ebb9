package vnet

import (
	"fmt"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim/internal/wire"
	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/ip_types"
	"go.fd.io/govpp/binapi/ipsec"
)

const (
	ipsecDevice = "IPSEC Tunnel"
	// maxIpsecs is the number of instances of IPsec interfaces.
	maxIpsecs = 16 * 1024
)

type ipsecs struct {
	*VNet
	kind[ipsec.IpsecItf]
}

func newIpsecs(n *VNet) feature { return &ipsecs{VNet: n} }

func (is *ipsecs) register(server *wire.Server) {
	handleCreate[ipsec.IpsecItfCreateReply](server, func(req *ipsec.IpsecItfCreate) (ifIndex, retval) {
		return is.createIpsec(req.Itf)
	})
	handle[ipsec.IpsecItfDeleteReply](server, func(req *ipsec.IpsecItfDelete) retval {
		i := is.byIndex(req.SwIfIndex)
		if i == nil || i.isSub || i.hw.device != ipsecDevice {
			return api.INVALID_SW_IF_INDEX
		}
		is.names.release(is.at(i.hw.instance).config.UserInstance)
		is.remove(i.hw.instance)
		is.deleteHardware(i.hw)
		return ok
	})
	wire.HandleDump(server, func(c *wire.Call, req *ipsec.IpsecItfDump) {
		for index, itf := range is.of(req.SwIfIndex) {
			d := &ipsec.IpsecItfDetails{Itf: *itf}
			d.Itf.SwIfIndex = index
			c.Send(d)
		}
	})
}

func (is *ipsecs) reset() { is.kind = kind[ipsec.IpsecItf]{} }

// createIpsec makes ipsec<instance>, down, with the lowest free instance if none
// is asked for.
func (is *ipsecs) createIpsec(itf ipsec.IpsecItf) (ifIndex, retval) {
	if rv := checkMode(itf.Mode, ip_types.Address{}); rv != ok {
		return noInterface, rv
	}
	if itf.UserInstance == none {
		itf.UserInstance = is.names.take()
	} else if itf.UserInstance >= maxIpsecs || !is.names.claim(itf.UserInstance) {
		return noInterface, api.INVALID_REGISTRATION
	}
	i := is.newTunnel(fmt.Sprintf("ipsec%d", itf.UserInstance), ipsecDevice, tunnelMTU)
	is.keep(i, &itf)
	return ifIndex(i.index), ok
}
