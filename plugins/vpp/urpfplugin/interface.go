package urpfplugin

import (
	"context"
	"math"

	"go.fd.io/govpp/api"
	interfaces "go.fd.io/govpp/binapi/interface"
	"go.fd.io/govpp/binapi/interface_types"
	"go.fd.io/govpp/binapi/ip_types"
	"go.fd.io/govpp/binapi/urpf"

	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/item"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
	urpfproto "github.com/tenuto-dev/tenuto/proto/ligato/vpp/urpf"
)

// InterfaceName is the name of the descriptor.
const InterfaceName = "vpp-urpf-interface"

// check is the check of the packets of one version of IP and direction on an interface.
type check struct {
	swIfIndex interface_types.InterfaceIndex
	af        ip_types.AddressFamily
	output    bool
	mode      urpf.UrpfMode
	table     uint32 // of the lookup, or ofInterface
}

// ofInterface has VPP look up routes in the table of the interface.
const ofInterface = math.MaxUint32

func updateV2(c check, add bool) (request, reply api.Message) {
	return &urpf.UrpfUpdateV2{IsInput: !c.output, Mode: c.modeIf(add), Af: c.af, SwIfIndex: c.swIfIndex, TableID: ofInterface}, &urpf.UrpfUpdateV2Reply{}
}

// updateV1 does the same in 22.10. Later releases take it for a check in table 0.
func updateV1(c check, add bool) (request, reply api.Message) {
	return &urpf.UrpfUpdate{IsInput: !c.output, Mode: c.modeIf(add), Af: c.af, SwIfIndex: c.swIfIndex}, &urpf.UrpfUpdateReply{}
}

func (c check) modeIf(on bool) urpf.UrpfMode {
	if on {
		return c.mode
	}
	return urpf.URPF_API_MODE_OFF
}

// reset has the mode of a deleted interface with the same index removed. VPP keeps it, and takes
// the same one for no change.
func reset(change func(c check, add bool) (request, reply api.Message)) func(check) (requests, replies []api.Message) {
	return func(c check) (requests, replies []api.Message) {
		request, reply := change(c, false)
		return []api.Message{request}, []api.Message{reply}
	}
}

var checks = item.Declare("uRPF", "urpf",
	item.Variant[check]{
		Change: updateV2, Reset: reset(updateV2),
		Dumps: []item.Dump[check]{item.Completed(item.List(&urpf.UrpfInterfaceDump{SwIfIndex: math.MaxUint32},
			func(d *urpf.UrpfInterfaceDetails) (check, bool) {
				return check{d.SwIfIndex, d.Af, !d.IsInput, d.Mode, d.TableID}, d.Mode != urpf.URPF_API_MODE_OFF
			}), findTables)},
	},
	item.Variant[check]{Change: updateV2, Reset: reset(updateV2), Unlisted: true},
	item.Variant[check]{Change: updateV1, Reset: reset(updateV1), Unlisted: true},
)

// findTables finds out which checks look up routes in the table of their interface. VPP lists the
// number of the table.
func findTables(ctx context.Context, vpp *session.VPP, all []check) error {
	requests, replies := make([]api.Message, len(all)), make([]api.Message, len(all))
	for i, c := range all {
		requests[i] = &interfaces.SwInterfaceGetTable{SwIfIndex: c.swIfIndex, IsIPv6: c.af == ip_types.ADDRESS_IP6}
		replies[i] = &interfaces.SwInterfaceGetTableReply{}
	}
	for i, err := range vpp.CallAll(ctx, requests, replies) {
		switch {
		case session.Gone(err):
		case err != nil:
			return err
		case replies[i].(*interfaces.SwInterfaceGetTableReply).VrfID == all[i].table:
			all[i].table = ofInterface
		}
	}
	return nil
}

// NewInterface describes the checks of source addresses on interfaces.
func NewInterface(vpp *session.VPP, ifs item.Interfaces) *kvs.KVDescriptor {
	return item.NewEntry(vpp, ifs, item.Entry[*urpfproto.Interface, check, check]{
		Name: InterfaceName, Model: InterfaceModel, Operation: checks,
		Resolve: func(r *item.Resolver, v *urpfproto.Interface) check {
			r.Enum("protocol", v.GetProtocol())
			r.Enum("direction", v.GetDirection())
			r.Enum("mode", v.GetMode())
			c := check{
				swIfIndex: r.Interface("interface", v.GetInterface()), output: v.GetDirection() == urpfproto.Interface_OUTPUT,
				mode: urpf.URPF_API_MODE_STRICT, table: ofInterface,
			}
			r.UsesTableOf(v.GetInterface())
			if v.GetProtocol() == urpfproto.Interface_IPV6 {
				c.af = ip_types.ADDRESS_IP6
			}
			if v.GetMode() == urpfproto.Interface_LOOSE {
				c.mode = urpf.URPF_API_MODE_LOOSE
			}
			return c
		},
		ID: func(c check) check { return check{swIfIndex: c.swIfIndex, af: c.af, output: c.output} },
		Value: func(n *item.Names, c check) *urpfproto.Interface {
			v := &urpfproto.Interface{Interface: n.Interface(c.swIfIndex)}
			if c.af == ip_types.ADDRESS_IP6 {
				v.Protocol = urpfproto.Interface_IPV6
			}
			if c.output {
				v.Direction = urpfproto.Interface_OUTPUT
			}
			if c.mode == urpf.URPF_API_MODE_LOOSE {
				v.Mode = urpfproto.Interface_LOOSE
			}
			return v
		},
		Changeable: func(_, _ check) bool { return true },
	})
}
