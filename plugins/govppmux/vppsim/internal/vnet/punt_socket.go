package vnet

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim/internal/wire"
	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/ip_types"
	"go.fd.io/govpp/binapi/punt"
)

// puntServer is the socket that VPP sends from, as its startup configuration says.
const puntServer = "/run/vpp/punt.sock"

// puntReasons returns the problems of packets that have names. A number is the position, and
// not every release has all.
func puntReasons() []string {
	return []string{"", "ipsec4-spi-o-udp-0", "ipsec4-no-such-tunnel", "ipsec6-no-such-tunnel", "ipsec6-spi-o-udp-0"}
}

// puntSockets are the sockets of programs that VPP hands packets to, by the kind of
// packets (src/vnet/ip/punt.c).
type puntSockets struct {
	*VNet
	sockets map[punt.Punt]string
}

func newPuntSockets(n *VNet) feature { return &puntSockets{VNet: n} }

func (ps *puntSockets) register(server *wire.Server) {
	wire.Handle(server, func(_ *wire.Call, req *punt.PuntSocketRegister) *punt.PuntSocketRegisterReply {
		return &punt.PuntSocketRegisterReply{Retval: int32(ps.add(req)), Pathname: puntServer}
	})
	handle[punt.PuntSocketDeregisterReply](server, func(req *punt.PuntSocketDeregister) retval {
		delete(ps.sockets, puntKey(req.Punt))
		return ok
	})
	wire.HandleDump(server, func(c *wire.Call, req *punt.PuntSocketDump) {
		for _, p := range ps.sorted() {
			if p.Type == req.Type {
				c.Send(&punt.PuntSocketDetails{Punt: p, Pathname: ps.sockets[p]})
			}
		}
	})
	wire.HandleDump(server, func(c *wire.Call, req *punt.PuntReasonDump) {
		for id, name := range puntReasons() {
			if id > 0 && (req.Reason.Name == "" || req.Reason.Name == name) {
				c.Send(&punt.PuntReasonDetails{Reason: punt.PuntReason{ID: uint32(id), Name: name}})
			}
		}
	})
}

func (ps *puntSockets) reset() { ps.sockets = make(map[punt.Punt]string) }

// add wants UDP: a real VPP takes types of ICMPv6 since 23.02 too.
func (ps *puntSockets) add(req *punt.PuntSocketRegister) retval {
	l4 := req.Punt.Punt.GetL4()
	switch {
	case req.HeaderVersion != 1 || req.Pathname == puntServer:
		return api.UNSPECIFIED
	case req.Punt.Type == punt.PUNT_API_TYPE_L4 && (l4.Protocol != ip_types.IP_API_PROTO_UDP || l4.Port == 0xffff):
		return api.UNSPECIFIED
	}
	ps.sockets[puntKey(req.Punt)] = req.Pathname
	return ok
}

// puntKey is what distinguishes registrations: the protocol of a port does not.
func puntKey(p punt.Punt) punt.Punt {
	if p.Type == punt.PUNT_API_TYPE_L4 {
		l4 := p.Punt.GetL4()
		l4.Protocol = ip_types.IP_API_PROTO_UDP
		p.Punt.SetL4(l4)
	}
	return p
}

func (ps *puntSockets) sorted() []punt.Punt {
	all := make([]punt.Punt, 0, len(ps.sockets))
	for p := range ps.sockets {
		all = append(all, p)
	}
	slices.SortFunc(all, func(a, b punt.Punt) int {
		return cmp.Or(cmp.Compare(a.Type, b.Type), slices.Compare(a.Punt.XXX_UnionData[:], b.Punt.XXX_UnionData[:]))
	})
	return all
}

func (ps *puntSockets) dump(b *strings.Builder) {
	for _, p := range ps.sorted() {
		what := fmt.Sprintf("reason %d", p.Punt.GetException().ID)
		if l4 := p.Punt.GetL4(); p.Type == punt.PUNT_API_TYPE_L4 {
			what = fmt.Sprintf("%s %s port %d", l4.Af, l4.Protocol, l4.Port)
		}
		fmt.Fprintf(b, "punt %s to %s\n", what, ps.sockets[p])
	}
}
