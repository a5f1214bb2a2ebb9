package catalogue

import (
	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/interface_types"
	"go.fd.io/govpp/binapi/lcp"
	"google.golang.org/protobuf/proto"

	linuxcp "github.com/tenuto-dev/tenuto/proto/ligato/vpp/linuxcp"
)

func linuxcpGlobal() Item {
	global := To[*linuxcp.Global]
	return Item{
		Name: "vpp.linuxcp.global",
		Make: func() proto.Message {
			return &linuxcp.Global{DefaultNamespace: "dataplane", Sync: true, DeleteDynamicOnLinkDown: true}
		},
		Capability: "LCP settings",
		Updates: []Change{
			global(func(g *linuxcp.Global) { g.Sync, g.DeleteStaticOnLinkDown, g.AutoSubinterfaces = false, true, true }),
		},
		Recreates: []Change{global(func(g *linuxcp.Global) { g.DefaultNamespace = "" })},
		Refusals: map[string]Change{
			`default_namespace: "a/b", expected the name`: global(func(g *linuxcp.Global) { g.DefaultNamespace = "a/b" }),
		},
		ByHand: func(func(string) uint32, proto.Message) (api.Message, api.Message) {
			return &lcp.LcpDefaultNsSet{}, &lcp.LcpDefaultNsSetReply{}
		},
		Without: map[string]string{
			"Needs": "the namespace need not exist", "Spellings": "there are none", "Conflicts": "there is one value",
		},
	}
}

func linuxcpPair() Item {
	pair := To[*linuxcp.Pair]
	return Item{
		Name:       "vpp.linuxcp.pair",
		Make:       func() proto.Message { return &linuxcp.Pair{Interface: "cp", HostInterface: "e0"} },
		Needs:      func() []proto.Message { return []proto.Message{Loopback("cp"), linuxcpGlobal().Make()} },
		Capability: "LCP pair",
		Recreates: []Change{
			pair(func(p *linuxcp.Pair) { p.HostInterface = "e1" }),
			pair(func(p *linuxcp.Pair) { p.Type, p.Namespace = linuxcp.Pair_TUN, "other" }),
		},
		Refusals: map[string]Change{
			`host_interface: empty, expected 1 to 15`:      pair(func(p *linuxcp.Pair) { p.HostInterface = "" }),
			`host_interface: "e/0", expected`:              pair(func(p *linuxcp.Pair) { p.HostInterface = "e/0" }),
			`host_interface: "sixteen-letters-", expected`: pair(func(p *linuxcp.Pair) { p.HostInterface = "sixteen-letters-" }),
			`namespace: "a/b", expected the name`:          pair(func(p *linuxcp.Pair) { p.Namespace = "a/b" }),
			"type: 2, expected TAP, TUN":                   pair(func(p *linuxcp.Pair) { p.Type = 2 }),
		},
		ByHand: func(index func(string) uint32, m proto.Message) (api.Message, api.Message) {
			return &lcp.LcpItfPairAddDelV2{SwIfIndex: interface_types.InterfaceIndex(index(m.(*linuxcp.Pair).Interface))}, &lcp.LcpItfPairAddDelV2Reply{}
		},
		Unread: func(want, got proto.Message) { want.(*linuxcp.Pair).Namespace = got.(*linuxcp.Pair).Namespace },
		Without: map[string]string{
			"Real": withoutTAPs(), "Spellings": "there are none", "Updates": "VPP cannot change a pair",
			"Conflicts": "the interface is the key",
		},
	}
}
