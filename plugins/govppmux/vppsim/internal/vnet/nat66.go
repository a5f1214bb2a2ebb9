package vnet

import (
	"fmt"
	"strings"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim/internal/wire"
	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/nat66"
	"go.fd.io/govpp/binapi/nat_types"
)

// nat66s is NAT66. It keeps the outside VRF table for ever.
type nat66s struct {
	*VNet
	on       bool
	outside  uint32
	ifs      pool[natInterface]
	mappings pool[nat66.Nat66AddDelStaticMapping]
}

func newNat66s(n *VNet) feature { return &nat66s{VNet: n} }

func (n *nat66s) register(server *wire.Server) {
	handle[nat66.Nat66PluginEnableDisableReply](server, func(req *nat66.Nat66PluginEnableDisable) retval {
		switch {
		case n.on && req.Enable:
			return alreadyThere
		case req.Enable:
			n.reset()
			n.on, n.outside = true, req.OutsideVrf
			n.holdTable(ip6, req.OutsideVrf)
		default:
			n.reset()
		}
		return ok
	})
	handle[nat66.Nat66AddDelInterfaceReply](server, n.changeInterface)
	wire.HandleDump(server, func(c *wire.Call, _ *nat66.Nat66InterfaceDump) {
		for _, i := range n.ifs.all() {
			d := &nat66.Nat66InterfaceDetails{SwIfIndex: ifIndex(i.index)}
			if i.inside {
				d.Flags = nat_types.NAT_IS_INSIDE
			}
			c.Send(d)
		}
	})
	handle[nat66.Nat66AddDelStaticMappingReply](server, n.changeMapping)
	wire.HandleDump(server, func(c *wire.Call, _ *nat66.Nat66StaticMappingDump) {
		for _, m := range n.mappings.all() {
			c.Send(&nat66.Nat66StaticMappingDetails{LocalIPAddress: m.LocalIPAddress, ExternalIPAddress: m.ExternalIPAddress, VrfID: m.VrfID})
		}
	})
}

// reset forgets all. A NAT66 that is disabled keeps the VRF tables of its mappings.
func (n *nat66s) reset() { *n = nat66s{VNet: n.VNet} }

func (n *nat66s) changeInterface(req *nat66.Nat66AddDelInterface) retval {
	at, has := n.ifs.find(func(i *natInterface) bool { return ifIndex(i.index) == req.SwIfIndex })
	switch {
	case n.byIndex(req.SwIfIndex) == nil:
		return api.INVALID_SW_IF_INDEX
	case !n.on:
		return alreadyThere
	case req.IsAdd && has != nil:
		return api.VALUE_EXIST
	case req.IsAdd:
		n.ifs.add(&natInterface{index: uint32(req.SwIfIndex), inside: req.Flags&nat_types.NAT_IS_INSIDE != 0})
	case has == nil:
		return api.NO_SUCH_ENTRY
	default:
		n.ifs.remove(at)
	}
	return ok
}

func (n *nat66s) changeMapping(req *nat66.Nat66AddDelStaticMapping) retval {
	at, has := n.mappings.find(func(m *nat66.Nat66AddDelStaticMapping) bool {
		return m.LocalIPAddress == req.LocalIPAddress && m.VrfID == req.VrfID
	})
	switch {
	case !n.on:
		return alreadyThere
	case req.IsAdd && has != nil:
		return api.VALUE_EXIST
	case req.IsAdd:
		n.holdTable(ip6, req.VrfID)
		kept := *req
		n.mappings.add(&kept)
	case has == nil:
		return api.NO_SUCH_ENTRY
	default:
		n.releaseTable(n.fibs.Table(ip6, has.VrfID))
		n.mappings.remove(at)
	}
	return ok
}

func (n *nat66s) dump(b *strings.Builder) {
	if !n.on {
		return
	}
	lines := []string{fmt.Sprintf("nat66 outside in %d\n", n.outside)}
	for _, i := range n.ifs.all() {
		lines = append(lines, fmt.Sprintf("nat66 on %s inside %t\n", n.orStaleIf(i.index), i.inside))
	}
	for _, m := range n.mappings.all() {
		lines = append(lines, fmt.Sprintf("nat66 %s in %d to %s\n", m.LocalIPAddress, m.VrfID, m.ExternalIPAddress))
	}
	dumpSorted(b, lines)
}
