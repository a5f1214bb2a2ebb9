package catalogue

import (
	"net/netip"

	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/interface_types"
	teibapi "go.fd.io/govpp/binapi/teib"
	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/vpp/ipconv"
	l3 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l3"
)

func teib() Item {
	return Item{
		Name: "vpp.teib",
		Make: func() proto.Message {
			return &l3.TeibEntry{Interface: "lo", PeerAddr: "10.1.1.70", NextHopAddr: "2001:db8:9::2", VrfId: 7}
		},
		Needs: func() []proto.Message {
			return []proto.Message{Base(), &l3.VrfTable{Id: 7, Protocol: l3.VrfTable_IPV6}}
		},
		Capability: "TEIB",
		Spellings:  []Change{To(func(e *l3.TeibEntry) { e.NextHopAddr = "2001:DB8:9:0::2" })},
		Recreates: []Change{
			To(func(e *l3.TeibEntry) { e.NextHopAddr = "2001:db8:9::3" }),
			To(func(e *l3.TeibEntry) { e.NextHopAddr, e.VrfId = "172.16.0.3", 0 }),
		},
		Refusals: map[string]Change{
			"interface: empty":            To(func(e *l3.TeibEntry) { e.Interface = "" }),
			"peer_addr: ":                 To(func(e *l3.TeibEntry) { e.PeerAddr = "" }),
			"next_hop_addr: 0.0.0.0":      To(func(e *l3.TeibEntry) { e.NextHopAddr = "0.0.0.0" }),
			`next_hop_addr: "172.16.0/24`: To(func(e *l3.TeibEntry) { e.NextHopAddr = "172.16.0/24" }),
		},
		ByHand: func(index func(string) uint32, m proto.Message) (api.Message, api.Message) {
			e := m.(*l3.TeibEntry)
			return &teibapi.TeibEntryAddDel{Entry: teibapi.TeibEntry{
				SwIfIndex: interface_types.InterfaceIndex(index(e.Interface)), NhTableID: e.VrfId,
				Peer: ipconv.Address(netip.MustParseAddr(e.PeerAddr)), Nh: ipconv.Address(netip.MustParseAddr(e.NextHopAddr)),
			}}, &teibapi.TeibEntryAddDelReply{}
		},
		Without: map[string]string{
			"Updates":   "VPP has no request that changes an entry",
			"Conflicts": "interface and peer are the key, and VPP has nothing else that is unique",
		},
	}
}
