package vnet

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim/internal/fib"
	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim/internal/wire"
	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/fib_types"
	"go.fd.io/govpp/binapi/interface_types"
	"go.fd.io/govpp/binapi/l3xc"
)

// l3Xconnect sends all packets of one family from an interface along paths. It is
// not cleaned up behind the interface.
type l3Xconnect struct {
	in     uint32
	family family
	paths  *fib.PathList
	// forwards are the paths in effect: VPP continues forwarding along those that
	// the cross-connect was made with when an update replaces them.
	forwards []fib.Path
}

func (n *VNet) handleL3Xconnects() {
	wire.Handle(n.server, n.l3xcUpdate)
	wire.Handle(n.server, n.l3xcDelete)
	wire.HandleDump(n.server, n.l3xcDump)
}

func (n *VNet) findL3Xconnect(in uint32, f family) (uint32, *l3Xconnect) {
	for index, x := range n.l3.xconnects.all() {
		if x.in == in && x.family == f {
			return index, x
		}
	}
	return none, nil
}

func (n *VNet) l3xcUpdate(_ *wire.Call, req *l3xc.L3xcUpdate) *l3xc.L3xcUpdateReply {
	rv := ok
	switch {
	case n.byIndex(req.L3xc.SwIfIndex) == nil:
		rv = api.INVALID_SW_IF_INDEX
	case len(req.L3xc.Paths) == 0:
		rv = api.INVALID_VALUE
	default:
		rv = n.setL3Xconnect(uint32(req.L3xc.SwIfIndex), familyFlag(req.L3xc.IsIP6), req.L3xc.Paths)
	}
	return &l3xc.L3xcUpdateReply{Retval: int32(rv)}
}

func (n *VNet) setL3Xconnect(in uint32, f family, wanted []fib_types.FibPath) api.VPPApiError {
	anywhere := netip.PrefixFrom(netip.IPv4Unspecified(), 0)
	if f == ip6 {
		anywhere = netip.PrefixFrom(netip.IPv6Unspecified(), 0)
	}
	paths := make([]fib.Path, len(wanted))
	for at := range wanted {
		p, rv := n.fibs.Decode(&wanted[at], anywhere, n.inUse)
		if rv != ok {
			return rv
		}
		paths[at] = p
	}
	list := n.fibs.NewPathList(paths)
	if _, x := n.findL3Xconnect(in, f); x != nil {
		n.fibs.DeletePathList(x.paths)
		x.paths = list
		return ok
	}
	n.l3.xconnects.add(&l3Xconnect{in: in, family: f, paths: list, forwards: list.Paths()})
	return ok
}

func (n *VNet) l3xcDelete(_ *wire.Call, req *l3xc.L3xcDel) *l3xc.L3xcDelReply {
	if n.byIndex(req.SwIfIndex) == nil {
		return &l3xc.L3xcDelReply{Retval: int32(api.INVALID_SW_IF_INDEX)}
	}
	index, x := n.findL3Xconnect(uint32(req.SwIfIndex), familyFlag(req.IsIP6))
	if x == nil {
		return &l3xc.L3xcDelReply{Retval: int32(api.INVALID_VALUE)}
	}
	n.fibs.DeletePathList(x.paths)
	n.l3.xconnects.remove(index)
	return &l3xc.L3xcDelReply{}
}

// l3xcDump tells the family of no cross-connect: VPP forgets to.
func (n *VNet) l3xcDump(c *wire.Call, req *l3xc.L3xcDump) {
	for _, x := range n.l3.xconnects.all() {
		if uint32(req.SwIfIndex) != none && uint32(req.SwIfIndex) != x.in {
			continue
		}
		details := l3xc.L3xc{SwIfIndex: interface_types.InterfaceIndex(x.in)}
		for _, p := range x.paths.Paths() {
			details.Paths = append(details.Paths, p.Encode())
		}
		details.NPaths = uint8(len(details.Paths))
		c.Send(&l3xc.L3xcDetails{L3xc: details})
	}
}

func (n *VNet) dumpL3Xconnects(b *strings.Builder) {
	for _, x := range n.l3.xconnects.all() {
		fmt.Fprintf(b, "%s cross-connect of %s", x.family, n.orStaleIf(x.in))
		var paths []string
		for _, p := range x.forwards {
			encoded := p.Encode()
			paths = append(paths, describePath(&encoded))
		}
		dumpPaths(b, paths)
	}
}
