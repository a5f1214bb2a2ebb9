package mplsplugin

import (
	"context"
	"fmt"
	"strings"

	"go.fd.io/govpp/api"
	interfaces "go.fd.io/govpp/binapi/interface"
	"go.fd.io/govpp/binapi/interface_types"
	"go.fd.io/govpp/binapi/mpls"
	"go.fd.io/govpp/binapi/vlib"

	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/item"
	"github.com/tenuto-dev/tenuto/plugins/vpp/mplsplugin/model"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
	pb "github.com/tenuto-dev/tenuto/proto/ligato/vpp/mpls"
)

type ifIndex = interface_types.InterfaceIndex

// enabledOn lists the interfaces on which MPLS is enabled.
type enabledOn = func(ctx context.Context, vpp *session.VPP) ([]ifIndex, error)

var enabled = session.Declare("MPLS interface", "",
	session.Variant[enabledOn](dumpEnabled, (*mpls.SwInterfaceSetMplsEnable)(nil), (*mpls.SwInterfaceSetMplsEnableReply)(nil),
		(*mpls.MplsInterfaceDump)(nil), (*mpls.MplsInterfaceDetails)(nil)),
	session.Variant[enabledOn](showEnabled, (*mpls.SwInterfaceSetMplsEnable)(nil), (*mpls.SwInterfaceSetMplsEnableReply)(nil)))

func dumpEnabled(ctx context.Context, vpp *session.VPP) (all []ifIndex, err error) {
	err = session.Each(ctx, vpp, &mpls.MplsInterfaceDump{SwIfIndex: ifIndex(item.NoInterface)},
		func(d *mpls.MplsInterfaceDetails) { all = append(all, d.SwIfIndex) })
	return all, err
}

// showEnabled reads what show_mpls_interface prints (src/vnet/mpls/interface.c): VPP before 23.10
// has no message for it.
func showEnabled(ctx context.Context, vpp *session.VPP) (all []ifIndex, err error) {
	const command = "show mpls interface"
	reply := &vlib.CliInbandReply{}
	if err := vpp.Call(ctx, &vlib.CliInband{Cmd: command}, reply); err != nil {
		return nil, fmt.Errorf("command %q: %w", command, err)
	}
	shown := map[string]bool{}
	for line := range strings.Lines(reply.Reply) {
		if !strings.HasPrefix(line, " ") {
			shown[strings.TrimSpace(line)] = true
		}
	}
	if len(shown) == 0 {
		return nil, nil
	}
	err = session.Each(ctx, vpp, &interfaces.SwInterfaceDump{SwIfIndex: ifIndex(item.NoInterface)},
		func(d *interfaces.SwInterfaceDetails) {
			if shown[d.InterfaceName] {
				all = append(all, d.SwIfIndex)
			}
		})
	return all, err
}

// NewInterface describes interfaces that accept MPLS packets. VPP counts how often MPLS was
// enabled on an interface, so it is enabled only where it is not. VPP 22.10 to 26.06 keep the
// count when the interface is deleted, so it must go before.
func NewInterface(vpp *session.VPP, ifs item.Interfaces) *kvs.KVDescriptor {
	return item.NewSet(vpp, ifs, item.Set[*pb.Interface, ifIndex, ifIndex]{
		Name: InterfaceName, Model: model.InterfaceModel, Fields: "name",
		Resolve: func(r *item.Resolver, v *pb.Interface) []ifIndex {
			r.DependsOn("mpls-table-exists", model.TableKey(0))
			return []ifIndex{r.Interface("name", v.GetName())}
		},
		ID: func(e ifIndex) ifIndex { return e },
		Value: func(n *item.Names, _, found []ifIndex) *pb.Interface {
			return &pb.Interface{Name: n.Interface(found[0])}
		},
		Table: item.Table[ifIndex]{
			Add:    func(ctx context.Context, e ifIndex) (kvs.Metadata, error) { return nil, enable(ctx, vpp, e, true) },
			Remove: func(ctx context.Context, e ifIndex) error { return enable(ctx, vpp, e, false) },
			All: func(ctx context.Context) ([]ifIndex, error) {
				do, err := enabled.On(vpp)
				if err != nil {
					return nil, item.IgnoreUnsupported(err)
				}
				return do(ctx, vpp)
			},
		},
	})
}

func enable(ctx context.Context, vpp *session.VPP, e ifIndex, on bool) error {
	if err := enabled.Check(vpp); err != nil {
		return err
	}
	err := vpp.Call(ctx, &mpls.SwInterfaceSetMplsEnable{SwIfIndex: e, Enable: on}, &mpls.SwInterfaceSetMplsEnableReply{})
	if !on && session.Gone(err, api.INVALID_SW_IF_INDEX, api.NO_SUCH_FIB) {
		return nil
	}
	return err
}
