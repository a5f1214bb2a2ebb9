package vnet

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim/internal/fib"
	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim/internal/wire"
	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/fib_types"
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

// l3xcs are the cross-connects of L3.
type l3xcs struct {
	*VNet
	pool[l3Xconnect]
}

func newL3xcs(n *VNet) feature { return &l3xcs{VNet: n} }

func (xs *l3xcs) register(server *wire.Server) {
	handle[l3xc.L3xcUpdateReply](server, xs.update)
	handle[l3xc.L3xcDelReply](server, xs.delete)
	wire.HandleDump(server, xs.sendAll)
}

func (xs *l3xcs) reset() { xs.pool = pool[l3Xconnect]{} }

func (xs *l3xcs) find(in uint32, f family) (uint32, *l3Xconnect) {
	return xs.pool.find(func(x *l3Xconnect) bool { return x.in == in && x.family == f })
}

func (xs *l3xcs) update(req *l3xc.L3xcUpdate) retval {
	switch {
	case xs.byIndex(req.L3xc.SwIfIndex) == nil:
		return api.INVALID_SW_IF_INDEX
	case len(req.L3xc.Paths) == 0:
		return api.INVALID_VALUE
	}
	return xs.set(uint32(req.L3xc.SwIfIndex), familyFlag(req.L3xc.IsIP6), req.L3xc.Paths)
}

func (xs *l3xcs) set(in uint32, f family, wanted []fib_types.FibPath) retval {
	anywhere := netip.PrefixFrom(netip.IPv4Unspecified(), 0)
	if f == ip6 {
		anywhere = netip.PrefixFrom(netip.IPv6Unspecified(), 0)
	}
	paths := make([]fib.Path, len(wanted))
	for at := range wanted {
		p, rv := xs.fibs.Decode(&wanted[at], anywhere, xs.inUse)
		if rv != ok {
			return rv
		}
		paths[at] = p
	}
	list := xs.fibs.NewPathList(paths)
	if _, x := xs.find(in, f); x != nil {
		xs.fibs.DeletePathList(x.paths)
		x.paths = list
		return ok
	}
	xs.add(&l3Xconnect{in: in, family: f, paths: list, forwards: list.Paths()})
	return ok
}

func (xs *l3xcs) delete(req *l3xc.L3xcDel) retval {
	if xs.byIndex(req.SwIfIndex) == nil {
		return api.INVALID_SW_IF_INDEX
	}
	index, x := xs.find(uint32(req.SwIfIndex), familyFlag(req.IsIP6))
	if x == nil {
		return api.INVALID_VALUE
	}
	xs.fibs.DeletePathList(x.paths)
	xs.remove(index)
	return ok
}

// l3xcDump reports the family of no cross-connect: a defect of VPP.
func (xs *l3xcs) sendAll(c *wire.Call, req *l3xc.L3xcDump) {
	for _, x := range xs.all() {
		if !selects(req.SwIfIndex, x.in) {
			continue
		}
		details := l3xc.L3xc{SwIfIndex: ifIndex(x.in)}
		for _, p := range x.paths.Paths() {
			details.Paths = append(details.Paths, p.Encode())
		}
		details.NPaths = uint8(len(details.Paths))
		c.Send(&l3xc.L3xcDetails{L3xc: details})
	}
}

func (xs *l3xcs) dump(b *strings.Builder) {
	for _, x := range xs.all() {
		fmt.Fprintf(b, "%s cross-connect of %s", x.family, xs.orStaleIf(x.in))
		for _, p := range x.forwards {
			encoded := p.Encode()
			fmt.Fprintf(b, " %s", describePath(&encoded))
		}
		b.WriteByte('\n')
	}
}
