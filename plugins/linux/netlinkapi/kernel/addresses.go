package kernel

import (
	"errors"
	"fmt"
	"net"
	"net/netip"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
)

func (h *handle) Addresses() ([]netlinkapi.Address, error) {
	found, err := dump("list addresses", func() ([]netlink.Addr, error) {
		return h.ns.route.AddrList(nil, netlink.FAMILY_ALL)
	})
	if err != nil {
		return nil, err
	}
	addrs := make([]netlinkapi.Address, 0, len(found))
	for _, a := range found {
		if p, ok := prefix(a.IPNet); ok {
			addrs = append(addrs, netlinkapi.Address{
				Link: a.LinkIndex, Prefix: p, Scope: netlinkapi.Scope(a.Scope), Dynamic: a.Flags&unix.IFA_F_PERMANENT == 0,
			})
		}
	}
	return addrs, nil
}

func (h *handle) AddAddress(a netlinkapi.Address) error {
	addr := &netlink.Addr{IPNet: ipNet(a.Prefix), Scope: int(a.Scope)}
	err := h.ns.route.AddrAdd(byIndex(a.Link), addr)
	if errors.Is(err, unix.EACCES) && a.Prefix.Addr().Is6() { // IPv6 is disabled on the link
		if err = h.enableIPv6(a.Link); err == nil {
			err = h.ns.route.AddrAdd(byIndex(a.Link), addr)
		}
	}
	return classify(fmt.Sprintf("add address %s", a.Prefix), err)
}

// enableIPv6 enables IPv6 on the link and on the loopback, without which
// packets to the link's own addresses are lost.
func (h *handle) enableIPv6(index int) error {
	link, err := h.LinkByIndex(index)
	if err != nil {
		return err
	}
	for _, name := range []string{"lo", link.Name} {
		if err := h.writeSysctl("0", "net", "ipv6", "conf", name, "disable_ipv6"); err != nil {
			return err
		}
	}
	return nil
}

func (h *handle) DeleteAddress(a netlinkapi.Address) error {
	err := h.ns.route.AddrDel(byIndex(a.Link), &netlink.Addr{IPNet: ipNet(a.Prefix)})
	return classify(fmt.Sprintf("delete address %s", a.Prefix), err)
}

func (h *handle) Neighbours() ([]netlinkapi.Neighbour, error) {
	found, err := dump("list neighbours", func() ([]netlink.Neigh, error) {
		return h.ns.route.NeighList(0, netlink.FAMILY_ALL)
	})
	if err != nil {
		return nil, err
	}
	ns := make([]netlinkapi.Neighbour, 0, len(found))
	for _, n := range found {
		ip, ok := netip.AddrFromSlice(n.IP)
		if !ok || n.Family != netlink.FAMILY_V4 && n.Family != netlink.FAMILY_V6 {
			continue // an entry of a bridge
		}
		ns = append(ns, netlinkapi.Neighbour{
			Link: n.LinkIndex, IP: ip.Unmap(), MAC: n.HardwareAddr, Permanent: n.State&netlink.NUD_PERMANENT != 0,
		})
	}
	return ns, nil
}

func (h *handle) SetNeighbour(n netlinkapi.Neighbour) error {
	err := h.ns.route.NeighSet(neigh(n))
	return classify(fmt.Sprintf("set neighbour %s", n.IP), err)
}

func (h *handle) DeleteNeighbour(n netlinkapi.Neighbour) error {
	err := h.ns.route.NeighDel(neigh(n))
	return classify(fmt.Sprintf("delete neighbour %s", n.IP), err)
}

func neigh(n netlinkapi.Neighbour) *netlink.Neigh {
	return &netlink.Neigh{
		LinkIndex:    n.Link,
		Family:       family(n.IP),
		State:        netlink.NUD_PERMANENT,
		Type:         unix.RTN_UNICAST,
		IP:           n.IP.AsSlice(),
		HardwareAddr: n.MAC,
	}
}

func family(ip netip.Addr) int {
	if ip.Is4() {
		return netlink.FAMILY_V4
	}
	return netlink.FAMILY_V6
}

func prefix(n *net.IPNet) (netip.Prefix, bool) {
	if n == nil {
		return netip.Prefix{}, false
	}
	ip, ok := netip.AddrFromSlice(n.IP)
	if !ok {
		return netip.Prefix{}, false
	}
	if len(n.Mask) == net.IPv4len {
		ip = ip.Unmap()
	}
	bits, _ := n.Mask.Size()
	return netip.PrefixFrom(ip, bits), true
}

func ipNet(p netip.Prefix) *net.IPNet {
	return &net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen())}
}
