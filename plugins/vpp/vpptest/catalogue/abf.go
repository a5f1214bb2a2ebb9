package catalogue

import (
	"go.fd.io/govpp/api"
	abfapi "go.fd.io/govpp/binapi/abf"
	"go.fd.io/govpp/binapi/interface_types"
	"google.golang.org/protobuf/proto"

	abf "github.com/tenuto-dev/tenuto/proto/ligato/vpp/abf"
)

func policy(index uint32, attached ...*abf.ABF_AttachedInterface) *abf.ABF {
	return &abf.ABF{
		Index: index, AclName: "web", AttachedInterfaces: attached,
		ForwardingPaths: []*abf.ABF_ForwardingPath{
			{NextHopIp: "10.1.1.20", InterfaceName: "lo", Weight: 5},
			{NextHopIp: "10.1.1.21", InterfaceName: "lo", Weight: 1, Preference: 2},
			{NextHopIp: "2001:db8::20", InterfaceName: "lo", Weight: 1},
		},
	}
}

func abfPolicy() Item {
	path := func(change func(p *abf.ABF_ForwardingPath)) Change {
		return To(func(a *abf.ABF) { change(a.ForwardingPaths[0]) })
	}
	return Item{
		Name:       "vpp.abfs.abf",
		Make:       func() proto.Message { return policy(7) },
		Needs:      func() []proto.Message { return []proto.Message{Base(), web()} },
		Capability: "ABF policy",
		Spellings: []Change{
			To(func(a *abf.ABF) { a.ForwardingPaths[1].Weight, a.ForwardingPaths[2].NextHopIp = 0, "2001:DB8::20" }),
			To(func(a *abf.ABF) {
				a.ForwardingPaths[0], a.ForwardingPaths[1] = a.ForwardingPaths[1], a.ForwardingPaths[0]
			}),
		},
		Updates: []Change{
			path(func(p *abf.ABF_ForwardingPath) { p.NextHopIp = "10.1.1.22" }),
			path(func(p *abf.ABF_ForwardingPath) { p.Weight, p.Preference = 6, 1 }),
			path(func(p *abf.ABF_ForwardingPath) { p.NextHopIp = "0.0.0.0" }),
			path(func(p *abf.ABF_ForwardingPath) { p.NextHopIp, p.Dvr = "", true }),
			path(func(p *abf.ABF_ForwardingPath) { p.InterfaceName = "" }),
			To(func(a *abf.ABF) { a.ForwardingPaths = a.ForwardingPaths[:1] }),
		},
		Recreates: []Change{To(func(a *abf.ABF) {
			for _, p := range a.ForwardingPaths {
				p.Weight++
			}
		})},
		Refusals: map[string]Change{
			"acl_name: empty": To(func(a *abf.ABF) { a.AclName = "" }),
			"forwarding_paths: empty, expected 1 to 255 paths":          To(func(a *abf.ABF) { a.ForwardingPaths = nil }),
			"forwarding_paths[1]: is listed twice":                      To(func(a *abf.ABF) { a.ForwardingPaths[1].NextHopIp = "10.1.1.20" }),
			`forwarding_paths[0].next_hop_ip: "x": expected`:            path(func(p *abf.ABF_ForwardingPath) { p.NextHopIp = "x" }),
			"forwarding_paths[0].interface_name: empty, and so is":      path(func(p *abf.ABF_ForwardingPath) { p.NextHopIp, p.InterfaceName = "0.0.0.0", "" }),
			"forwarding_paths[0].interface_name: empty, expected":       path(func(p *abf.ABF_ForwardingPath) { p.InterfaceName, p.Dvr = "", true }),
			"forwarding_paths[0].next_hop_ip: 10.1.1.20, expected none": path(func(p *abf.ABF_ForwardingPath) { p.Dvr = true }),
			"forwarding_paths[0].weight: 256, expected 0 to 255":        path(func(p *abf.ABF_ForwardingPath) { p.Weight = 256 }),
			"forwarding_paths[0].preference: 256, expected 0 to 255":    path(func(p *abf.ABF_ForwardingPath) { p.Preference = 256 }),
			"attached_interfaces[0].input_interface: empty":             To(func(a *abf.ABF) { a.AttachedInterfaces = []*abf.ABF_AttachedInterface{{}} }),
			`attached_interfaces[1].input_interface: "lo" is listed twice f`: To(func(a *abf.ABF) {
				a.AttachedInterfaces = []*abf.ABF_AttachedInterface{{InputInterface: "lo"}, {InputInterface: "lo", Priority: 1}}
			}),
		},
		Without: map[string]string{
			"Conflicts": "the number is the key, and VPP has nothing else that is unique",
			"ByHand":    "a policy is deleted by naming its paths with the indexes of their interfaces",
		},
	}
}

func abfAttachment() Item {
	return Item{
		Name: "vpp.abfs.abf: interfaces",
		Make: func() proto.Message {
			return policy(8, &abf.ABF_AttachedInterface{InputInterface: "lo", Priority: 10})
		},
		Needs:      func() []proto.Message { return []proto.Message{Base(), web()} },
		Part:       "vpp/abf/8/interface/lo",
		Capability: "ABF policy: interfaces",
		Updates: []Change{
			To(func(a *abf.ABF) { a.AttachedInterfaces[0].Priority = 0 }),
			To(func(a *abf.ABF) { a.AttachedInterfaces[0].IsIpv6 = true }),
			To(func(a *abf.ABF) { a.AttachedInterfaces = nil }),
			To(func(a *abf.ABF) { a.ForwardingPaths[0].NextHopIp = "10.1.1.22" }),
		},
		Recreates: []Change{To(func(a *abf.ABF) {
			a.ForwardingPaths = []*abf.ABF_ForwardingPath{{NextHopIp: "10.1.1.20", InterfaceName: "lo", Weight: 7}}
		})},
		ByHand: func(index func(string) uint32, _ proto.Message) (api.Message, api.Message) {
			return &abfapi.AbfItfAttachAddDel{Attach: abfapi.AbfItfAttach{
				PolicyID: 8, SwIfIndex: interface_types.InterfaceIndex(index("lo")),
			}}, &abfapi.AbfItfAttachAddDelReply{}
		},
	}
}
