package catalogue

import (
	"strings"

	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/ip"
	"google.golang.org/protobuf/proto"

	l3 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l3"
)

func vrfTable() Item {
	return Item{
		Name:       "vpp.vrf-table",
		Make:       func() proto.Message { return &l3.VrfTable{Id: 8, Label: "ipv4-VRF:8"} },
		Capability: "VRF table",
		Spellings:  []Change{To(func(v *l3.VrfTable) { v.Label = "" })},
		Updates: []Change{To(func(v *l3.VrfTable) {
			v.FlowHashSettings = &l3.VrfTable_FlowHashSettings{UseSrcIp: true, UseDstIp: true}
		})},
		Recreates: []Change{To(func(v *l3.VrfTable) { v.Label = "customers" })},
		Refusals: map[string]Change{
			"label: has 64 bytes": To(func(v *l3.VrfTable) { v.Label = strings.Repeat("x", 64) }),
			"label: ":             To(func(v *l3.VrfTable) { v.Id, v.Label = 0, "x" }),
		},
		ByHand: func(func(string) uint32, proto.Message) (api.Message, api.Message) {
			return &ip.IPTableAddDel{Table: ip.IPTable{TableID: 8}}, &ip.IPTableAddDelReply{}
		},
		Unread: func(want, got proto.Message) { // VPP does not report the flow hash
			want.(*l3.VrfTable).FlowHashSettings = got.(*l3.VrfTable).FlowHashSettings
		},
		Without: map[string]string{"Needs": "VPP makes it of nothing", "Conflicts": "the number is the key"},
	}
}
