package descriptor

import (
	"context"
	"fmt"
	"strings"

	"go.fd.io/govpp/api"
	vppapi "go.fd.io/govpp/binapi/classify"
	"go.fd.io/govpp/binapi/interface_types"
	"go.fd.io/govpp/binapi/vlib"

	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/classifyplugin/model"
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

var uses = item.Declare(&Operations, "classifier binding", "", item.Variant[use]{
	Change: apply,
	Reset: func(u use) (requests, replies []api.Message) {
		request, reply := apply(u, false)
		return []api.Message{request}, []api.Message{reply}
	},
	Dumps: []item.Dump[use]{item.ListWith(listUses, append(listMessages(), &vlib.CliInband{}, &vlib.CliInbandReply{},
		&vppapi.InputACLSetInterface{}, &vppapi.InputACLSetInterfaceReply{},
		&vppapi.OutputACLSetInterface{}, &vppapi.OutputACLSetInterfaceReply{})...)},
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
	if u.hook == classify.Binding_OUTPUT_ACL {
		return &vppapi.OutputACLSetInterface{SwIfIndex: u.swIfIndex, IP4TableIndex: ip4, IP6TableIndex: ip6, L2TableIndex: l2, IsAdd: add},
			&vppapi.OutputACLSetInterfaceReply{}
	}
	return &vppapi.InputACLSetInterface{SwIfIndex: u.swIfIndex, IP4TableIndex: ip4, IP6TableIndex: ip6, L2TableIndex: l2, IsAdd: add},
		&vppapi.InputACLSetInterfaceReply{}
}

// listUses asks nothing while VPP has no tables.
func listUses(ctx context.Context, vpp *session.VPP) (all []use, err error) {
	tables, err := listTables(ctx, vpp)
	if err != nil || len(tables) == 0 {
		return nil, err
	}
	for hook := range classify.Binding_Hook_name {
		for packets := range classify.Binding_Packets_name {
			found, err := showUses(ctx, vpp, classify.Binding_Hook(hook), classify.Binding_Packets(packets))
			if err != nil {
				return nil, err
			}
			all = append(all, found...)
		}
	}
	return all, nil
}

// showUses reads what show_in_out_acl_command_fn prints (src/vnet/classify/in_out_acl.c): for each
// interface its index, that of the table, and its name. VPP has no message that lists them, and none
// that tells of the output.
func showUses(ctx context.Context, vpp *session.VPP, hook classify.Binding_Hook, packets classify.Binding_Packets) (all []use, err error) {
	command := "show inacl type "
	if hook == classify.Binding_OUTPUT_ACL {
		command = "show outacl type "
	}
	command += strings.ToLower(packets.String())
	shown, err := vpp.Command(ctx, command)
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
		Name: BindingName, Model: model.BindingModel, Operation: uses,
		Resolve: func(r *item.Resolver, v *classify.Binding) use {
			r.Enum("hook", v.GetHook())
			r.Enum("packets", v.GetPackets())
			u := use{place: place{r.Interface("interface", v.GetInterface()), v.GetHook(), v.GetPackets()}}
			if r.NotEmpty("table", v.GetTable(), "the name of a table") {
				r.DependsOn("table-exists", model.TableModel.KeyFor(v.GetTable()))
				u.table = r.Number("classifier table", v.GetTable(), tables.index)
			}
			return u
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
	for _, has := range all {
		if has.place != u.place || has.table == u.table {
			continue
		}
		request, reply := apply(has, false)
		if err := vpp.Call(ctx, request, reply); err != nil {
			return err
		}
		request, reply = apply(u, true)
		return vpp.Call(ctx, request, reply)
	}
	return nil
}
