package vnet

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim/internal/wire"
	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/wireguard"
)

// wireguardPeers are the peers of WireGuard interfaces. They go with their interface.
type wireguardPeers struct {
	*VNet
	pool[wireguard.WireguardPeer]
}

func newWireguardPeers(n *VNet) feature { return &wireguardPeers{VNet: n} }

func (ps *wireguardPeers) register(server *wire.Server) {
	wire.Handle(server, func(_ *wire.Call, req *wireguard.WireguardPeerAdd) *wireguard.WireguardPeerAddReply {
		index, rv := ps.addPeer(req.Peer)
		return &wireguard.WireguardPeerAddReply{Retval: int32(rv), PeerIndex: index}
	})
	handle[wireguard.WireguardPeerRemoveReply](server, func(req *wireguard.WireguardPeerRemove) retval {
		if ps.at(req.PeerIndex) == nil {
			return api.NO_SUCH_ENTRY
		}
		ps.remove(req.PeerIndex)
		return ok
	})
	wire.HandleDump(server, func(c *wire.Call, req *wireguard.WireguardPeersDump) {
		for index, p := range ps.all() {
			if selects(ifIndex(req.PeerIndex), index) {
				peer := *p
				peer.PeerIndex = index
				c.Send(&wireguard.WireguardPeersDetails{Peer: peer})
			}
		}
	})
}

func (ps *wireguardPeers) reset() { ps.pool = pool[wireguard.WireguardPeer]{} }

// addPeer wants a key that no interface has a peer with (wg_peer_add in
// src/plugins/wireguard/wireguard_peer.c).
func (ps *wireguardPeers) addPeer(p wireguard.WireguardPeer) (uint32, retval) {
	i := ps.byIndex(p.SwIfIndex)
	switch {
	case i == nil:
		return none, api.INVALID_SW_IF_INDEX
	case len(p.AllowedIps) == 0:
		return none, api.INVALID_VALUE
	case i.isSub || i.hw.device != wireguardDevice:
		return none, api.INVALID_SW_IF_INDEX
	}
	_, same := ps.find(func(other *wireguard.WireguardPeer) bool { return slices.Equal(other.PublicKey, p.PublicKey) })
	if same != nil {
		return none, api.ENTRY_ALREADY_EXISTS
	}
	p.Flags = 0
	return ps.add(&p), ok
}

func (ps *wireguardPeers) interfaceRemoved(i *swInterface) {
	for index, p := range ps.all() {
		if uint32(p.SwIfIndex) == i.index {
			ps.remove(index)
		}
	}
}

func (ps *wireguardPeers) dump(b *strings.Builder) {
	var lines []string
	for _, p := range ps.all() {
		lines = append(lines, fmt.Sprintf("wireguard peer %x on %s at %s:%d in %d keepalive %d allowed %v\n", p.PublicKey,
			ps.orStaleIf(uint32(p.SwIfIndex)), addrOf(p.Endpoint), p.Port, p.TableID, p.PersistentKeepalive, p.AllowedIps))
	}
	dumpSorted(b, lines)
}
