package wireguardplugin

import (
	"encoding/base64"
	"math"
	"slices"

	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/ip_types"
	"go.fd.io/govpp/binapi/wireguard"

	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	ifmodel "github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/model"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ipconv"
	"github.com/tenuto-dev/tenuto/plugins/vpp/item"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
	wg "github.com/tenuto-dev/tenuto/proto/ligato/vpp/wireguard"
)

// PeerName is the name of the descriptor.
const PeerName = "vpp-wg-peer"

// keyLength is the number of bytes of a public key.
const keyLength = 32

type peer = wireguard.WireguardPeer

var peers = item.DeclareObject("WireGuard peer", "wireguard", item.ObjectVariant[peer]{
	Create: func(p peer) (request, reply api.Message) {
		return &wireguard.WireguardPeerAdd{Peer: p}, &wireguard.WireguardPeerAddReply{}
	},
	Index: func(reply api.Message) uint32 { return reply.(*wireguard.WireguardPeerAddReply).PeerIndex },
	Remove: func(index uint32, _ peer) (request, reply api.Message) {
		return &wireguard.WireguardPeerRemove{PeerIndex: index}, &wireguard.WireguardPeerRemoveReply{}
	},
	Dumps: []item.Dump[item.Found[peer]]{item.List(&wireguard.WireguardPeersDump{PeerIndex: math.MaxUint32},
		func(d *wireguard.WireguardPeersDetails) (item.Found[peer], bool) {
			index := d.Peer.PeerIndex
			// The flags are states of the handshake.
			d.Peer.PeerIndex, d.Peer.NAllowedIps, d.Peer.Flags = 0, 0, 0
			d.Peer.PublicKey, d.Peer.AllowedIps = slices.Clone(d.Peer.PublicKey), sorted(d.Peer.AllowedIps)
			return item.Found[peer]{Index: index, Object: d.Peer}, true
		})},
})

// peerID distinguishes peers: VPP has a public key once.
type peerID [keyLength]byte

// NewPeer describes WireGuard peers. A peer is on a WireGuard interface, and found again by its
// public key. VPP looks up the endpoint in the VRF table that the interface is configured
// with when the peer is created. VPP cannot change a peer.
func NewPeer(vpp *session.VPP, ifs item.Interfaces) *kvs.KVDescriptor {
	return item.NewObject(vpp, ifs, item.Object[*wg.Peer, peer, peerID]{
		Name: PeerName, Model: PeerModel, Operation: peers,
		Resolve: func(r *item.Resolver, v *wg.Peer) peer {
			p := peer{
				PublicKey:           publicKey(r, v.GetPublicKey()),
				Port:                uint16(v.GetPort()),
				PersistentKeepalive: uint16(v.GetPersistentKeepalive()),
				Endpoint:            r.Host("endpoint", v.GetEndpoint()),
				SwIfIndex:           r.Interface("wg_if_name", v.GetWgIfName(), ifmodel.Wireguard),
				TableID:             r.TableOf(v.GetWgIfName()),
				AllowedIps:          r.Prefixes("allowed_ips", v.GetAllowedIps()),
			}
			return p
		},
		Identities: func(v *wg.Peer) []string { return []string{"wg-peer/" + v.GetPublicKey()} },
		ID:         func(p peer) peerID { return peerID(p.PublicKey) },
		Value: func(n *item.Names, p peer) *wg.Peer {
			v := &wg.Peer{
				PublicKey: base64.StdEncoding.EncodeToString(p.PublicKey), Port: uint32(p.Port),
				PersistentKeepalive: uint32(p.PersistentKeepalive), Endpoint: item.Addr(p.Endpoint), WgIfName: n.Interface(p.SwIfIndex),
			}
			for _, prefix := range p.AllowedIps {
				v.AllowedIps = append(v.AllowedIps, ipconv.FromPrefix(prefix).String())
			}
			return v
		},
		Gone: []api.VPPApiError{api.NO_SUCH_ENTRY},
		Explain: map[api.VPPApiError]string{
			api.ENTRY_ALREADY_EXISTS: "public_key: another peer has it",
			api.INVALID_SW_IF_INDEX:  "wg_if_name: not a WireGuard interface",
		},
	})
}

func publicKey(r *item.Resolver, text string) []byte {
	key, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(key) != keyLength {
		r.Fail("public_key", "expected %d bytes in base64 (44 characters)", keyLength)
		return make([]byte, keyLength)
	}
	return key
}

// sorted returns the networks in the order of Resolver.Prefixes.
func sorted(all []ip_types.Prefix) []ip_types.Prefix {
	all = slices.Clone(all)
	slices.SortFunc(all, item.ComparePrefixes)
	return all
}
