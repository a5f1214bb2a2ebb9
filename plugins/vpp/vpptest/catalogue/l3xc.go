package catalogue

import (
	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/interface_types"
	l3xcapi "go.fd.io/govpp/binapi/l3xc"
	"google.golang.org/protobuf/proto"

	l3 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l3"
)

// L3XConnect is an L3 cross-connect.
func L3XConnect(iface string, protocol l3.L3XConnect_Protocol, paths ...*l3.L3XConnect_Path) *l3.L3XConnect {
	return &l3.L3XConnect{Interface: iface, Protocol: protocol, Paths: paths}
}

// L3XConnectPath is a path of an L3 cross-connect.
func L3XConnectPath(iface, hop string) *l3.L3XConnect_Path {
	return &l3.L3XConnect_Path{OutgoingInterface: iface, NextHopAddr: hop}
}

func l3xc() Item {
	path := L3XConnectPath
	paths := func(paths ...*l3.L3XConnect_Path) Change {
		return To(func(x *l3.L3XConnect) { x.Paths = paths })
	}
	heavy := path("b", "10.0.0.1")
	heavy.Weight = 256
	return Item{
		Name: "vpp.l3xconnect",
		Make: func() proto.Message {
			return L3XConnect("l3in", l3.L3XConnect_IPV6, path("lo", "2001:db8::7"), path("", "2001:db8::8"))
		},
		Needs: func() []proto.Message {
			return []proto.Message{Loopback("l3in", "10.33.1.1/24", "2001:db8:33::1/64"), Base()}
		},
		Capability: "L3 cross-connect",
		Spellings:  []Change{paths(path("", "2001:db8::8"), path("lo", "2001:DB8:0::7"))},
		Recreates:  []Change{paths(path("lo", "2001:db8::9"))},
		Refusals: map[string]Change{
			"interface: empty":                To(func(x *l3.L3XConnect) { x.Interface = "" }),
			"paths: empty, expected 1 to 255": paths(),
			"both empty":                      paths(path("", "")),
			"paths[0].next_hop_addr: 10.0.0.1, expected an address of the protocol": paths(path("b", "10.0.0.1")),
			"paths[0].next_hop_addr: ":   paths(path("b", "x")),
			"paths[0].next_hop_addr: ::": paths(path("", "::")),
			"paths[1]: is listed twice":  paths(path("b", "2001:db8::1"), path("b", "2001:db8::1")),
			"paths[0].weight: 256":       To(func(x *l3.L3XConnect) { x.Protocol, x.Paths = l3.L3XConnect_IPV4, []*l3.L3XConnect_Path{heavy} }),
		},
		ByHand: func(index func(string) uint32, m proto.Message) (api.Message, api.Message) {
			return &l3xcapi.L3xcDel{
				SwIfIndex: interface_types.InterfaceIndex(index(m.(*l3.L3XConnect).Interface)), IsIP6: true,
			}, &l3xcapi.L3xcDelReply{}
		},
		Without: map[string]string{
			"Updates": "VPP continues to forward along the paths of the creation", "Conflicts": "interface and version of IP are the key",
		},
	}
}
