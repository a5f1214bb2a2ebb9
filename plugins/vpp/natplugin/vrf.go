package natplugin

import (
	"context"
	"fmt"
	"math"
	"strings"

	"go.fd.io/govpp/api"
	ed "go.fd.io/govpp/binapi/nat44_ed"
	"go.fd.io/govpp/binapi/vlib"

	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/item"
	"github.com/tenuto-dev/tenuto/plugins/vpp/natplugin/model"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
	nat "github.com/tenuto-dev/tenuto/proto/ligato/vpp/nat"
)

// Only the command line of VPP lists its tables and routes correctly. In the API,
// nat44_ed_vrf_tables_dump leaves out which table it is, and both dumps crash VPP if all routes of
// a table have been deleted (nat44_ed_vrf_tables_send_details in nat44_ed_api.c). Before 23.06
// the requests that change them are answered with the wrong message, so the command line makes
// the changes, too.

// vrfRoute is a route from one VRF table to another, or a table if there is no other.
type vrfRoute struct {
	from, to uint32
}

// noVRF is the other table of a table.
const noVRF = math.MaxUint32

type vrfCalls = func(*session.VPP) item.PartCalls[vrfRoute]

// vrfOperations of tables or of routes, with the request that changes them and its reply.
func vrfOperations(name string, routes bool, request, reply api.Message) map[kind]*session.Operation[vrfCalls] {
	list := func(vpp *session.VPP) func(context.Context) ([]vrfRoute, error) {
		return func(ctx context.Context) ([]vrfRoute, error) { return listVRF(ctx, vpp, routes) }
	}
	return map[kind]*session.Operation[vrfCalls]{endpointDependent: session.Declare(name, plugin,
		// The dump is of the first release with the right replies. It is not used.
		session.Variant[vrfCalls](func(vpp *session.VPP) item.PartCalls[vrfRoute] {
			return item.PartCalls[vrfRoute]{Change: changeVRF, List: list(vpp)}
		}, request, reply, (*ed.Nat44EdVrfTablesV2Dump)(nil)),
		session.Variant[vrfCalls](func(vpp *session.VPP) item.PartCalls[vrfRoute] {
			return item.PartCalls[vrfRoute]{Change: commandVRF, Answer: answerVRF, List: list(vpp)}
		}, request),
	)}
}

var (
	vrfTableOperations = vrfOperations("NAT44 VRF table", false, (*ed.Nat44EdAddDelVrfTable)(nil), (*ed.Nat44EdAddDelVrfTableReply)(nil))
	vrfRouteOperations = vrfOperations("NAT44 VRF route", true, (*ed.Nat44EdAddDelVrfRoute)(nil), (*ed.Nat44EdAddDelVrfRouteReply)(nil))
)

func changeVRF(r vrfRoute, add bool) (request, reply api.Message) {
	if r.to == noVRF {
		return &ed.Nat44EdAddDelVrfTable{TableVrfID: r.from, IsAdd: add}, &ed.Nat44EdAddDelVrfTableReply{}
	}
	return &ed.Nat44EdAddDelVrfRoute{TableVrfID: r.from, VrfID: r.to, IsAdd: add}, &ed.Nat44EdAddDelVrfRouteReply{}
}

func commandVRF(r vrfRoute, add bool) (request, reply api.Message) {
	verb := "del"
	if add {
		verb = "add"
	}
	command := fmt.Sprintf("nat44 vrf route %s table %d %d", verb, r.from, r.to)
	if r.to == noVRF {
		command = fmt.Sprintf("nat44 vrf table %s %d", verb, r.from)
	}
	return &vlib.CliInband{Cmd: command}, &vlib.CliInbandReply{}
}

// answerVRF returns the error of "add vrf table returned -81".
func answerVRF(reply api.Message) error {
	text := strings.TrimSpace(reply.(*vlib.CliInbandReply).Reply)
	if text == "" {
		return nil
	}
	var retval int32
	if _, number, ok := strings.Cut(text, " returned "); ok {
		if _, err := fmt.Sscan(number, &retval); err == nil {
			return fmt.Errorf("VPP answers %q: %w", text, api.VPPApiError(retval))
		}
	}
	return fmt.Errorf("VPP answers %q", text)
}

// listVRF reads what nat44_ed_show_vrf_tables_command_fn prints (nat44_ed_cli.c).
func listVRF(ctx context.Context, vpp *session.VPP, routes bool) (all []vrfRoute, err error) {
	const command = "show nat44 vrf tables"
	reply := &vlib.CliInbandReply{}
	if err := vpp.Call(ctx, &vlib.CliInband{Cmd: command}, reply); err != nil {
		return nil, fmt.Errorf("command %q: %w", command, err)
	}
	var table uint32
	for line := range strings.Lines(reply.Reply) {
		var number, to uint32
		switch line = strings.TrimSpace(line); {
		case line == "":
		case strings.HasPrefix(line, "table "):
			_, err = fmt.Sscanf(line, "table %d:", &table)
			if !routes {
				all = append(all, vrfRoute{table, noVRF})
			}
		default:
			_, err = fmt.Sscanf(line, "[%d] vrf-id %d", &number, &to)
			if routes {
				all = append(all, vrfRoute{table, to})
			}
		}
		if err != nil {
			return nil, fmt.Errorf("command %q: unexpected line %q: %w", command, line, err)
		}
	}
	return all, nil
}

// NewVrfTable describes VRF tables of NAT. What they lead to is informative; routes are items of
// their own.
func NewVrfTable(vpp *session.VPP) *kvs.KVDescriptor {
	return item.NewGroup(vpp, nil, item.Group[*nat.Nat44VrfTable, vrfRoute, vrfRoute]{
		Name: VrfTableName, Model: model.VrfTableModel, Parts: partsOf(vpp, vrfTableOperations),
		Resolve: func(r *item.Resolver, v *nat.Nat44VrfTable) []vrfRoute {
			dependsOnED(r)
			return []vrfRoute{{v.GetSrcVrfId(), noVRF}}
		},
		ID: func(t vrfRoute) vrfRoute { return t },
		Key: func(_ *item.Names, t vrfRoute) string {
			return model.VrfTableModel.Key(&nat.Nat44VrfTable{SrcVrfId: t.from})
		},
		Value: func(_ *item.Names, all []vrfRoute) *nat.Nat44VrfTable {
			return &nat.Nat44VrfTable{SrcVrfId: all[0].from}
		},
		Gone: gone, After: []string{GlobalName},
		Explain: map[api.VPPApiError]string{api.VALUE_EXIST: "src_vrf_id: VPP has the table already, for another client"},
	})
}

// NewVrfRoute describes routes from a VRF table of NAT to another VRF table. VPP removes them
// with their table.
func NewVrfRoute(vpp *session.VPP) *kvs.KVDescriptor {
	return item.NewGroup(vpp, nil, item.Group[*nat.Nat44VrfRoute, vrfRoute, vrfRoute]{
		Name: VrfRouteName, Model: model.VrfRouteModel, Parts: partsOf(vpp, vrfRouteOperations),
		Resolve: func(r *item.Resolver, v *nat.Nat44VrfRoute) []vrfRoute {
			r.DependsOn("vrf-table-exists", model.VrfTableModel.Key(&nat.Nat44VrfTable{SrcVrfId: v.GetSrcVrfId()}))
			return []vrfRoute{{v.GetSrcVrfId(), v.GetDestVrfId()}}
		},
		ID: func(t vrfRoute) vrfRoute { return t },
		Key: func(_ *item.Names, t vrfRoute) string {
			return model.VrfRouteModel.Key(&nat.Nat44VrfRoute{SrcVrfId: t.from, DestVrfId: t.to})
		},
		Value: func(_ *item.Names, all []vrfRoute) *nat.Nat44VrfRoute {
			return &nat.Nat44VrfRoute{SrcVrfId: all[0].from, DestVrfId: all[0].to}
		},
		Gone: gone, After: []string{GlobalName, VrfTableName},
		Explain: map[api.VPPApiError]string{api.VALUE_EXIST: "dest_vrf_id: VPP has the route already, for another client"},
	})
}
