package vnet

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim/internal/fib"
	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim/internal/wire"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ipconv"
	"go.fd.io/govpp/api"
	fibapi "go.fd.io/govpp/binapi/fib"
	"go.fd.io/govpp/binapi/ip_types"
	"go.fd.io/govpp/binapi/svs"
)

// svsRoute is a network in a table of the plugin.
type svsRoute struct {
	table  *fib.Table
	prefix netip.Prefix
}

// svsLookup is where packets from a network are routed, and how often that was added: VPP changes
// nothing when it is added again.
type svsLookup struct {
	vrf  *fib.Table
	refs int
}

// svss is the plugin svs (src/plugins/svs/svs.c). It counts the additions of a table, uses the
// VRF table of the first interface for the network 0.0.0.0/0 of a table of sources, and keeps its
// settings on a deleted interface.
type svss struct {
	*VNet
	routes map[svsRoute]*svsLookup         // to VRF tables
	on     [families]map[uint32]*fib.Table // by interface
	seen   [families]uint32                // above all indexes that were on
}

func newSvss(n *VNet) feature { return &svss{VNet: n} }

func (s *svss) register(server *wire.Server) {
	handle[svs.SvsTableAddDelReply](server, s.setTable)
	handle[svs.SvsRouteAddDelReply](server, s.setRoute)
	handle[svs.SvsEnableDisableReply](server, s.enable)
	wire.HandleDump(server, func(c *wire.Call, _ *fibapi.FibSourceDump) {
		for _, src := range []fibapi.FibSource{
			{ID: uint8(fib.SourceSpecial), Name: "special"}, {ID: uint8(fib.SourceInterface), Name: "interface"},
			{ID: uint8(fib.SourceAPI), Name: "API"}, {ID: uint8(fib.SourceSVS), Name: "svs"},
		} {
			c.Send(&fibapi.FibSourceDetails{Src: src})
		}
	})
	wire.HandleDump(server, func(c *wire.Call, _ *svs.SvsDump) {
		for f := range families {
			for index := range s.seen[f] {
				if t := s.on[f][index]; t != nil {
					c.Send(&svs.SvsDetails{TableID: t.ID, SwIfIndex: ifIndex(index), Af: ip_types.AddressFamily(f)})
				}
			}
		}
	})
}

func (s *svss) reset() {
	s.routes, s.on, s.seen = map[svsRoute]*svsLookup{}, [families]map[uint32]*fib.Table{{}, {}}, [families]uint32{}
}

func (s *svss) setTable(req *svs.SvsTableAddDel) retval {
	if req.Af > ip_types.ADDRESS_IP6 {
		return api.INVALID_ADDRESS_FAMILY
	}
	if req.IsAdd {
		s.holdTable(family(req.Af), req.TableID)
		return ok
	}
	t := s.fibs.Table(family(req.Af), req.TableID)
	for _, used := range s.on[req.Af] {
		if used == t {
			return api.INSTANCE_IN_USE
		}
	}
	if t == nil {
		return api.NO_SUCH_FIB
	}
	s.releaseTable(t)
	return ok
}

func (s *svss) setRoute(req *svs.SvsRouteAddDel) retval {
	prefix := ipconv.FromPrefix(req.Prefix).Masked()
	t := s.fibs.Table(familyOf(prefix.Addr()), req.TableID)
	if t == nil {
		return api.NO_SUCH_FIB
	}
	if !req.IsAdd {
		s.removeRoute(svsRoute{t, prefix})
		return ok
	}
	vrf := s.fibs.Table(familyOf(prefix.Addr()), req.SourceTableID)
	if vrf == nil {
		return api.NO_SUCH_FIB
	}
	s.addRoute(svsRoute{t, prefix}, vrf)
	return ok
}

func (s *svss) addRoute(r svsRoute, vrf *fib.Table) {
	if has := s.routes[r]; has != nil {
		has.refs++
		return
	}
	vrf.Held++
	s.routes[r] = &svsLookup{vrf, 1}
	s.fibs.Set(r.table, r.prefix, fib.SourceSVS, []fib.Path{fib.Exclusive(r.table.Family)})
}

func (s *svss) removeRoute(r svsRoute) {
	has := s.routes[r]
	if has == nil {
		return
	}
	if has.refs--; has.refs == 0 {
		delete(s.routes, r)
		s.fibs.Remove(r.table, r.prefix, fib.SourceSVS)
		s.releaseTable(has.vrf)
	}
}

func (s *svss) enable(req *svs.SvsEnableDisable) retval {
	i := s.byIndex(req.SwIfIndex)
	switch {
	case i == nil:
		return api.INVALID_SW_IF_INDEX
	case req.Af > ip_types.ADDRESS_IP6:
		return api.INVALID_ADDRESS_FAMILY
	}
	f := family(req.Af)
	t := s.fibs.Table(f, req.TableID)
	switch {
	case t == nil:
		return api.NO_SUCH_FIB
	case !req.IsEnable && i.index >= s.seen[f]:
		return api.INVALID_SW_IF_INDEX
	}
	node := arcFeature{fmt.Sprintf("ip%d-unicast", ipVersion(f)), fmt.Sprintf("svs-ip%d", ipVersion(f))}
	s.arcs.set(i.index, node, req.IsEnable)
	all := svsRoute{t, anywhere(f)}
	if !req.IsEnable {
		delete(s.on[f], i.index)
		s.removeRoute(all)
		return ok
	}
	s.addRoute(all, s.fibs.Table(f, i.table[f]))
	s.on[f][i.index], s.seen[f] = t, max(s.seen[f], i.index+1)
	return ok
}

func anywhere(f family) netip.Prefix {
	if f == ip6 {
		return netip.PrefixFrom(netip.IPv6Unspecified(), 0)
	}
	return netip.PrefixFrom(netip.IPv4Unspecified(), 0)
}

func (s *svss) dump(b *strings.Builder) {
	var lines []string
	for r, has := range s.routes {
		lines = append(lines, fmt.Sprintf("svs table %d source %s in %d, added %d times\n", r.table.ID, r.prefix, has.vrf.ID, has.refs))
	}
	for f := range families {
		for index, t := range s.on[f] {
			lines = append(lines, fmt.Sprintf("svs %s table %d on %s\n", f, t.ID, s.orStaleIf(index)))
		}
	}
	dumpSorted(b, lines)
}
