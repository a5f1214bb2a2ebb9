package srplugin

import (
	"context"
	"fmt"
	"net/netip"

	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/interface_types"
	"go.fd.io/govpp/binapi/ip_types"
	"go.fd.io/govpp/binapi/sr"
	"go.fd.io/govpp/binapi/sr_types"

	"github.com/tenuto-dev/tenuto/infra/idxmap"
	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	ifmodel "github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/model"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ipconv"
	"github.com/tenuto-dev/tenuto/plugins/vpp/item"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
	l3 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l3"
	srv6 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/srv6"
)

// steering is a choice of packets for a policy.
type steering struct {
	traffic
	bsid ip_types.IP6Address
}

// traffic is the packets that are chosen. VPP has a policy for it once. The name of the item is
// not in VPP.
type traffic struct {
	of     sr_types.SrSteer
	iface  interface_types.InterfaceIndex
	table  uint32
	prefix ip_types.Prefix
}

var steeringOperation = item.Declare("SRv6 steering", "", item.Variant[steering]{
	Change: func(s steering, add bool) (request, reply api.Message) {
		return &sr.SrSteeringAddDel{
			IsDel: !add, BsidAddr: s.bsid, TableID: s.table, Prefix: s.prefix, SwIfIndex: s.iface, TrafficType: s.of,
		}, &sr.SrSteeringAddDelReply{}
	},
	Dumps: []item.Dump[steering]{item.List(&sr.SrSteeringPolDump{}, func(d *sr.SrSteeringPolDetails) (steering, bool) {
		return steeringOf(d), true
	})},
})

// Traffic is the metadata of a choice of packets.
type Traffic struct{ traffic }

// byTraffic finds choices by their packets.
var byTraffic = idxmap.Index[*Traffic, traffic]{
	Name: "traffic",
	Keys: func(m *Traffic) []traffic {
		if m == nil {
			return nil
		}
		return []traffic{m.traffic}
	},
}

type steerings struct{ known idxmap.Map[*Traffic] }

// NewSteering describes choices of packets for policies. VPP changes the policy of packets in
// place, also if another item has chosen them: that is refused here. use gives the descriptor
// its metadata map, before anything is configured.
func NewSteering(vpp *session.VPP, ifs item.Interfaces) (d *kvs.KVDescriptor, use func(idxmap.Reader) error) {
	s := &steerings{}
	d = item.NewEntry(vpp, ifs, item.Entry[*srv6.Steering, steering, traffic]{
		Name: SteeringName, Model: SteeringModel, Operation: steeringOperation,
		Resolve:    resolveSteering,
		Identities: steeringIdentities,
		ID:         func(s steering) traffic { return s.traffic },
		Value:      steeringValue,
		Changeable: func(steering, steering) bool { return true },
		Check:      s.check,
		Metadata:   func(s steering) kvs.Metadata { return &Traffic{s.traffic} },
		Gone:       []api.VPPApiError{answer(-4)},
		Explain: map[api.VPPApiError]string{
			answer(-2): "policy_bsid: VPP does not have the policy",
			answer(-3): "l2_traffic.interface_name: VPP does not steer the frames of this interface",
			answer(-5): "policy_bsid: the policy inserts segments into IPv6 packets; frames and IPv4 packets need one with srh_encapsulation",
		},
	})
	return d, func(r idxmap.Reader) (err error) {
		s.known, err = idxmap.Of[*Traffic](r)
		return err
	}
}

func resolveSteering(r *item.Resolver, v *srv6.Steering) steering {
	s := steering{}
	if _, ok := v.GetPolicyRef().(*srv6.Steering_PolicyIndex); ok {
		r.Fail("policy_index", "indexes change, expected policy_bsid")
	} else {
		s.bsid = segment(r, "policy_bsid", v.GetPolicyBsid())
		r.DependsOn("sr-policy-for-steering-exists", PolicyModel.KeyFor(v.GetPolicyBsid()))
	}
	switch t := v.GetTraffic().(type) {
	case *srv6.Steering_L2Traffic_:
		s.of = sr_types.SR_STEER_API_L2
		s.iface = r.Interface("l2_traffic.interface_name", t.L2Traffic.GetInterfaceName(),
			ifmodel.MAC("the steering of frames"), ifmodel.Main("the steering of frames"))
	case *srv6.Steering_L3Traffic_:
		s.prefix, s.table = r.Masked("l3_traffic.prefix_address", t.L3Traffic.GetPrefixAddress()), t.L3Traffic.GetInstallationVrfId()
		protocol := l3.VrfTable_IPV4
		s.of = sr_types.SR_STEER_API_IPV4
		if s.prefix.Address.Af == ip_types.ADDRESS_IP6 {
			s.of, protocol = sr_types.SR_STEER_API_IPV6, l3.VrfTable_IPV6
		}
		table(r, "sr-steering-vrf-table-exists", s.table, protocol)
	default:
		r.Fail("traffic", "empty, expected l2_traffic or l3_traffic")
	}
	return s
}

// steeringIdentities are the packets that are chosen.
func steeringIdentities(v *srv6.Steering) []string {
	if t := v.GetL2Traffic(); t != nil {
		return []string{"sr-steering/l2/" + t.GetInterfaceName()}
	}
	p, err := ipconv.ParsePrefix(v.GetL3Traffic().GetPrefixAddress())
	if err != nil {
		return nil
	}
	return []string{fmt.Sprintf("sr-steering/l3/%d/%s", v.GetL3Traffic().GetInstallationVrfId(), p.Masked())}
}

// steeringOf returns what VPP lists, in the form of resolveSteering. VPP lists the interface and
// the prefix from the same bytes, and some IPv6 prefixes as IPv4 prefixes.
func steeringOf(d *sr.SrSteeringPolDetails) steering {
	s := steering{traffic{of: d.TrafficType}, d.Bsid}
	switch d.TrafficType {
	case sr_types.SR_STEER_API_L2:
		s.iface = d.SwIfIndex
	case sr_types.SR_STEER_API_IPV6:
		s.table, s.prefix = d.FibTable, ip_types.Prefix{Address: longAddress(d.Prefix.Address), Len: d.Prefix.Len}
	default:
		s.table, s.prefix = d.FibTable, d.Prefix
	}
	return s
}

// steeringValue names what no item has chosen by its packets.
func steeringValue(n *item.Names, s steering) *srv6.Steering {
	v := &srv6.Steering{PolicyRef: &srv6.Steering_PolicyBsid{PolicyBsid: segmentText(s.bsid)}}
	if s.of == sr_types.SR_STEER_API_L2 {
		name := n.Interface(s.iface)
		v.Name, v.Traffic = "l2-"+name, &srv6.Steering_L2Traffic_{L2Traffic: &srv6.Steering_L2Traffic{InterfaceName: name}}
		return v
	}
	prefix := netip.PrefixFrom(ipconv.FromAddress(s.prefix.Address), int(s.prefix.Len)).String()
	v.Name = "l3-" + prefix
	v.Traffic = &srv6.Steering_L3Traffic_{L3Traffic: &srv6.Steering_L3Traffic{InstallationVrfId: s.table, PrefixAddress: prefix}}
	return v
}

func (s *steerings) check(_ context.Context, v *srv6.Steering, e steering) error {
	for _, name := range byTraffic.Lookup(s.known, e.traffic) {
		if name != v.GetName() {
			return item.Invalid("traffic", "item %q has chosen the same packets", name)
		}
	}
	return nil
}
