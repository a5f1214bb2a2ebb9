// Package svsplugin is the plugin for source VRF select (SVS) of VPP.
package svsplugin

import (
	"context"
	"fmt"
	"math"
	"slices"

	"go.fd.io/govpp/api"
	fibapi "go.fd.io/govpp/binapi/fib"
	"go.fd.io/govpp/binapi/interface_types"
	"go.fd.io/govpp/binapi/ip"
	"go.fd.io/govpp/binapi/ip_types"
	svsapi "go.fd.io/govpp/binapi/svs"

	"github.com/tenuto-dev/tenuto/infra/models"
	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ipconv"
	"github.com/tenuto-dev/tenuto/plugins/vpp/item"
	"github.com/tenuto-dev/tenuto/plugins/vpp/itemplugin"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
	l3 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l3"
	svs "github.com/tenuto-dev/tenuto/proto/ligato/vpp/svs"
)

// DefaultName is the name of the plugin.
const DefaultName = "vpp-svsplugin"

// Names of the descriptors.
const (
	TableName     = "vpp-svs-table"
	RouteName     = "vpp-svs-route"
	InterfaceName = "vpp-svs-interface"
)

// The models.
var (
	TableModel     = models.Of[*svs.Table]()
	RouteModel     = models.Of[*svs.Route]()
	InterfaceModel = models.Of[*svs.Interface]()
)

// NewPlugin returns a plugin with the given settings.
func NewPlugin(opts ...itemplugin.Option) *itemplugin.Plugin {
	return itemplugin.New(itemplugin.Spec{
		Name: DefaultName, Operations: session.Operations{tables, routes, onInterfaces},
		Register: func(to *itemplugin.Registrar) error {
			return to.Add(NewTable(to.VPP), NewRoute(to.VPP), NewInterface(to.VPP, to.Interfaces))
		},
	}, opts)
}

// table is a table of source networks.
type table struct {
	af ip_types.AddressFamily
	id uint32
}

// VPP counts the additions of a table, and lists a table of sources as the VRF table that it is.
var tables = item.Declare("SVS table", "svs", item.Variant[table]{
	Change: func(t table, add bool) (request, reply api.Message) {
		return &svsapi.SvsTableAddDel{IsAdd: add, Af: t.af, TableID: t.id}, &svsapi.SvsTableAddDelReply{}
	},
	Dumps: []item.Dump[table]{item.List(&ip.IPTableDump{}, func(d *ip.IPTableDetails) (table, bool) {
		return table{version(d.Table.IsIP6), d.Table.TableID}, d.Table.TableID != 0
	})},
})

func version(ip6 bool) ip_types.AddressFamily {
	if ip6 {
		return ip_types.ADDRESS_IP6
	}
	return ip_types.ADDRESS_IP4
}

// NewTable describes tables of source networks.
func NewTable(vpp *session.VPP) *kvs.KVDescriptor {
	return item.NewEntry(vpp, nil, item.Entry[*svs.Table, table, table]{
		Name: TableName, Model: TableModel, Operation: tables,
		Resolve: func(r *item.Resolver, v *svs.Table) table {
			r.Enum("protocol", v.GetProtocol())
			return table{version(v.GetProtocol() == svs.Protocol_IPV6), v.GetId()}
		},
		ID: func(t table) table { return t },
		Identities: func(v *svs.Table) []string {
			return []string{item.TableIdentity(v.GetId(), l3.VrfTable_Protocol(v.GetProtocol()))}
		},
		Value: func(_ *item.Names, t table) *svs.Table { return &svs.Table{Id: t.id, Protocol: svs.Protocol(t.af)} },
		Check: func(ctx context.Context, v *svs.Table, t table) error {
			has, err := item.Listed(ctx, vpp, tables)
			if err == nil && slices.Contains(has, t) {
				err = item.Invalid("id", "VPP has a VRF table %d of %s, expected another number", t.id, v.GetProtocol())
			}
			return err
		},
		Implicit: func(table) bool { return true }, // most are VRF tables
		Gone:     []api.VPPApiError{api.NO_SUCH_FIB},
	})
}

// dependOnTable has a value wait for its table.
func dependOnTable(r *item.Resolver, id uint32, protocol svs.Protocol) uint32 {
	r.DependsOn("svs-table-exists", TableModel.Key(&svs.Table{Id: id, Protocol: protocol}))
	return id
}

// source is a network and the VRF table for its packets.
type source struct {
	table  uint32
	prefix ip_types.Prefix
	vrf    uint32
}

var routes = item.Declare("SVS route", "svs", item.Variant[source]{
	Change: func(s source, add bool) (request, reply api.Message) {
		return &svsapi.SvsRouteAddDel{IsAdd: add, Prefix: s.prefix, TableID: s.table, SourceTableID: s.vrf}, &svsapi.SvsRouteAddDelReply{}
	},
	Dumps: []item.Dump[source]{item.ListWith(listSources, &fibapi.FibSourceDump{}, &fibapi.FibSourceDetails{},
		&ip.IPTableDump{}, &ip.IPTableDetails{}, &ip.IPRouteV2Dump{}, &ip.IPRouteV2Details{})},
})

// listSources lists source networks as the routes that they are in VPP, which has no words for the
// VRF table. VPP numbers the sources of routes as its plugins ask for them.
func listSources(ctx context.Context, vpp *session.VPP) (all []source, err error) {
	var number uint8
	err = session.Each(ctx, vpp, &fibapi.FibSourceDump{}, func(d *fibapi.FibSourceDetails) {
		if d.Src.Name == "svs" {
			number = d.Src.ID
		}
	})
	if err != nil || number == 0 {
		return nil, err
	}
	found, err := session.Dump[*ip.IPTableDetails](ctx, vpp, &ip.IPTableDump{})
	if err != nil {
		return nil, err
	}
	for _, t := range found {
		err := session.Each(ctx, vpp, &ip.IPRouteV2Dump{Src: number, Table: ip.IPTable{TableID: t.Table.TableID, IsIP6: t.Table.IsIP6}},
			func(d *ip.IPRouteV2Details) {
				if d.Route.Prefix.Len > 0 { // otherwise it belongs to an interface
					all = append(all, source{table: t.Table.TableID, prefix: d.Route.Prefix, vrf: unknownVRF})
				}
			})
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// unknownVRF is the VRF table of a source network that VPP lists.
const unknownVRF = math.MaxUint32

// NewRoute describes source networks.
func NewRoute(vpp *session.VPP) *kvs.KVDescriptor {
	return item.NewEntry(vpp, nil, item.Entry[*svs.Route, source, source]{
		Name: RouteName, Model: RouteModel, Operation: routes,
		Resolve: func(r *item.Resolver, v *svs.Route) source {
			s := source{prefix: r.Network("prefix", v.GetPrefix())}
			if s.prefix.Len == 0 && v.GetPrefix() != "" {
				r.Fail("prefix", "%s, expected a shorter network: other sources use the VRF table of their interface", v.GetPrefix())
			}
			s.table = dependOnTable(r, v.GetTableId(), svs.Protocol(s.prefix.Address.Af))
			s.vrf = r.TableAs("source-vrf-table-exists", v.GetSourceVrfId(), s.prefix.Address)
			return s
		},
		ID: func(s source) source { return source{table: s.table, prefix: s.prefix} },
		Value: func(_ *item.Names, s source) *svs.Route {
			return &svs.Route{TableId: s.table, Prefix: ipconv.FromPrefix(s.prefix).String(), SourceVrfId: s.vrf}
		},
		// VPP counts how often it was added, and changes nothing when it is added again.
		Assume:  func(found, expected source) source { found.vrf = expected.vrf; return found },
		Learned: func(source) bool { return false },
		Gone:    []api.VPPApiError{api.NO_SUCH_FIB},
	})
}

// use is the table of sources of an interface.
type use struct {
	index interface_types.InterfaceIndex
	table table
}

var onInterfaces = item.Declare("SVS on interface", "svs", item.Variant[use]{
	Change: func(u use, add bool) (request, reply api.Message) {
		return &svsapi.SvsEnableDisable{IsEnable: add, Af: u.table.af, TableID: u.table.id, SwIfIndex: u.index}, &svsapi.SvsEnableDisableReply{}
	},
	Dumps: []item.Dump[use]{item.List(&svsapi.SvsDump{}, func(d *svsapi.SvsDetails) (use, bool) {
		return use{d.SwIfIndex, table{d.Af, d.TableID}}, true
	})},
})

// NewInterface describes the tables of sources of interfaces. VPP puts the VRF table of the interface
// into its table of sources, for all other sources, and does not follow a change.
func NewInterface(vpp *session.VPP, ifs item.Interfaces) *kvs.KVDescriptor {
	return item.NewEntry(vpp, ifs, item.Entry[*svs.Interface, use, use]{
		Name: InterfaceName, Model: InterfaceModel, Operation: onInterfaces,
		Resolve: func(r *item.Resolver, v *svs.Interface) use {
			r.Enum("protocol", v.GetProtocol())
			u := use{index: r.Interface("interface", v.GetInterface())}
			r.UsesTableOf(v.GetInterface())
			u.table = table{version(v.GetProtocol() == svs.Protocol_IPV6), dependOnTable(r, v.GetTableId(), v.GetProtocol())}
			return u
		},
		ID: func(u use) use { return use{u.index, table{af: u.table.af}} },
		Check: func(ctx context.Context, v *svs.Interface, u use) error {
			has, err := item.Listed(ctx, vpp, onInterfaces)
			if err != nil {
				return err
			}
			for _, other := range has {
				if other.table == u.table && other.index != u.index {
					name, _ := ifs.Snapshot(ctx).Name(uint32(other.index))
					return item.Invalid("table_id", "table %d serves interface %q, expected a table for each interface", u.table.id, name)
				}
			}
			return nil
		},
		Identities: func(v *svs.Interface) []string {
			return []string{fmt.Sprintf("interface with the SVS table/%d/%s", v.GetTableId(), v.GetProtocol())}
		},
		Value: func(n *item.Names, u use) *svs.Interface {
			return &svs.Interface{Interface: n.Interface(u.index), Protocol: svs.Protocol(u.table.af), TableId: u.table.id}
		},
	})
}
