package catalogue

import (
	"net/netip"

	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/interface_types"
	"go.fd.io/govpp/binapi/ip_types"
	svsapi "go.fd.io/govpp/binapi/svs"
	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/vpp/ipconv"
	l3 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l3"
	svs "github.com/tenuto-dev/tenuto/proto/ligato/vpp/svs"
)

func svsTable() Item {
	return Item{
		Name:       "vpp.svs.table",
		Make:       func() proto.Message { return &svs.Table{Id: 901} },
		Capability: "SVS table",
		Refusals: map[string]Change{
			"id: 0, expected 1 to 4294967294": To(func(t *svs.Table) { t.Id = 0 }),
			"protocol: 2, expected IPV4":      To(func(t *svs.Table) { t.Protocol = 2 }),
		},
		Conflicts: []Conflict{{First: &l3.VrfTable{Id: 901}, Second: &svs.Table{Id: 901}, Says: "id: VPP has a VRF table 901"}},
		ByHand: func(_ func(string) uint32, m proto.Message) (api.Message, api.Message) {
			return &svsapi.SvsTableAddDel{TableID: m.(*svs.Table).Id}, &svsapi.SvsTableAddDelReply{}
		},
		Without: map[string]string{
			"Needs":     "a table needs nothing",
			"Spellings": "a number is written in one way",
			"Updates":   "there is nothing but the key",
			"Recreates": "there is nothing but the key",
		},
	}
}

func svsRoute() Item {
	return Item{
		Name: "vpp.svs.route",
		Make: func() proto.Message { return &svs.Route{TableId: 901, Prefix: "10.9.0.0/16", SourceVrfId: 7} },
		Needs: func() []proto.Message {
			return []proto.Message{&svs.Table{Id: 901}, &l3.VrfTable{Id: 7}}
		},
		Capability: "SVS route",
		Recreates:  []Change{To(func(r *svs.Route) { r.SourceVrfId = 0 })},
		ByHand: func(_ func(string) uint32, m proto.Message) (api.Message, api.Message) {
			r := m.(*svs.Route)
			return &svsapi.SvsRouteAddDel{TableID: r.TableId, Prefix: ipconv.Prefix(netip.MustParsePrefix(r.Prefix))}, &svsapi.SvsRouteAddDelReply{}
		},
		Refusals: map[string]Change{
			"prefix: empty, expected an IP":    To(func(r *svs.Route) { r.Prefix = "" }),
			"prefix: \"10.9.0.1/16\" has host": To(func(r *svs.Route) { r.Prefix = "10.9.0.1/16" }),
			"prefix: 0.0.0.0/0, expected":      To(func(r *svs.Route) { r.Prefix = "0.0.0.0/0" }),
		},
		Without: map[string]string{
			"Spellings": "a network is written in one way",
			"Updates":   "VPP counts repeated additions, and changes nothing",
			"Conflicts": "table and network are the key",
		},
	}
}

func svsInterface() Item {
	return Item{
		Name: "vpp.svs.interface",
		Make: func() proto.Message { return &svs.Interface{Interface: "lo", TableId: 901} },
		Needs: func() []proto.Message {
			return []proto.Message{Base(), &svs.Table{Id: 901}}
		},
		Capability: "SVS on interface",
		Refusals: map[string]Change{
			"interface: empty":           To(func(i *svs.Interface) { i.Interface = "" }),
			"protocol: 2, expected IPV4": To(func(i *svs.Interface) { i.Protocol = 2 }),
		},
		Conflicts: []Conflict{{
			First: &svs.Interface{Interface: "spare", TableId: 901}, Second: &svs.Interface{Interface: "lo", TableId: 901},
			Needs: []proto.Message{Loopback("spare")}, Says: "table_id: table 901 serves interface \"spare\"",
		}},
		ByHand: func(index func(string) uint32, m proto.Message) (api.Message, api.Message) {
			i := m.(*svs.Interface)
			return &svsapi.SvsEnableDisable{
				Af: ip_types.ADDRESS_IP4, TableID: i.TableId, SwIfIndex: interface_types.InterfaceIndex(index(i.Interface)),
			}, &svsapi.SvsEnableDisableReply{}
		},
		Without: map[string]string{
			"Spellings": "names have none",
			"Updates":   "another table is another item that it needs",
			"Recreates": "another table is another item that it needs",
		},
	}
}
