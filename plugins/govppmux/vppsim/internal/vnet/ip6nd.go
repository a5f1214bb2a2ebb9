package vnet

import (
	"fmt"
	"strings"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim/internal/wire"
	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/rd_cp"
)

// ip6nds are the interfaces that listen to router advertisements. They have IPv6
// enabled; VPP does not disable it again. No router ever advertises here.
type ip6nds struct {
	*VNet
	learnsRoutes map[uint32]bool // by sw_if_index
}

func newIp6nds(n *VNet) feature { return &ip6nds{VNet: n} }

func (nds *ip6nds) register(server *wire.Server) {
	handle[rd_cp.IP6NdAddressAutoconfigReply](server, nds.autoconfig)
}

func (nds *ip6nds) reset() { nds.learnsRoutes = make(map[uint32]bool) }

func (nds *ip6nds) interfaceRemoved(i *swInterface) { delete(nds.learnsRoutes, i.index) }

func (nds *ip6nds) autoconfig(req *rd_cp.IP6NdAddressAutoconfig) retval {
	i := nds.byIndex(req.SwIfIndex)
	if i == nil {
		return api.INVALID_SW_IF_INDEX
	}
	if !req.Enable {
		delete(nds.learnsRoutes, i.index)
		return ok
	}
	if _, listens := nds.learnsRoutes[i.index]; !listens {
		nds.enableLink(i)
	}
	nds.learnsRoutes[i.index] = req.InstallDefaultRoutes
	return ok
}

func (nds *ip6nds) dumpInterface(b *strings.Builder, i *swInterface) {
	if routes, listens := nds.learnsRoutes[i.index]; listens {
		fmt.Fprintf(b, "  router advertisements, routes %t\n", routes)
	}
}
