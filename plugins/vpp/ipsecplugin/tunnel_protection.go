//lint:file-ignore SA1019 IPsec interfaces are deprecated for IPIP tunnels, and protected as those are

package ipsecplugin

import (
	"context"
	"fmt"
	"slices"

	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/interface_types"
	"go.fd.io/govpp/binapi/ip_types"
	ipsecapi "go.fd.io/govpp/binapi/ipsec"

	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ipsecplugin/model"
	"github.com/tenuto-dev/tenuto/plugins/vpp/item"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
	ipsec "github.com/tenuto-dev/tenuto/proto/ligato/vpp/ipsec"
)

// protection is the protection of a tunnel. The order of the associations for received packets
// has no meaning; they are sorted.
type protection = ipsecapi.IpsecTunnelProtect

// protectionID distinguishes protections. A tunnel with one peer has one protection, without
// next hop.
type protectionID struct {
	iface   interface_types.InterfaceIndex
	nextHop ip_types.Address
}

// maxIn is how many associations VPP has for the received packets of a tunnel.
const maxIn = 4

var protectionOperation = item.Declare("IPsec tunnel protection", "", item.Variant[protection]{
	Change: func(p protection, add bool) (request, reply api.Message) {
		if add {
			return &ipsecapi.IpsecTunnelProtectUpdate{Tunnel: p}, &ipsecapi.IpsecTunnelProtectUpdateReply{}
		}
		return &ipsecapi.IpsecTunnelProtectDel{SwIfIndex: p.SwIfIndex, Nh: p.Nh}, &ipsecapi.IpsecTunnelProtectDelReply{}
	},
	Dumps: []item.Dump[protection]{item.List(&ipsecapi.IpsecTunnelProtectDump{SwIfIndex: allInterfaces},
		func(d *ipsecapi.IpsecTunnelProtectDetails) (protection, bool) {
			p := d.Tun
			p.SaIn, p.NSaIn = slices.Sorted(slices.Values(p.SaIn)), 0
			return p, true
		})},
})

type tunnelProtection struct {
	ifs item.Interfaces
	sas SAs
}

// NewTunnelProtection describes the protection of tunnels. VPP replaces the associations of a
// tunnel at once, so that a new key is: new associations, the protection with them, and then
// the old ones go. IKEv2 protects tunnels by itself.
func NewTunnelProtection(vpp *session.VPP, ifs item.Interfaces, sas SAs) *kvs.KVDescriptor {
	d := &tunnelProtection{ifs, sas}
	return item.NewEntry(vpp, ifs, item.Entry[*ipsec.TunnelProtection, protection, protectionID]{
		Name: TunnelProtectionName, Model: model.TunnelProtectionModel, Operation: protectionOperation,
		Resolve:    resolveProtection,
		ID:         func(p protection) protectionID { return protectionID{p.SwIfIndex, p.Nh} },
		Value:      protectionValue,
		Changeable: func(protection, protection) bool { return true },
		Implicit:   func(p protection) bool { return ofIKE(p.SaOut) },
		Check:      d.check,
		Gone:       []api.VPPApiError{api.NO_SUCH_ENTRY},
		Explain:    map[api.VPPApiError]string{api.INVALID_VALUE: "sa_out, sa_in: VPP does not have one of the associations"},
		After:      []string{SAName},
	})
}

func resolveProtection(r *item.Resolver, v *ipsec.TunnelProtection) protection {
	p := protection{SwIfIndex: r.Interface("interface", v.GetInterface())}
	switch n := len(v.GetSaOut()); n {
	case 1:
		p.SaOut = v.GetSaOut()[0]
		r.DependsOn("ipsec-sa-exists-out-0", saKey(p.SaOut))
	default:
		r.Fail("sa_out", "%d associations, expected one", n)
	}
	if n := len(v.GetSaIn()); n == 0 || n > maxIn {
		r.Fail("sa_in", "%d associations, expected 1 to %d", n, maxIn)
	}
	for i, id := range v.GetSaIn() {
		if slices.Contains(p.SaIn, id) {
			r.Fail(fmt.Sprintf("sa_in[%d]", i), "%d is listed twice", id)
		}
		p.SaIn = append(p.SaIn, id)
		r.DependsOn(fmt.Sprintf("ipsec-sa-exists-in-%d", i), saKey(id))
	}
	slices.Sort(p.SaIn)
	if v.GetNextHopAddr() != "" {
		p.Nh = r.Host("next_hop_addr", v.GetNextHopAddr())
	}
	return p
}

func protectionValue(n *item.Names, p protection) *ipsec.TunnelProtection {
	v := &ipsec.TunnelProtection{Interface: n.Interface(p.SwIfIndex), SaOut: []uint32{p.SaOut}, SaIn: p.SaIn}
	if p.Nh != (ip_types.Address{}) {
		v.NextHopAddr = item.Addr(p.Nh)
	}
	return v
}

// check refuses what VPP does not refuse, or only after it has counted another user of the
// associations, which then can never be removed.
func (d *tunnelProtection) check(_ context.Context, v *ipsec.TunnelProtection, p protection) error {
	m, ok := d.ifs.LookupByName(v.GetInterface())
	if !ok {
		return nil
	}
	switch m.Type {
	case interfaces.Interface_IPIP_TUNNEL, interfaces.Interface_GRE_TUNNEL:
	case interfaces.Interface_IPSEC_TUNNEL:
		if out, known := d.sas.m.Get(number(p.SaOut)); known && !out.Tunnel {
			return item.Invalid("sa_out", "association %d has no tunnel addresses, which an IPsec interface takes from it", p.SaOut)
		}
	default:
		return item.Invalid("interface", "%q is a %s, expected an IPIP, GRE or IPsec tunnel", v.GetInterface(), m.Type)
	}
	taken := map[uint32]uint32{} // the number of the association with an SPI
	for _, id := range p.SaIn {
		in, known := d.sas.m.Get(number(id))
		if !known {
			continue
		}
		if other, twice := taken[in.SPI]; twice {
			return item.Invalid("sa_in", "associations %d and %d have the same SPI %d", other, id, in.SPI)
		}
		taken[in.SPI] = id
	}
	return nil
}
