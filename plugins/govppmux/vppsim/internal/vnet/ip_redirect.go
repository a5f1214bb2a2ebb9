package vnet

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim/internal/fib"
	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim/internal/wire"
	"go.fd.io/govpp/binapi/fib_types"
	"go.fd.io/govpp/binapi/ip"
	"go.fd.io/govpp/binapi/ip_types"
)

// puntRedirect is where packets for the host go instead that came from an interface.
type puntRedirect struct {
	family family
	rx     uint32 // none: all without a redirection of their own
	paths  []fib.Path
}

// puntRedirects are the redirections (src/vnet/ip/ip_punt_drop.c). They outlive their interfaces.
// A real VPP loses count of them when one is replaced or removed twice; its API does not report.
type puntRedirects struct {
	*VNet
	pool[puntRedirect]
}

func newPuntRedirects(n *VNet) feature { return &puntRedirects{VNet: n} }

func (rs *puntRedirects) register(server *wire.Server) {
	handle[ip.AddDelIPPuntRedirectV2Reply](server, rs.addDel)
	wire.HandleDump(server, func(c *wire.Call, req *ip.IPPuntRedirectV2Dump) {
		f := familyFlag(req.Af == ip_types.ADDRESS_IP6)
		for _, r := range rs.all() {
			if r.family != f || !selects(req.SwIfIndex, r.rx) {
				continue
			}
			d := &ip.IPPuntRedirectV2Details{Punt: ip.PuntRedirectV2{RxSwIfIndex: ifIndex(r.rx), Af: req.Af}}
			for _, p := range r.paths {
				d.Punt.Paths = append(d.Punt.Paths, p.Encode())
			}
			d.Punt.NPaths = uint32(len(d.Punt.Paths))
			c.Send(d)
		}
	})
}

func (rs *puntRedirects) reset() { rs.pool = pool[puntRedirect]{} }

func (rs *puntRedirects) addDel(req *ip.AddDelIPPuntRedirectV2) retval {
	r := &puntRedirect{family: familyFlag(req.Punt.Af == ip_types.ADDRESS_IP6), rx: uint32(req.Punt.RxSwIfIndex)}
	for n := range req.Punt.Paths {
		p, rv := rs.fibs.Decode(&req.Punt.Paths[n], netip.Prefix{}, rs.inUse)
		if rv != ok {
			return rv
		}
		r.paths = append(r.paths, p)
	}
	if index, old := rs.find(func(o *puntRedirect) bool { return o.family == r.family && o.rx == r.rx }); old != nil {
		rs.remove(index)
	}
	if req.IsAdd {
		rs.add(r)
	}
	return ok
}

func (rs *puntRedirects) dump(b *strings.Builder) {
	var lines []string
	for _, r := range rs.all() {
		from := "any interface"
		if r.rx != none {
			from = rs.orStaleIf(r.rx)
		}
		for _, p := range r.paths {
			path := p.Encode()
			via := netip.AddrFrom4(path.Nh.Address.GetIP4())
			if path.Proto == fib_types.FIB_API_PATH_NH_PROTO_IP6 {
				via = netip.AddrFrom16(path.Nh.Address.GetIP6())
			}
			lines = append(lines, fmt.Sprintf("punt redirect of %s from %s to %s via %s\n", r.family, from, rs.orStaleIf(path.SwIfIndex), via))
		}
	}
	dumpSorted(b, lines)
}
