package netlinkapi

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
)

// KindWireGuard is the kind of WireGuard links, also of those that wireguard-go serves.
const KindWireGuard = "wireguard"

// WireGuardKey is a key of WireGuard; zero: none.
type WireGuardKey [32]byte

// WireGuard is an encrypted tunnel of IP packets to peers; see NewWireGuard.
type WireGuard struct {
	PrivateKey WireGuardKey
	ListenPort uint16 // of UDP; 0: the kernel chooses, and does not change what it chose
	Mark       uint32 // of the packets with the tunnel inside; 0: none
	peers      string // JSON, so that two WireGuards can be compared with ==
}

// WireGuardPeer is the other end of a tunnel.
type WireGuardPeer struct {
	PublicKey    WireGuardKey
	PresharedKey WireGuardKey
	Endpoint     netip.AddrPort // invalid: not known until the peer sends
	Keepalive    uint16         // seconds between packets that keep the way open; 0: none
	AllowedIPs   []netip.Prefix // that the peer may send from, and is sent to
}

// NewWireGuard returns parameters with peers, whatever their order.
func NewWireGuard(key WireGuardKey, port uint16, mark uint32, peers []WireGuardPeer) WireGuard {
	w := WireGuard{PrivateKey: key, ListenPort: port, Mark: mark}
	if len(peers) == 0 {
		return w
	}
	peers = slices.Clone(peers)
	for i, p := range peers {
		peers[i].AllowedIPs = slices.SortedFunc(slices.Values(p.AllowedIPs), func(a, b netip.Prefix) int {
			return cmp.Or(a.Addr().Compare(b.Addr()), cmp.Compare(a.Bits(), b.Bits()))
		})
	}
	slices.SortFunc(peers, func(a, b WireGuardPeer) int { return slices.Compare(a.PublicKey[:], b.PublicKey[:]) })
	if text, err := json.Marshal(peers); err == nil { // numbers and addresses: it cannot fail
		w.peers = string(text)
	}
	return w
}

// Peers returns the peers by public key.
func (w WireGuard) Peers() (peers []WireGuardPeer) {
	if err := json.Unmarshal([]byte(w.peers), &peers); err != nil {
		return nil // there are none
	}
	return peers
}

// Kind implements LinkParams.
func (WireGuard) Kind() string { return KindWireGuard }

// String reports the parameters without keys.
func (w WireGuard) String() string {
	return fmt.Sprintf("port %d mark %d peers %d", w.ListenPort, w.Mark, len(w.Peers()))
}
