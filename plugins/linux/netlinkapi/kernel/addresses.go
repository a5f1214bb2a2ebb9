package kernel

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"net"
	"net/netip"
	"slices"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
)

func (h *handle) Addresses(ctx context.Context) ([]netlinkapi.Address, error) {
	return dump(ctx, h.lease, "list addresses", func() (all []netlinkapi.Address, err error) {
		r := nl.NewNetlinkRequest(unix.RTM_GETADDR, unix.NLM_F_DUMP)
		r.Sockets = map[int]*nl.SocketHandle{unix.NETLINK_ROUTE: h.ns.links}
		r.AddData(nl.NewIfAddrmsg(unix.AF_UNSPEC))
		messages, err := r.Execute(unix.NETLINK_ROUTE, unix.RTM_NEWADDR)
		for _, m := range messages {
			if a, ok := parseAddress(m); ok {
				all = append(all, a)
			}
		}
		return all, err
	})
}

const (
	// ifaProtocol is IFA_PROTO of linux/if_addr.h.
	ifaProtocol = 11
	// forever is a lifetime in struct ifa_cacheinfo.
	forever = math.MaxUint32
)

// parseAddress reads a message about an address.
func parseAddress(data []byte) (a netlinkapi.Address, ok bool) {
	if len(data) < unix.SizeofIfAddrmsg {
		return a, false
	}
	info := nl.DeserializeIfAddrmsg(data)
	a.Link, a.Scope = int(info.Index), netlinkapi.Scope(info.Scope)
	var local, other netip.Addr
	ours := false
	for kind, value := range attributes(data[unix.SizeofIfAddrmsg:]) {
		switch kind {
		case unix.IFA_LOCAL:
			local, _ = netip.AddrFromSlice(value)
		case unix.IFA_ADDRESS: // of the other end, if there is a local one
			other, _ = netip.AddrFromSlice(value)
		case unix.IFA_CACHEINFO:
			a.Preferred, a.Valid = remaining(int32At(value)), remaining(int32At(value[min(4, len(value)):]))
		case ifaProtocol:
			ours = len(value) > 0 && value[0] == uint8(netlinkapi.ProtocolAgent)
		}
	}
	if !local.IsValid() {
		local = other
	}
	a.Agent = ours && a.Valid != 0
	a.Prefix = netip.PrefixFrom(local, int(info.Prefixlen))
	return a, a.Prefix.IsValid()
}

// remaining converts a lifetime that was read.
func remaining(lifetime int) uint32 {
	if uint32(lifetime) == forever {
		return 0
	}
	return max(uint32(lifetime), 1)
}

func (h *handle) AddAddress(ctx context.Context, a netlinkapi.Address) error {
	return h.setAddress(ctx, unix.NLM_F_CREATE|unix.NLM_F_EXCL, a)
}

func (h *handle) SetAddress(ctx context.Context, a netlinkapi.Address) error {
	return h.setAddress(ctx, unix.NLM_F_CREATE|unix.NLM_F_REPLACE, a)
}

func (l *lease) setAddress(ctx context.Context, flags int, a netlinkapi.Address) error {
	return l.change(ctx, fmt.Sprintf("add address %s", a.Prefix), func() error {
		err := l.ns.exchange([]request{addressRequest(flags, a)})[0]
		if errors.Is(err, unix.EACCES) && a.Prefix.Addr().Is6() { // IPv6 is disabled on the link
			if err = l.ns.enableIPv6(a.Link); err == nil {
				err = l.ns.exchange([]request{addressRequest(flags, a)})[0]
			}
		}
		return err
	})
}

// addressRequest encodes an address, with the broadcast address that ip-address(8) chooses for
// "broadcast +".
func addressRequest(flags int, a netlinkapi.Address) request {
	ip, bits := a.Prefix.Addr(), a.Prefix.Bits()
	r := newRequest(unix.RTM_NEWADDR, flags, (&nl.IfAddrmsg{IfAddrmsg: unix.IfAddrmsg{
		Family: uint8(family(ip)), Prefixlen: uint8(bits), Scope: uint8(a.Scope), Index: uint32(a.Link),
	}}).Serialize())
	r.add(unix.IFA_LOCAL, ip.AsSlice())
	r.add(unix.IFA_ADDRESS, ip.AsSlice())
	if ip.Is4() && bits < 31 {
		broadcast := ip.As4()
		binary.BigEndian.PutUint32(broadcast[:], binary.BigEndian.Uint32(broadcast[:])|math.MaxUint32>>bits)
		r.add(unix.IFA_BROADCAST, broadcast[:])
	}
	if a.Valid == 0 {
		return r
	}
	r.add(unix.IFA_CACHEINFO, slices.Concat(u32(cmp.Or(a.Preferred, a.Valid)), u32(a.Valid), make([]byte, 8)))
	if a.Agent {
		r.add(ifaProtocol, u8(uint8(netlinkapi.ProtocolAgent)))
	}
	return r
}

// enableIPv6 enables IPv6 on the link and on the loopback, without which
// packets to the link's own addresses are lost.
func (ns *namespace) enableIPv6(index int) error {
	link, err := ns.linkByIndex(index)
	if err != nil {
		return err
	}
	for _, name := range []string{"lo", link.Name} {
		if err := ns.writeSysctl("0", "net", "ipv6", "conf", name, "disable_ipv6"); err != nil {
			return err
		}
	}
	return nil
}

func (h *handle) DeleteAddress(ctx context.Context, a netlinkapi.Address) error {
	return h.change(ctx, fmt.Sprintf("delete address %s", a.Prefix), func() error {
		return h.ns.route.AddrDel(byIndex(a.Link), &netlink.Addr{IPNet: ipNet(a.Prefix)})
	})
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
