package netlinkapi

import (
	"net/netip"
	"time"
)

// LinkParams are what a link is made from, besides its name and its parent: a value of
// one of the types below. Two of them can be compared with ==. An address that is not
// valid is none, and so is a zero unless the field says otherwise.
type LinkParams interface {
	// Kind is the kind of the link; see Link.Kind.
	Kind() string
}

// Kinds of links that the agent makes.
const (
	KindVeth    = "veth"
	KindVRF     = "vrf"
	KindDummy   = "dummy"
	KindBridge  = "bridge"
	KindVLAN    = "vlan"
	KindVXLAN   = "vxlan"
	KindBond    = "bond"
	KindMACVLAN = "macvlan"
	KindIPVLAN  = "ipvlan"
	KindGRE     = "gre"
	KindIPIP    = "ipip"
	KindSIT     = "sit"
	KindTUN     = "tun" // TAPs, too
)

// Dummy is a link that drops what is sent to it.
type Dummy struct{}

// VRF stands for a routing table.
type VRF struct{ Table uint32 }

// Bridge is a switch.
type Bridge struct {
	STP    bool          // run the spanning tree protocol
	Ageing time.Duration // of learned MAC addresses, in steps of 10 ms
	// VLANFiltering forwards frames only between ports that are in their VLAN, see BridgeVLANs.
	VLANFiltering bool
}

// VLAN is the frames of a parent that have a tag.
type VLAN struct {
	ID       uint16
	Protocol uint16 // EtherType of the tag: VLANProtocol or QinQProtocol
}

// EtherTypes of VLAN tags.
const (
	VLANProtocol uint16 = 0x8100
	QinQProtocol uint16 = 0x88a8
)

// VXLAN is Ethernet in UDP. The parent is where the packets leave.
type VXLAN struct {
	VNI      uint32
	Remote   netip.Addr // may be a multicast group
	Local    netip.Addr
	Port     uint16
	TTL      uint8 // 0: the kernel chooses
	Learning bool
}

// Bond is several links that act as one.
type Bond struct {
	Mode       uint8         // 0 to 6, as in the documentation of the kernel
	MIIMon     time.Duration // how often the carrier of ports is checked, in steps of 1 ms
	HashPolicy uint8         // 0: layer2, 1: layer3+4, 2: layer2+3
	LACPFast   bool          // of mode 4 alone
}

// BondLACP is the mode 802.3ad of a Bond.
const BondLACP = 4

// MACVLAN is a link with a MAC address of its own on a parent.
type MACVLAN struct{ Mode MACVLANMode }

// MACVLANMode is what links on the same parent exchange.
type MACVLANMode uint32

// The modes; see ip-link(8).
const (
	MACVLANPrivate  MACVLANMode = 1
	MACVLANVEPA     MACVLANMode = 2
	MACVLANBridge   MACVLANMode = 4
	MACVLANPassthru MACVLANMode = 8
)

// IPVLAN is a link with the MAC address of its parent.
type IPVLAN struct{ Mode IPVLANMode }

// IPVLANMode is where packets are switched.
type IPVLANMode uint16

// The modes; see ip-link(8).
const (
	IPVLANL2  IPVLANMode = 0
	IPVLANL3  IPVLANMode = 1
	IPVLANL3S IPVLANMode = 2
)

// GRE is a tunnel of IP packets over IPv4. The parent is where the packets leave.
type GRE struct {
	Tunnel
	Key uint32
}

// IPIP is a tunnel of IPv4 over IPv4, see GRE.
type IPIP struct{ Tunnel }

// SIT is a tunnel of IPv6 over IPv4, see GRE.
type SIT struct{ Tunnel }

// Tunnel is what the tunnels over IPv4 have in common.
type Tunnel struct {
	Local  netip.Addr
	Remote netip.Addr
	TTL    uint8 // 0: use the TTL of the packet inside
}

// TUN is a device by which programs exchange packets with the kernel; it stays when no
// program has it open.
type TUN struct {
	TAP        bool // Ethernet frames rather than IP packets
	Owner      uint32
	Group      uint32
	MultiQueue bool
}

// Kind implements LinkParams.
func (Dummy) Kind() string { return KindDummy }

// Kind implements LinkParams.
func (VRF) Kind() string { return KindVRF }

// Kind implements LinkParams.
func (Bridge) Kind() string { return KindBridge }

// Kind implements LinkParams.
func (VLAN) Kind() string { return KindVLAN }

// Kind implements LinkParams.
func (VXLAN) Kind() string { return KindVXLAN }

// Kind implements LinkParams.
func (Bond) Kind() string { return KindBond }

// Kind implements LinkParams.
func (MACVLAN) Kind() string { return KindMACVLAN }

// Kind implements LinkParams.
func (IPVLAN) Kind() string { return KindIPVLAN }

// Kind implements LinkParams.
func (GRE) Kind() string { return KindGRE }

// Kind implements LinkParams.
func (IPIP) Kind() string { return KindIPIP }

// Kind implements LinkParams.
func (SIT) Kind() string { return KindSIT }

// Kind implements LinkParams.
func (TUN) Kind() string { return KindTUN }

// TakesPorts reports whether links of a kind can be the master of ports.
func TakesPorts(kind string) bool { return kind == KindBridge || kind == KindBond }

// CanChange reports whether ChangeLink can turn a link with one set of parameters into one
// with the other.
func CanChange(from, to LinkParams) bool {
	if from == to {
		return true
	}
	switch to := to.(type) {
	case Bridge, IPVLAN, WireGuard:
		return from.Kind() == to.Kind()
	case MACVLAN:
		from, ok := from.(MACVLAN)
		return ok && from.Mode != MACVLANPassthru && to.Mode != MACVLANPassthru
	case Bond:
		from, ok := from.(Bond)
		from.MIIMon, from.HashPolicy = to.MIIMon, to.HashPolicy
		return ok && from == to
	case VXLAN:
		from, ok := from.(VXLAN)
		if !ok || from.Remote != to.Remote && !(unicast(from.Remote) && unicast(to.Remote) && from.Remote.Is4() == to.Remote.Is4()) {
			return false
		}
		from.Remote, from.TTL, from.Learning = to.Remote, to.TTL, to.Learning
		return from == to
	}
	return false
}

func unicast(a netip.Addr) bool { return a.IsValid() && !a.IsMulticast() }
