package vnet

import (
	"net/netip"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim/internal/wire"
	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/ip"
)

func (n *VNet) handleIP6Links() {
	handle[ip.SwInterfaceIP6EnableDisableReply](n.server, func(req *ip.SwInterfaceIP6EnableDisable) retval {
		i := n.byIndex(req.SwIfIndex)
		switch {
		case i == nil:
			return api.INVALID_SW_IF_INDEX
		case req.Enable:
			return n.enableLink(i)
		}
		return n.disableLink(i)
	})
	handle[ip.SwInterfaceIP6SetLinkLocalAddressReply](n.server, func(req *ip.SwInterfaceIP6SetLinkLocalAddress) retval {
		i := n.byIndex(req.SwIfIndex)
		if i == nil {
			return api.INVALID_SW_IF_INDEX
		}
		n.setLinkLocal(i, netip.AddrFrom16(req.IP))
		return ok
	})
	wire.Handle(n.server, func(_ *wire.Call, req *ip.SwInterfaceIP6GetLinkLocalAddress) *ip.SwInterfaceIP6GetLinkLocalAddressReply {
		i := n.byIndex(req.SwIfIndex)
		switch {
		case i == nil:
			return &ip.SwInterfaceIP6GetLinkLocalAddressReply{Retval: int32(api.INVALID_SW_IF_INDEX)}
		case !i.linkLocal.IsValid():
			return &ip.SwInterfaceIP6GetLinkLocalAddressReply{Retval: int32(api.IP6_NOT_ENABLED)}
		}
		return &ip.SwInterfaceIP6GetLinkLocalAddressReply{IP: i.linkLocal.As16()}
	})
}

// setLinkLocal gives an interface a link-local address of the user's choice,
// enabling IPv6 on it if necessary.
func (n *VNet) setLinkLocal(i *swInterface, addr netip.Addr) {
	if !i.linkLocal.IsValid() {
		i.linkLocalLocks++
		n.ip6RAs.linkEnabled(i)
	}
	i.linkLocal = addr
}

// enableLink enables IPv6 on an interface, once for each reason. Enabling it again
// counts, but says so.
func (n *VNet) enableLink(i *swInterface) retval {
	rv := ok
	if i.linkLocal.IsValid() {
		rv = api.VALUE_EXIST
	} else {
		i.linkLocal = linkLocalFromMAC(i.hw.mac)
		n.ip6RAs.linkEnabled(i)
	}
	i.linkLocalLocks++
	return rv
}

// disableLink takes back one reason, and disables IPv6 with the last.
func (n *VNet) disableLink(i *swInterface) retval {
	if i.linkLocalLocks == 0 {
		return api.IP6_NOT_ENABLED
	}
	i.linkLocalLocks--
	if i.linkLocalLocks == 0 {
		i.linkLocal = netip.Addr{}
		n.ip6RAs.linkDisabled(i)
	}
	return ok
}

// linkLocalFromMAC is the EUI-64 address of a MAC.
func linkLocalFromMAC(mac [6]byte) netip.Addr {
	return netip.AddrFrom16([16]byte{
		0xfe, 0x80, 0, 0, 0, 0, 0, 0,
		mac[0] ^ 2, mac[1], mac[2], 0xff, 0xfe, mac[3], mac[4], mac[5],
	})
}
