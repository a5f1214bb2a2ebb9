package classifyplugin

import (
	"context"
	"fmt"
	"strings"

	"go.fd.io/govpp/api"
	vppapi "go.fd.io/govpp/binapi/classify"
	"go.fd.io/govpp/binapi/interface_types"
	"go.fd.io/govpp/binapi/vlib"

	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/item"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
	classify "github.com/tenuto-dev/tenuto/proto/ligato/vpp/classify"
)

// use is the use of a table on an interface.
type use struct {
	place
	table uint32
}

// place is where VPP has one table.
type place struct {
	swIfIndex interface_types.InterfaceIndex
	hook      classify.Binding_Hook
	packets   classify.Binding_Packets
}

var uses = item.Declare("classifier binding", "", item.Variant[use]{
	Change: apply,
	Reset: func(u use) (requests, replies []api.Message) {
		request, reply := apply(u, false)
		return []api.Message{request}, []api.Message{reply}
	},
	Dumps: []item.Dump[use]{item.ListWith(listUses, append(listMessages(), &vlib.CliInband{}, &vlib.CliInbandReply{},
		&vppapi.InputACLSetInterface{}, &vppapi.InputACLSetInterfaceReply{},
		&vppapi.OutputACLSetInterface{}, &vppapi.OutputACLSetInterfaceReply{},
		&vppapi.PolicerClassifySetInterface{}, &vppapi.PolicerClassifySetInterfaceReply{},
		&vppapi.FlowClassifySetInterface{}, &vppapi.FlowClassifySetInterfaceReply{})...)},
})

func apply(u use, add bool) (request, reply api.Message) {
	ip4, ip6, l2 := none, none, none
	switch u.packets {
	case classify.Binding_IP4:
		ip4 = u.table
	case classify.Binding_IP6:
		ip6 = u.table
	default:
		l2 = u.table
	}
	switch u.hook {
	case classify.Binding_OUTPUT_ACL:
		return &vppapi.OutputACLSetInterface{SwIfIndex: u.swIfIndex, IP4TableIndex: ip4, IP6TableIndex: ip6, L2TableIndex: l2, IsAdd: add},
			&vppapi.OutputACLSetInterfaceReply{}
	case classify.Binding_POLICER:
		return &vppapi.PolicerClassifySetInterface{SwIfIndex: u.swIfIndex, IP4TableIndex: ip4, IP6TableIndex: ip6, L2TableIndex: l2, IsAdd: add},
			&vppapi.PolicerClassifySetInterfaceReply{}
	case classify.Binding_FLOW:
		return &vppapi.FlowClassifySetInterface{SwIfIndex: u.swIfIndex, IP4TableIndex: ip4, IP6TableIndex: ip6, IsAdd: add},
			&vppapi.FlowClassifySetInterfaceReply{}
	}
	return &vppapi.InputACLSetInterface{SwIfIndex: u.swIfIndex, IP4TableIndex: ip4, IP6TableIndex: ip6, L2TableIndex: l2, IsAdd: add},
		&vppapi.InputACLSetInterfaceReply{}
}

// hooks are what a hook has, by its number.
var hooks = map[classify.Binding_Hook]struct {
	show string // the command that lists the uses
	use  classify.Table_Use
}{
	classify.Binding_INPUT_ACL:  {"show inacl", classify.Table_ACL},
	classify.Binding_OUTPUT_ACL: {"show outacl", classify.Table_ACL},
	classify.Binding_POLICER:    {"show classify policer", classify.Table_POLICER},
	classify.Binding_FLOW:       {"show classify flow", classify.Table_FLOW},
}

// has reports whether a hook sees packets of a kind.
func has(hook classify.Binding_Hook, packets classify.Binding_Packets) bool {
	return hook != classify.Binding_FLOW || packets != classify.Binding_L2
}

// listUses asks nothing while VPP has no tables.
func listUses(ctx context.Context, vpp *session.VPP) (all []use, err error) {
	tables, err := listTables(ctx, vpp)
	if err != nil || len(tables) == 0 {
		return nil, err
	}
	for hook := range hooks {
		for packets := range classify.Binding_Packets_name {
			if !has(hook, classify.Binding_Packets(packets)) {
				continue
			}
			found, err := showUses(ctx, vpp, hook, classify.Binding_Packets(packets))
			if err != nil {
				return nil, err
			}
			all = append(all, found...)
		}
	}
	return all, nil
}

// showUses reads what show_in_out_acl_command_fn prints (src/vnet/classify/in_out_acl.c), and the same for
// policers and flows: for each interface its index, the index of the table, and its name. VPP has no message
// that lists tables in use as ACLs. policer_classify_dump and flow_classify_dump list nothing for all
// interfaces, and read memory that is not theirs for one (src/vnet/classify/classify_api.c).
func showUses(ctx context.Context, vpp *session.VPP, hook classify.Binding_Hook, packets classify.Binding_Packets) (all []use, err error) {
	shown, err := vpp.Command(ctx, hooks[hook].show+" type "+strings.ToLower(packets.String()))
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(shown) {
		var iface, table uint32
		if n, _ := fmt.Sscan(line, &iface, &table); n == 2 {
			all = append(all, use{place{interface_types.InterfaceIndex(iface), hook, packets}, table})
		}
	}
	return all, nil
}

// NewBinding describes the uses of tables. VPP keeps the table of an interface that is deleted, and answers
// the addition of another one with success without a change: what is in the way is removed.
func NewBinding(vpp *session.VPP, ifs item.Interfaces, tables *Tables) *kvs.KVDescriptor {
	return item.NewEntry(vpp, ifs, item.Entry[*classify.Binding, use, place]{
		Name: BindingName, Model: BindingModel, Operation: uses,
		Resolve: func(r *item.Resolver, v *classify.Binding) use {
			r.Enum("hook", v.GetHook())
			r.Enum("packets", v.GetPackets())
			if !has(v.GetHook(), v.GetPackets()) {
				r.Fail("packets", "%s, expected IP4 or IP6 for the hook %s", v.GetPackets(), v.GetHook())
			}
			u := use{place: place{r.Interface("interface", v.GetInterface()), v.GetHook(), v.GetPackets()}}
			r.DependsOn("table-exists", TableModel.KeyFor(v.GetTable()))
			if t := tables.resolve(r, "table", v.GetTable(), hooks[v.GetHook()].use); t != nil {
				u.table = t.Index
			}
			return u
		},
		Layer2: func(u use) (uint32, bool) {
			return uint32(u.swIfIndex), u.packets == classify.Binding_L2
		},
		ID: func(u use) place { return u.place },
		Value: func(n *item.Names, u use) *classify.Binding {
			return &classify.Binding{
				Interface: n.Interface(u.swIfIndex), Hook: u.hook, Packets: u.packets, Table: n.Known(tables.name(u.table)),
			}
		},
		Complete: func(ctx context.Context, u use) error { return displace(ctx, vpp, u) },
		Gone:     []api.VPPApiError{api.NO_SUCH_TABLE},
		After:    []string{TableName},
	})
}

// displace removes another table that VPP has kept where one was added, and adds that again.
func displace(ctx context.Context, vpp *session.VPP, u use) error {
	all, err := showUses(ctx, vpp, u.hook, u.packets)
	if err != nil {
		return err
	}
	for _, other := range all {
		if other.place != u.place || other.table == u.table {
			continue
		}
		request, reply := apply(other, false)
		if err := vpp.Call(ctx, request, reply); err != nil {
			return err
		}
		request, reply = apply(u, true)
		return vpp.Call(ctx, request, reply)
	}
	return nil
}
