package natplugin

import (
	"context"

	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/interface_types"
	ed "go.fd.io/govpp/binapi/nat44_ed"
	ei "go.fd.io/govpp/binapi/nat44_ei"
	"go.fd.io/govpp/binapi/nat_types"

	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/item"
	"github.com/tenuto-dev/tenuto/plugins/vpp/natplugin/model"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
	nat "github.com/tenuto-dev/tenuto/proto/ligato/vpp/nat"
)

// side of NAT that an interface is on.
type side int

const (
	inside side = iota
	outside
	// output is both sides, translated after routing. VPP has an interface there or on the
	// others, not both.
	output
)

// natInterface is an interface on a side.
type natInterface struct {
	index interface_types.InterfaceIndex
	side  side
}

type interfaceCalls = func(*session.VPP) item.PartCalls[natInterface]

var interfaceOperations = map[kind]*session.Operation[interfaceCalls]{
	endpointDependent: session.Declare("NAT44 interface", plugin, session.Variant[interfaceCalls](interfacesED,
		(*ed.Nat44InterfaceAddDelFeature)(nil), (*ed.Nat44InterfaceAddDelFeatureReply)(nil),
		(*ed.Nat44EdAddDelOutputInterface)(nil), (*ed.Nat44EdAddDelOutputInterfaceReply)(nil),
		(*ed.Nat44InterfaceDump)(nil), (*ed.Nat44InterfaceDetails)(nil),
		(*ed.Nat44EdOutputInterfaceGet)(nil), (*ed.Nat44EdOutputInterfaceGetReply)(nil), (*ed.Nat44EdOutputInterfaceDetails)(nil))),
	endpointIndependent: session.Step("NAT44 interface", session.Variant[interfaceCalls](interfacesEI,
		(*ei.Nat44EiInterfaceAddDelFeature)(nil), (*ei.Nat44EiInterfaceAddDelFeatureReply)(nil),
		(*ei.Nat44EiAddDelOutputInterface)(nil), (*ei.Nat44EiAddDelOutputInterfaceReply)(nil),
		(*ei.Nat44EiInterfaceDump)(nil), (*ei.Nat44EiInterfaceDetails)(nil),
		(*ei.Nat44EiOutputInterfaceGet)(nil), (*ei.Nat44EiOutputInterfaceGetReply)(nil), (*ei.Nat44EiOutputInterfaceDetails)(nil))),
}

func interfacesED(vpp *session.VPP) item.PartCalls[natInterface] {
	flags := map[side]nat_types.NatConfigFlags{inside: nat_types.NAT_IS_INSIDE, outside: nat_types.NAT_IS_OUTSIDE}
	return item.PartCalls[natInterface]{
		Change: func(i natInterface, add bool) (request, reply api.Message) {
			if i.side == output {
				return &ed.Nat44EdAddDelOutputInterface{IsAdd: add, SwIfIndex: i.index}, &ed.Nat44EdAddDelOutputInterfaceReply{}
			}
			return &ed.Nat44InterfaceAddDelFeature{IsAdd: add, Flags: flags[i.side], SwIfIndex: i.index},
				&ed.Nat44InterfaceAddDelFeatureReply{}
		},
		List: func(ctx context.Context) (all []natInterface, err error) {
			err = session.Each(ctx, vpp, &ed.Nat44InterfaceDump{}, func(d *ed.Nat44InterfaceDetails) {
				for s, flag := range flags {
					if d.Flags&flag != 0 {
						all = append(all, natInterface{d.SwIfIndex, s})
					}
				}
			})
			if err != nil {
				return nil, err
			}
			outputs, err := session.Cursor[*ed.Nat44EdOutputInterfaceDetails](ctx, vpp,
				&ed.Nat44EdOutputInterfaceGet{}, &ed.Nat44EdOutputInterfaceGetReply{})
			for _, d := range outputs {
				all = append(all, natInterface{d.SwIfIndex, output})
			}
			return all, err
		},
	}
}

func interfacesEI(vpp *session.VPP) item.PartCalls[natInterface] {
	flags := map[side]ei.Nat44EiConfigFlags{inside: ei.NAT44_EI_IF_INSIDE, outside: ei.NAT44_EI_IF_OUTSIDE}
	return item.PartCalls[natInterface]{
		Change: func(i natInterface, add bool) (request, reply api.Message) {
			if i.side == output {
				return &ei.Nat44EiAddDelOutputInterface{IsAdd: add, SwIfIndex: i.index}, &ei.Nat44EiAddDelOutputInterfaceReply{}
			}
			return &ei.Nat44EiInterfaceAddDelFeature{IsAdd: add, Flags: flags[i.side], SwIfIndex: i.index},
				&ei.Nat44EiInterfaceAddDelFeatureReply{}
		},
		List: func(ctx context.Context) (all []natInterface, err error) {
			err = session.Each(ctx, vpp, &ei.Nat44EiInterfaceDump{}, func(d *ei.Nat44EiInterfaceDetails) {
				for s, flag := range flags {
					if d.Flags&flag != 0 {
						all = append(all, natInterface{d.SwIfIndex, s})
					}
				}
			})
			if err != nil {
				return nil, err
			}
			outputs, err := session.Cursor[*ei.Nat44EiOutputInterfaceDetails](ctx, vpp,
				&ei.Nat44EiOutputInterfaceGet{}, &ei.Nat44EiOutputInterfaceGetReply{})
			for _, d := range outputs {
				all = append(all, natInterface{d.SwIfIndex, output})
			}
			return all, err
		},
	}
}

var explainInterface = map[api.VPPApiError]string{
	api.VALUE_EXIST: "name: VPP has the interface already, with output_feature or without",
}

// NewInterface describes interfaces that take part in NAT44. VPP 22.10 keeps them when the
// interface is deleted, so they go before. They also go before the VRF table of the interface
// changes: VPP adds the outside addresses to it, and would look for them in the new one.
func NewInterface(vpp *session.VPP, ifs item.Interfaces) *kvs.KVDescriptor {
	return item.NewGroup(vpp, ifs, item.Group[*nat.Nat44Interface, natInterface, natInterface]{
		Name: InterfaceName, Model: model.InterfaceModel,
		Parts: ownParts(partsOf(vpp, interfaceOperations), func(i natInterface) bool { return listedByGlobal(vpp).interfaces[i] }),
		Resolve: func(r *item.Resolver, v *nat.Nat44Interface) []natInterface {
			dependsOnGlobal(r)
			index := r.Interface("name", v.GetName())
			r.UsesTableOf(v.GetName())
			var sides []side
			switch {
			case v.GetOutputFeature() && v.GetNatInside() && v.GetNatOutside():
				r.Fail("output_feature", "true together with nat_inside and nat_outside, expected at most one of them")
			case v.GetOutputFeature():
				sides = []side{output}
			case v.GetNatInside() && v.GetNatOutside():
				sides = []side{inside, outside}
			case v.GetNatInside():
				sides = []side{inside}
			case v.GetNatOutside():
				sides = []side{outside}
			default:
				r.Fail("nat_inside", "false, expected nat_inside, nat_outside or output_feature")
			}
			var all []natInterface
			for _, s := range sides {
				all = append(all, natInterface{index, s})
			}
			return all
		},
		ID: func(i natInterface) natInterface { return i },
		Key: func(n *item.Names, i natInterface) string {
			return model.InterfaceModel.KeyFor(n.Interface(i.index))
		},
		Value: func(n *item.Names, all []natInterface) *nat.Nat44Interface {
			v := &nat.Nat44Interface{}
			for _, i := range all {
				v.Name = n.Interface(i.index)
				v.NatInside = v.NatInside || i.side == inside
				v.NatOutside = v.NatOutside || i.side == outside
				v.OutputFeature = v.OutputFeature || i.side == output
			}
			return v
		},
		Gone: gone, Explain: explainInterface, After: []string{GlobalName},
	})
}

// NewGlobalInterface describes interfaces that the global item lists.
func NewGlobalInterface(vpp *session.VPP, ifs item.Interfaces) *kvs.KVDescriptor {
	return item.NewGroup(vpp, ifs, item.Group[*nat.Nat44Global_Interface, natInterface, natInterface]{
		Name: GlobalInterfaceName, Derived: model.GlobalInterfaceKey.Matches, Parts: partsOf(vpp, interfaceOperations),
		Resolve: func(r *item.Resolver, v *nat.Nat44Global_Interface) []natInterface {
			dependsOnGlobal(r)
			r.UsesTableOf(v.GetName())
			return []natInterface{{r.Interface("name", v.GetName()), globalSide(v)}}
		},
		ID:   func(i natInterface) natInterface { return i },
		Gone: gone, Explain: explainInterface,
	})
}

func globalSide(v *nat.Nat44Global_Interface) side {
	switch {
	case v.GetOutputFeature():
		return output
	case v.GetIsInside():
		return inside
	}
	return outside
}
