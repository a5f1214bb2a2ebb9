package natplugin

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/ip_types"
	vpp66 "go.fd.io/govpp/binapi/nat66"
	"go.fd.io/govpp/binapi/nat_types"

	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/item"
	"github.com/tenuto-dev/tenuto/plugins/vpp/natplugin/model"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
	nat66 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/nat66"
)

// Names of the descriptors of NAT66, and of the plugin of VPP.
const (
	NAT66GlobalName    = "vpp-nat66-global"
	NAT66InterfaceName = "vpp-nat66-interface"
	NAT66MappingName   = "vpp-nat66-static-mapping"

	nat66Plugin = "nat66"
)

var globals66 = session.Require("NAT66", nat66Plugin,
	(*vpp66.Nat66PluginEnableDisable)(nil), (*vpp66.Nat66PluginEnableDisableReply)(nil))

var applied66 = session.NewState(func() *applied[uint32] { return &applied[uint32]{} })

// NewNAT66Global describes the global item: the VRF table of the outside. VPP does not report
// it, nor whether NAT66 is enabled: see get64.
func NewNAT66Global(vpp *session.VPP) *kvs.KVDescriptor {
	return item.NewSingleton(vpp, item.Singleton[*nat66.Global, uint32]{
		Name: NAT66GlobalName, Model: model.NAT66GlobalModel,
		Resolve: func(r *item.Resolver, v *nat66.Global) uint32 {
			return r.Table(v.GetOutsideVrfId(), anyIP6)
		},
		Value: func(vrf uint32) *nat66.Global {
			if vrf == noVRF {
				vrf = 0
			}
			return &nat66.Global{OutsideVrfId: vrf}
		},
		Get: func(ctx context.Context) (*uint32, error) { return get66(ctx, vpp) },
		Assume: func(found, expected uint32) uint32 {
			if found == noVRF {
				return expected
			}
			return found
		},
		SessionOnly: func() bool { return globals66.Check(vpp) == nil },
		Recreate:    func(_, _ uint32) bool { return true },
		Set:         func(ctx context.Context, _, vrf *uint32) error { return set66(ctx, vpp, vrf) },
		KeepsShared: true,
	})
}

func set66(ctx context.Context, vpp *session.VPP, vrf *uint32) error {
	if err := globals66.Check(vpp); err != nil {
		return err
	}
	req, others := &vpp66.Nat66PluginEnableDisable{Enable: vrf != nil}, ""
	if vrf != nil {
		req.OutsideVrf = *vrf
	} else {
		var err error
		if others, err = usedByOthers66(ctx, vpp); err != nil {
			return err
		}
	}
	if others == "" {
		if err := vpp.Call(ctx, req, &vpp66.Nat66PluginEnableDisableReply{}); err != nil && !errors.Is(err, alreadyThere) {
			return err
		}
	}
	return errors.Join(remember(vpp, applied66, vrf), leftTo("NAT66", others))
}

// usedByOthers66 names what VPP has in NAT66. It is called when the agent has nothing in it.
func usedByOthers66(ctx context.Context, vpp *session.VPP) (string, error) {
	u, interfaces := users{ctx: ctx}, 0
	u.err = session.Each(ctx, vpp, &vpp66.Nat66InterfaceDump{}, func(*vpp66.Nat66InterfaceDetails) { interfaces++ })
	u.add("interfaces", interfaces)
	count(&u, "mappings", parts(vpp, mappings66))
	return u.text()
}

// get66 returns the VRF table of the outside, noVRF if it is not known.
func get66(ctx context.Context, vpp *session.VPP) (*uint32, error) {
	if err := globals66.Check(vpp); err != nil {
		return nil, err
	}
	known, err := remembered(vpp, applied66)
	if known != nil || err != nil {
		return known, err
	}
	var unknown *uint32
	used := func() { unknown = new(uint32(noVRF)) }
	err = errors.Join(
		session.Each(ctx, vpp, &vpp66.Nat66InterfaceDump{}, func(*vpp66.Nat66InterfaceDetails) { used() }),
		session.Each(ctx, vpp, &vpp66.Nat66StaticMappingDump{}, func(*vpp66.Nat66StaticMappingDetails) { used() }))
	if unknown == nil || err != nil {
		return nil, err
	}
	return unknown, remember(vpp, applied66, unknown)
}

func dependsOnNAT66(r *item.Resolver) {
	r.DependsOn("nat66-global-config-exists", model.NAT66GlobalModel.KeyPrefix())
}

var interfaces66 = item.Declare("NAT66 interface", nat66Plugin, item.Variant[natInterface]{
	Change: func(i natInterface, add bool) (request, reply api.Message) {
		req := &vpp66.Nat66AddDelInterface{IsAdd: add, SwIfIndex: i.index}
		if i.side == inside {
			req.Flags = nat_types.NAT_IS_INSIDE
		}
		return req, &vpp66.Nat66AddDelInterfaceReply{}
	},
	Dumps: []item.Dump[natInterface]{item.List(&vpp66.Nat66InterfaceDump{}, func(d *vpp66.Nat66InterfaceDetails) (natInterface, bool) {
		i := natInterface{d.SwIfIndex, outside}
		if d.Flags&nat_types.NAT_IS_INSIDE != 0 {
			i.side = inside
		}
		return i, true
	})},
})

// NewNAT66Interface describes interfaces that take part in NAT66. VPP has an interface on one
// side, and keeps it when the interface is deleted, so it goes before.
func NewNAT66Interface(vpp *session.VPP, ifs item.Interfaces) *kvs.KVDescriptor {
	return item.NewEntry(vpp, ifs, item.Entry[*nat66.Interface, natInterface, natInterface]{
		Name: NAT66InterfaceName, Model: model.NAT66InterfaceModel, Operation: interfaces66,
		Resolve: func(r *item.Resolver, v *nat66.Interface) natInterface {
			dependsOnNAT66(r)
			i := natInterface{r.Interface("name", v.GetName()), outside}
			if v.GetInside() {
				i.side = inside
			}
			return i
		},
		ID: func(i natInterface) natInterface { return natInterface{index: i.index} },
		Value: func(n *item.Names, i natInterface) *nat66.Interface {
			return &nat66.Interface{Name: n.Interface(i.index), Inside: i.side == inside}
		},
		Gone:    gone,
		Explain: map[api.VPPApiError]string{api.VALUE_EXIST: "name: another client of VPP has added the interface"},
	})
}

// mapping66 is a mapping. VPP has the inside address of a VRF table once, and would replace the
// mapping of an outside address without an error.
type mapping66 struct {
	local, external ip_types.IP6Address
	vrf             uint32
}

// external66 is the outside address of one mapping.
type external66 ip_types.IP6Address

type mappingCalls66 = func(*session.VPP) item.PartCalls[mapping66]

var mappings66 = session.Declare("NAT66 static mapping", nat66Plugin, session.Variant[mappingCalls66](mappingsOf66,
	(*vpp66.Nat66AddDelStaticMapping)(nil), (*vpp66.Nat66AddDelStaticMappingReply)(nil),
	(*vpp66.Nat66StaticMappingDump)(nil), (*vpp66.Nat66StaticMappingDetails)(nil)))

func mappingsOf66(vpp *session.VPP) item.PartCalls[mapping66] {
	return item.PartCalls[mapping66]{
		Change: func(m mapping66, add bool) (request, reply api.Message) {
			return &vpp66.Nat66AddDelStaticMapping{IsAdd: add, LocalIPAddress: m.local, ExternalIPAddress: m.external, VrfID: m.vrf},
				&vpp66.Nat66AddDelStaticMappingReply{}
		},
		List: func(ctx context.Context) (all []mapping66, err error) {
			err = session.Each(ctx, vpp, &vpp66.Nat66StaticMappingDump{}, func(d *vpp66.Nat66StaticMappingDetails) {
				all = append(all, mapping66{d.LocalIPAddress, d.ExternalIPAddress, d.VrfID})
			})
			return all, err
		},
	}
}

// NewNAT66Mapping describes mappings of addresses.
func NewNAT66Mapping(vpp *session.VPP) *kvs.KVDescriptor {
	value := func(m mapping66) *nat66.StaticMapping {
		return &nat66.StaticMapping{
			LocalAddr: netip.AddrFrom16(m.local).String(), ExternalAddr: netip.AddrFrom16(m.external).String(), VrfId: m.vrf,
		}
	}
	return item.NewGroup(vpp, nil, item.Group[*nat66.StaticMapping, mapping66, ip_types.IP6Address]{
		Name: NAT66MappingName, Model: model.NAT66MappingModel, Parts: parts(vpp, mappings66),
		Resolve: func(r *item.Resolver, v *nat66.StaticMapping) []mapping66 {
			dependsOnNAT66(r)
			return []mapping66{{
				ip6(r, "local_addr", v.GetLocalAddr()), ip6(r, "external_addr", v.GetExternalAddr()), r.Table(v.GetVrfId(), anyIP6),
			}}
		},
		ID:    func(m mapping66) ip_types.IP6Address { return m.external },
		Once:  func(m mapping66) any { return external66(m.external) },
		Key:   func(_ *item.Names, m mapping66) string { return model.NAT66MappingModel.Key(value(m)) },
		Value: func(_ *item.Names, all []mapping66) *nat66.StaticMapping { return value(all[0]) },
		Taken: func(m mapping66, key string) error {
			return fmt.Errorf("external_addr: %s has it already", key)
		},
		Gone:    gone,
		Explain: map[api.VPPApiError]string{api.VALUE_EXIST: "local_addr: another client of VPP has mapped it"},
	})
}
