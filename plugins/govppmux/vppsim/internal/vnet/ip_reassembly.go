package vnet

import (
	"fmt"
	"strings"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim/internal/wire"
	"go.fd.io/govpp/binapi/ip"
)

// ipReassembly is the limits of reassembly, and whether packets to VPP itself are reassembled.
// What interfaces reassemble is in featureArcs.
type ipReassembly struct {
	*VNet
	limits [families][2]ip.IPReassemblyGetReply // by family and ip.IPReassType
	local  [families]bool
}

func newIpReassembly(n *VNet) feature { return &ipReassembly{VNet: n} }

func (r *ipReassembly) register(server *wire.Server) {
	handle[ip.IPReassemblySetReply](server, func(req *ip.IPReassemblySet) retval {
		if req.Type <= ip.IP_REASS_TYPE_SHALLOW_VIRTUAL {
			r.limits[is6(req.IsIP6)][req.Type] = ip.IPReassemblyGetReply{
				TimeoutMs: req.TimeoutMs, MaxReassemblies: req.MaxReassemblies, MaxReassemblyLength: req.MaxReassemblyLength,
				ExpireWalkIntervalMs: req.ExpireWalkIntervalMs, IsIP6: req.IsIP6,
			}
		}
		return ok
	})
	wire.Handle(server, func(_ *wire.Call, req *ip.IPReassemblyGet) *ip.IPReassemblyGetReply {
		reply := r.limits[is6(req.IsIP6)][req.Type&1]
		return &reply
	})
	handle[ip.IPLocalReassEnableDisableReply](server, func(req *ip.IPLocalReassEnableDisable) retval {
		r.local = [families]bool{ip4: req.EnableIP4, ip6: req.EnableIP6}
		return ok
	})
	wire.Handle(server, func(*wire.Call, *ip.IPLocalReassGet) *ip.IPLocalReassGetReply {
		return &ip.IPLocalReassGetReply{IP4IsEnabled: r.local[ip4], IP6IsEnabled: r.local[ip6]}
	})
	handle[ip.IPReassemblyEnableDisableReply](server, r.onInterface)
}

func is6(v bool) family {
	if v {
		return ip6
	}
	return ip4
}

func (r *ipReassembly) reset() {
	for f := range families {
		r.limits[f] = defaultReassembly(f)
		r.local[f] = true
	}
}

func defaultReassembly(f family) [2]ip.IPReassemblyGetReply {
	return [2]ip.IPReassemblyGetReply{
		ip.IP_REASS_TYPE_FULL:            {TimeoutMs: 200, MaxReassemblies: 1024, MaxReassemblyLength: 3, ExpireWalkIntervalMs: 50, IsIP6: f == ip6},
		ip.IP_REASS_TYPE_SHALLOW_VIRTUAL: {TimeoutMs: 100, MaxReassemblies: 1024, MaxReassemblyLength: 3, ExpireWalkIntervalMs: 10000, IsIP6: f == ip6},
	}
}

// onInterface does not look whether the interface exists.
func (r *ipReassembly) onInterface(req *ip.IPReassemblyEnableDisable) retval {
	kind := "full"
	if req.Type == ip.IP_REASS_TYPE_SHALLOW_VIRTUAL {
		kind = "sv"
	}
	for f, on := range map[family]bool{ip4: req.EnableIP4, ip6: req.EnableIP6} {
		version := ipVersion(f)
		r.arcs.set(uint32(req.SwIfIndex), arcFeature{fmt.Sprintf("ip%d-unicast", version), fmt.Sprintf("ip%d-%s-reassembly-feature", version, kind)}, on)
	}
	return ok
}

func (r *ipReassembly) dump(b *strings.Builder) {
	for f := range families {
		if has := r.limits[f]; has != defaultReassembly(f) || !r.local[f] {
			fmt.Fprintf(b, "reassembly %s full %v virtual %v local %t\n", f, has[0], has[1], r.local[f])
		}
	}
}
