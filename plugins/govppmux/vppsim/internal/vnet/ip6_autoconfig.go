package vnet

import (
	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim/internal/wire"
	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/rd_cp"
)

// handleIP6Autoconfig: an interface that listens to router advertisements has
// IPv6 enabled; VPP does not disable it again. No router ever advertises here.
func (n *VNet) handleIP6Autoconfig() {
	wire.Handle(n.server, func(_ *wire.Call, req *rd_cp.IP6NdAddressAutoconfig) *rd_cp.IP6NdAddressAutoconfigReply {
		i := n.byIndex(req.SwIfIndex)
		if i == nil {
			return &rd_cp.IP6NdAddressAutoconfigReply{Retval: int32(api.INVALID_SW_IF_INDEX)}
		}
		if req.Enable && !i.autoconfig {
			n.enableLink(i)
		}
		i.autoconfig, i.learnsRoutes = req.Enable, req.Enable && req.InstallDefaultRoutes
		return &rd_cp.IP6NdAddressAutoconfigReply{}
	})
}
