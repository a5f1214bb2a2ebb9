package kernel

import (
	"encoding/binary"
	"net/netip"
	"time"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
)

// How the kernel writes the parameters of links: the attributes in IFLA_INFO_DATA of
// rtnetlink(7). The agent reads and writes only the attributes that it knows.

const (
	tickOfBridge = 10 * time.Millisecond // USER_HZ of clock_t
	tickOfBond   = time.Millisecond
	// greKeyPresent says that packets have a key.
	greKeyPresent = 0x2000
	// noOwner is the owner and the group of a TUN that has none.
	noOwner = 1<<32 - 1
	// vlanLoose makes the administrative state of a VLAN independent of its parent's
	// state (loose_binding of ip-link(8)), as for every other link.
	vlanLoose = nl.VLAN_FLAG_LOOSE_BINDING
)

// infoData are attributes by number.
type infoData map[uint16][]byte

func (d infoData) u8(n uint16) uint8 {
	if len(d[n]) < 1 {
		return 0
	}
	return d[n][0]
}

// number returns a number of 16 or 32 bits.
func (d infoData) number(n uint16, order binary.ByteOrder) uint32 {
	switch v := d[n]; {
	case len(v) >= 4:
		return order.Uint32(v)
	case len(v) >= 2:
		return uint32(order.Uint16(v))
	}
	return 0
}

func (d infoData) host(n uint16) uint32    { return d.number(n, binary.NativeEndian) }
func (d infoData) network(n uint16) uint32 { return d.number(n, binary.BigEndian) }

// addr returns the first address that is there; the unspecified one is none.
func (d infoData) addr(numbers ...uint16) netip.Addr {
	for _, n := range numbers {
		if a, ok := netip.AddrFromSlice(d[n]); ok && !a.IsUnspecified() {
			return a
		}
	}
	return netip.Addr{}
}

// setAddr adds an address under the number of its version.
func (d infoData) setAddr(a netip.Addr, v4, v6 uint16) {
	switch {
	case a.Is4():
		d[v4] = a.AsSlice()
	case a.Is6():
		d[v6] = a.AsSlice()
	}
}

func be16(v uint16) []byte { return binary.BigEndian.AppendUint16(nil, v) }
func be32(v uint32) []byte { return binary.BigEndian.AppendUint32(nil, v) }
func u16(v uint16) []byte  { return binary.NativeEndian.AppendUint16(nil, v) }
func u32(v uint32) []byte  { return binary.NativeEndian.AppendUint32(nil, v) }
func u8(v uint8) []byte    { return []byte{v} }

func flag(on bool) []byte { return u8(uint8(number(on))) }

// fixed returns the attributes that a link has from the start; parent is 0 or the index
// of the link beneath.
func fixed(p netlinkapi.LinkParams, parent int) infoData {
	d := infoData{}
	switch p := p.(type) {
	case netlinkapi.VRF:
		d[nl.IFLA_VRF_TABLE] = u32(p.Table)
	case netlinkapi.VLAN:
		d[nl.IFLA_VLAN_ID] = u16(p.ID)
		d[nl.IFLA_VLAN_PROTOCOL] = be16(p.Protocol)
		d[nl.IFLA_VLAN_FLAGS] = append(u32(vlanLoose), u32(vlanLoose)...)
	case netlinkapi.VXLAN:
		d[nl.IFLA_VXLAN_ID] = u32(p.VNI)
		d[nl.IFLA_VXLAN_PORT] = be16(p.Port)
		d.setAddr(p.Local, nl.IFLA_VXLAN_LOCAL, nl.IFLA_VXLAN_LOCAL6)
		if parent != 0 {
			d[nl.IFLA_VXLAN_LINK] = u32(uint32(parent))
		}
	case netlinkapi.Bond:
		d[nl.IFLA_BOND_MODE] = u8(p.Mode)
		if p.Mode == netlinkapi.BondLACP {
			d[nl.IFLA_BOND_AD_LACP_RATE] = flag(p.LACPFast)
		}
	case netlinkapi.GRE:
		if p.Key != 0 {
			d[nl.IFLA_GRE_IFLAGS], d[nl.IFLA_GRE_OFLAGS] = be16(greKeyPresent), be16(greKeyPresent)
			d[nl.IFLA_GRE_IKEY], d[nl.IFLA_GRE_OKEY] = be32(p.Key), be32(p.Key)
		}
		d.setTunnel(p.Tunnel, parent, nl.IFLA_GRE_LINK, nl.IFLA_GRE_LOCAL, nl.IFLA_GRE_REMOTE, nl.IFLA_GRE_TTL)
	case netlinkapi.IPIP:
		d.setTunnel(p.Tunnel, parent, nl.IFLA_IPTUN_LINK, nl.IFLA_IPTUN_LOCAL, nl.IFLA_IPTUN_REMOTE, nl.IFLA_IPTUN_TTL)
	case netlinkapi.SIT:
		d.setTunnel(p.Tunnel, parent, nl.IFLA_IPTUN_LINK, nl.IFLA_IPTUN_LOCAL, nl.IFLA_IPTUN_REMOTE, nl.IFLA_IPTUN_TTL)
	}
	return d
}

func (d infoData) setTunnel(t netlinkapi.Tunnel, parent int, link, local, remote, ttl uint16) {
	d.setAddr(t.Local, local, local)
	d.setAddr(t.Remote, remote, remote)
	d[ttl] = u8(t.TTL)
	if parent != 0 {
		d[link] = u32(uint32(parent))
	}
}

// changeable adds the attributes that ChangeLink sets.
func (d infoData) changeable(p netlinkapi.LinkParams) {
	switch p := p.(type) {
	case netlinkapi.Bridge:
		d[nl.IFLA_BR_STP_STATE] = u32(number(p.STP))
		d[nl.IFLA_BR_AGEING_TIME] = u32(uint32(p.Ageing / tickOfBridge))
		if p.VLANFiltering {
			d[nl.IFLA_BR_VLAN_FILTERING] = flag(true)
		}
	case netlinkapi.VXLAN:
		d.setAddr(p.Remote, nl.IFLA_VXLAN_GROUP, nl.IFLA_VXLAN_GROUP6)
		d[nl.IFLA_VXLAN_TTL] = u8(p.TTL)
		d[nl.IFLA_VXLAN_LEARNING] = flag(p.Learning)
	case netlinkapi.Bond:
		d[nl.IFLA_BOND_MIIMON] = u32(uint32(p.MIIMon / tickOfBond))
		d[nl.IFLA_BOND_XMIT_HASH_POLICY] = u8(p.HashPolicy)
	case netlinkapi.MACVLAN:
		d[nl.IFLA_MACVLAN_MODE] = u32(uint32(p.Mode))
	case netlinkapi.IPVLAN:
		d[nl.IFLA_IPVLAN_MODE] = u16(uint16(p.Mode))
	}
}

// params is the inverse of fixed and changeable; nil for kinds without parameters here.
func params(kind string, d infoData) netlinkapi.LinkParams {
	switch kind {
	case netlinkapi.KindDummy:
		return netlinkapi.Dummy{}
	case netlinkapi.KindVRF:
		return netlinkapi.VRF{Table: d.host(nl.IFLA_VRF_TABLE)}
	case netlinkapi.KindBridge:
		return netlinkapi.Bridge{
			STP:    d.host(nl.IFLA_BR_STP_STATE) != 0,
			Ageing: time.Duration(d.host(nl.IFLA_BR_AGEING_TIME)) * tickOfBridge,

			VLANFiltering: d.u8(nl.IFLA_BR_VLAN_FILTERING) != 0,
		}
	case netlinkapi.KindVLAN:
		return netlinkapi.VLAN{ID: uint16(d.host(nl.IFLA_VLAN_ID)), Protocol: uint16(d.network(nl.IFLA_VLAN_PROTOCOL))}
	case netlinkapi.KindVXLAN:
		return netlinkapi.VXLAN{
			VNI: d.host(nl.IFLA_VXLAN_ID), Port: uint16(d.network(nl.IFLA_VXLAN_PORT)), TTL: d.u8(nl.IFLA_VXLAN_TTL),
			Remote:   d.addr(nl.IFLA_VXLAN_GROUP, nl.IFLA_VXLAN_GROUP6),
			Local:    d.addr(nl.IFLA_VXLAN_LOCAL, nl.IFLA_VXLAN_LOCAL6),
			Learning: d.u8(nl.IFLA_VXLAN_LEARNING) != 0,
		}
	case netlinkapi.KindBond:
		return netlinkapi.Bond{
			Mode: d.u8(nl.IFLA_BOND_MODE), HashPolicy: d.u8(nl.IFLA_BOND_XMIT_HASH_POLICY),
			MIIMon:   time.Duration(d.host(nl.IFLA_BOND_MIIMON)) * tickOfBond,
			LACPFast: d.u8(nl.IFLA_BOND_AD_LACP_RATE) != 0,
		}
	case netlinkapi.KindMACVLAN:
		return netlinkapi.MACVLAN{Mode: netlinkapi.MACVLANMode(d.host(nl.IFLA_MACVLAN_MODE))}
	case netlinkapi.KindIPVLAN:
		return netlinkapi.IPVLAN{Mode: netlinkapi.IPVLANMode(uint16(d.host(nl.IFLA_IPVLAN_MODE)))}
	case netlinkapi.KindTUN:
		return d.tun()
	}
	return d.tunnelParams(kind)
}

func (d infoData) tunnelParams(kind string) netlinkapi.LinkParams {
	t := netlinkapi.Tunnel{
		Local: d.addr(nl.IFLA_IPTUN_LOCAL), Remote: d.addr(nl.IFLA_IPTUN_REMOTE), TTL: d.u8(nl.IFLA_IPTUN_TTL),
	}
	switch kind {
	case netlinkapi.KindGRE:
		return netlinkapi.GRE{Key: d.network(nl.IFLA_GRE_IKEY), Tunnel: netlinkapi.Tunnel{
			Local: d.addr(nl.IFLA_GRE_LOCAL), Remote: d.addr(nl.IFLA_GRE_REMOTE), TTL: d.u8(nl.IFLA_GRE_TTL),
		}}
	case netlinkapi.KindIPIP:
		return netlinkapi.IPIP{Tunnel: t}
	case netlinkapi.KindSIT:
		return netlinkapi.SIT{Tunnel: t}
	}
	return nil
}

func (d infoData) tun() netlinkapi.TUN {
	id := func(n uint16) uint32 {
		if v := d.host(n); v != noOwner {
			return v
		}
		return 0
	}
	return netlinkapi.TUN{
		TAP: d.u8(nl.IFLA_TUN_TYPE) == unix.IFF_TAP, MultiQueue: d.u8(nl.IFLA_TUN_MULTI_QUEUE) != 0,
		Owner: id(nl.IFLA_TUN_OWNER), Group: id(nl.IFLA_TUN_GROUP),
	}
}
