package srplugin

import (
	"net/netip"

	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/interface_types"
	"go.fd.io/govpp/binapi/ip_types"
	"go.fd.io/govpp/binapi/sr"
	"go.fd.io/govpp/binapi/sr_types"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/binding"
	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ipconv"
	"github.com/tenuto-dev/tenuto/plugins/vpp/item"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
	l3 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l3"
	srv6 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/srv6"
)

// localSID is a local segment. SwIfIndex is the number of a VRF table for behaviors that look
// packets up in one.
type localSID struct {
	sr.SrLocalsidAddDel
	incoming interface_types.InterfaceIndex // of a dynamicProxy; SwIfIndex is the outgoing interface
}

var localSIDOperation = item.Declare("SRv6 local SID", "", item.Variant[localSID]{
	Change: func(s localSID, add bool) (request, reply api.Message) {
		s.IsDel = !add
		if s.Behavior == dynamicProxy { // a removal, which names the segment
			s.Behavior = sr_types.SR_BEHAVIOR_API_END
		}
		return &s.SrLocalsidAddDel, &sr.SrLocalsidAddDelReply{}
	},
	Dumps: []item.Dump[localSID]{item.ListWith(listLocalSIDs, proxyMessages(&sr.SrLocalsidsDump{}, &sr.SrLocalsidsDetails{})...)},
})

// argument is what a behavior has besides the segment.
type argument int

const (
	noArgument argument = iota + 1
	neighborArgument
	interfaceArgument
	tableArgument
	proxyArguments
)

// withArgument has the behaviors of items. VPP has others, including the behaviors of its
// plugins.
var withArgument = map[sr_types.SrBehavior]argument{
	sr_types.SR_BEHAVIOR_API_END: noArgument, sr_types.SR_BEHAVIOR_API_X: neighborArgument, sr_types.SR_BEHAVIOR_API_T: tableArgument,
	sr_types.SR_BEHAVIOR_API_DX2: interfaceArgument, sr_types.SR_BEHAVIOR_API_DX4: neighborArgument,
	sr_types.SR_BEHAVIOR_API_DX6: neighborArgument, sr_types.SR_BEHAVIOR_API_DT4: tableArgument, sr_types.SR_BEHAVIOR_API_DT6: tableArgument,
	dynamicProxy: proxyArguments,
}

// NewLocalSID describes local segments. VPP has a segment once, whatever the table, and cannot
// change it. It makes the route to the segment in the table.
func NewLocalSID(vpp *session.VPP, ifs item.Interfaces) *kvs.KVDescriptor {
	return item.NewEntry(vpp, ifs, item.Entry[*srv6.LocalSID, localSID, ip_types.IP6Address]{
		Name: LocalSIDName, Model: LocalSIDModel, Operation: localSIDOperation,
		Resolve:    resolveLocalSID,
		ID:         func(s localSID) ip_types.IP6Address { return s.Localsid },
		Add:        (&proxies{vpp: vpp}).add,
		Identities: proxyIdentities,
		Value:      localSIDValue,
		Assume:     func(found, expected localSID) localSID { return withVlan(vpp, found, expected) },
		Gone:       []api.VPPApiError{answer(-2)},
		Explain: map[api.VPPApiError]string{
			answer(-1): "sid: VPP has this segment already",
			answer(-3): "installation_vrf_id: VPP does not have the table",
			answer(-4): "sid: VPP has a route to this address in the table",
		},
	})
}

// withVlan returns a local segment with the expected VLAN tag if VPP does not list it.
func withVlan(vpp *session.VPP, found, expected localSID) localSID {
	s, err := vpp.Session()
	if err != nil || found.Behavior != expected.Behavior {
		return found
	}
	if _, unset := s.Quirks.Find((*sr.SrLocalsidsDetails)(nil).GetMessageName(), binding.UnsetFields); unset {
		found.VlanIndex = expected.VlanIndex
	}
	return found
}

func resolveLocalSID(r *item.Resolver, v *srv6.LocalSID) localSID {
	s := localSID{SrLocalsidAddDel: sr.SrLocalsidAddDel{
		Localsid: segment(r, "sid", v.GetSid()),
		FibTable: table(r, "sr-localsid-installation-vrf-table-exists", v.GetInstallationVrfId(), l3.VrfTable_IPV6),
	}}
	const lookup = "sr-localsid-routing-lookup-vrf-table-exists"
	switch f := v.GetEndFunction().(type) {
	case *srv6.LocalSID_BaseEndFunction:
		s.Behavior, s.EndPsp = sr_types.SR_BEHAVIOR_API_END, f.BaseEndFunction.GetPsp()
	case *srv6.LocalSID_EndFunctionX:
		s.Behavior, s.EndPsp = sr_types.SR_BEHAVIOR_API_X, f.EndFunctionX.GetPsp()
		s.SwIfIndex = r.Interface("end_function_x.outgoing_interface", f.EndFunctionX.GetOutgoingInterface())
		s.NhAddr = r.Host("end_function_x.next_hop", f.EndFunctionX.GetNextHop())
	case *srv6.LocalSID_EndFunctionT:
		s.Behavior, s.EndPsp = sr_types.SR_BEHAVIOR_API_T, f.EndFunctionT.GetPsp()
		s.SwIfIndex = interface_types.InterfaceIndex(table(r, lookup, f.EndFunctionT.GetVrfId(), l3.VrfTable_IPV6))
	case *srv6.LocalSID_EndFunctionDx2:
		s.Behavior, s.VlanIndex = sr_types.SR_BEHAVIOR_API_DX2, f.EndFunctionDx2.GetVlanTag()
		s.SwIfIndex = r.Interface("end_function_dx2.outgoing_interface", f.EndFunctionDx2.GetOutgoingInterface())
	case *srv6.LocalSID_EndFunctionDx4:
		s.Behavior = sr_types.SR_BEHAVIOR_API_DX4
		s.SwIfIndex = r.Interface("end_function_dx4.outgoing_interface", f.EndFunctionDx4.GetOutgoingInterface())
		s.NhAddr = r.Host("end_function_dx4.next_hop", f.EndFunctionDx4.GetNextHop())
	case *srv6.LocalSID_EndFunctionDx6:
		s.Behavior = sr_types.SR_BEHAVIOR_API_DX6
		s.SwIfIndex = r.Interface("end_function_dx6.outgoing_interface", f.EndFunctionDx6.GetOutgoingInterface())
		s.NhAddr = r.Host("end_function_dx6.next_hop", f.EndFunctionDx6.GetNextHop())
	case *srv6.LocalSID_EndFunctionDt4:
		s.Behavior = sr_types.SR_BEHAVIOR_API_DT4
		s.SwIfIndex = interface_types.InterfaceIndex(table(r, lookup, f.EndFunctionDt4.GetVrfId(), l3.VrfTable_IPV4))
	case *srv6.LocalSID_EndFunctionDt6:
		s.Behavior = sr_types.SR_BEHAVIOR_API_DT6
		s.SwIfIndex = interface_types.InterfaceIndex(table(r, lookup, f.EndFunctionDt6.GetVrfId(), l3.VrfTable_IPV6))
	case *srv6.LocalSID_EndFunctionAd:
		s.Behavior = dynamicProxy
		s.SwIfIndex = r.Interface("end_function_ad.outgoing_interface", f.EndFunctionAd.GetOutgoingInterface())
		s.incoming = r.Interface("end_function_ad.incoming_interface", f.EndFunctionAd.GetIncomingInterface())
		if address := f.EndFunctionAd.GetL3ServiceAddress(); address != "" {
			s.NhAddr = r.Host("end_function_ad.l3_service_address", address)
		}
	default:
		r.Fail("end_function", "empty, expected what happens to packets")
	}
	return s
}

// localSIDOf returns what VPP lists, in the form of resolveLocalSID. VPP lists fields that a
// behavior does not use, and some IPv6 addresses as IPv4 addresses.
func localSIDOf(d *sr.SrLocalsidsDetails) localSID {
	s := localSID{SrLocalsidAddDel: sr.SrLocalsidAddDel{Localsid: d.Addr, EndPsp: d.EndPsp, Behavior: d.Behavior, FibTable: d.FibTable}}
	if withArgument[d.Behavior] != noArgument {
		s.SwIfIndex = interface_types.InterfaceIndex(d.XconnectIfaceOrVrfTable)
	}
	switch d.Behavior {
	case sr_types.SR_BEHAVIOR_API_DX2:
		s.VlanIndex = d.VlanIndex
	case sr_types.SR_BEHAVIOR_API_X, sr_types.SR_BEHAVIOR_API_DX6:
		s.NhAddr = longAddress(d.XconnectNhAddr)
	case sr_types.SR_BEHAVIOR_API_DX4:
		s.NhAddr = d.XconnectNhAddr
	}
	return s
}

// longAddress returns an IPv6 address, which VPP lists as one of IPv4 if it starts with 12 zero
// bytes.
func longAddress(a ip_types.Address) ip_types.Address {
	if a.Af == ip_types.ADDRESS_IP6 {
		return a
	}
	var out [16]byte
	short := a.Un.GetIP4()
	copy(out[12:], short[:])
	return ipconv.Address(netip.AddrFrom16(out))
}

func localSIDValue(n *item.Names, s localSID) *srv6.LocalSID {
	v := &srv6.LocalSID{Sid: segmentText(s.Localsid), InstallationVrfId: s.FibTable}
	out, nh, vrf := "", item.Addr(s.NhAddr), uint32(s.SwIfIndex)
	if a := withArgument[s.Behavior]; a == neighborArgument || a == interfaceArgument {
		out = n.Interface(s.SwIfIndex)
	}
	switch s.Behavior {
	case sr_types.SR_BEHAVIOR_API_END:
		v.EndFunction = &srv6.LocalSID_BaseEndFunction{BaseEndFunction: &srv6.LocalSID_End{Psp: s.EndPsp}}
	case sr_types.SR_BEHAVIOR_API_X:
		v.EndFunction = &srv6.LocalSID_EndFunctionX{EndFunctionX: &srv6.LocalSID_EndX{Psp: s.EndPsp, OutgoingInterface: out, NextHop: nh}}
	case sr_types.SR_BEHAVIOR_API_T:
		v.EndFunction = &srv6.LocalSID_EndFunctionT{EndFunctionT: &srv6.LocalSID_EndT{Psp: s.EndPsp, VrfId: vrf}}
	case sr_types.SR_BEHAVIOR_API_DX2:
		v.EndFunction = &srv6.LocalSID_EndFunctionDx2{EndFunctionDx2: &srv6.LocalSID_EndDX2{VlanTag: s.VlanIndex, OutgoingInterface: out}}
	case sr_types.SR_BEHAVIOR_API_DX4:
		v.EndFunction = &srv6.LocalSID_EndFunctionDx4{EndFunctionDx4: &srv6.LocalSID_EndDX4{OutgoingInterface: out, NextHop: nh}}
	case sr_types.SR_BEHAVIOR_API_DX6:
		v.EndFunction = &srv6.LocalSID_EndFunctionDx6{EndFunctionDx6: &srv6.LocalSID_EndDX6{OutgoingInterface: out, NextHop: nh}}
	case sr_types.SR_BEHAVIOR_API_DT4:
		v.EndFunction = &srv6.LocalSID_EndFunctionDt4{EndFunctionDt4: &srv6.LocalSID_EndDT4{VrfId: vrf}}
	case sr_types.SR_BEHAVIOR_API_DT6:
		v.EndFunction = &srv6.LocalSID_EndFunctionDt6{EndFunctionDt6: &srv6.LocalSID_EndDT6{VrfId: vrf}}
	case dynamicProxy:
		v.EndFunction = &srv6.LocalSID_EndFunctionAd{EndFunctionAd: proxyValue(n, s)}
	}
	return v
}
