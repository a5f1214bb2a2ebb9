package vnet

import (
	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/ip_types"
	"go.fd.io/govpp/binapi/tunnel_types"
)

// newTunnel makes a device without Ethernet header, down, whose link follows the
// admin state.
func (n *VNet) newTunnel(name, device string, mtu uint32) *swInterface {
	hw := &hwInterface{name: name, device: device}
	n.linkFollowsAdmin(hw)
	i := n.createHardware(hw)
	i.mtu[mtuL3] = mtu
	return i
}

// parked are the interfaces of deleted tunnels of a kind that VPP hides instead
// of deleting them; the one hidden last is used first. They keep their names,
// tags and MTUs.
type parked struct{ free []uint32 }

// park hides the interface of a deleted tunnel.
func (n *VNet) park(p *parked, i *swInterface) {
	n.setAdmin(i, false)
	n.l2Gone(i)
	i.hidden = true
	p.free = append(p.free, i.index)
}

// unpark returns a hidden interface, nil if there is none.
func (n *VNet) unpark(p *parked) *swInterface {
	last := len(p.free) - 1
	if last < 0 {
		return nil
	}
	i := n.ifs.at(p.free[last])
	p.free, i.hidden = p.free[:last], false
	return i
}

// sameFamily reports that two addresses are of one version of IP.
func sameFamily(a, b ip_types.Address) bool { return a.Af == b.Af }

// noGroupInterface reports that a tunnel to a multicast group lacks the interface
// that it needs.
func (n *VNet) noGroupInterface(dst ip_types.Address, index ifIndex) bool {
	return addrOf(dst).IsMulticast() && n.byIndex(index) == nil
}

// checkMode refuses modes that VPP does not have, and another end for a tunnel
// that has many.
func checkMode(mode tunnel_types.TunnelMode, dst ip_types.Address) retval {
	switch {
	case mode != tunnel_types.TUNNEL_API_MODE_P2P && mode != tunnel_types.TUNNEL_API_MODE_MP:
		return api.INVALID_VALUE_2
	case mode == tunnel_types.TUNNEL_API_MODE_MP && !addrOf(dst).IsUnspecified():
		return api.INVALID_DST_ADDRESS
	}
	return ok
}
