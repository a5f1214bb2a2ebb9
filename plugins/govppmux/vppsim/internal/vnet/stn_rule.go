package vnet

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim/internal/wire"
	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/stn"
)

// stnRule hands packets to an address to the host, through an interface.
type stnRule struct {
	addr netip.Addr
	out  uint32
}

// stnRules are the rules of the plugin stn, one per address. They outlive their interface.
type stnRules struct {
	*VNet
	pool[stnRule]
}

func newStnRules(n *VNet) feature { return &stnRules{VNet: n} }

func (rs *stnRules) register(server *wire.Server) {
	handle[stn.StnAddDelRuleReply](server, rs.addDel)
	wire.HandleDump(server, func(c *wire.Call, _ *stn.StnRulesDump) {
		for _, r := range rs.all() {
			c.Send(&stn.StnRulesDetails{IPAddress: apiAddr(r.addr), SwIfIndex: ifIndex(r.out)})
		}
	})
}

func (rs *stnRules) reset() { rs.pool = pool[stnRule]{} }

// addDel does not look whether the interface exists; a real VPP that adds a rule
// then reads behind its table of interfaces.
func (rs *stnRules) addDel(req *stn.StnAddDelRule) retval {
	addr := addrOf(req.IPAddress)
	index, r := rs.find(func(r *stnRule) bool { return r.addr == addr })
	switch {
	case req.IsAdd && r != nil:
		r.out = uint32(req.SwIfIndex)
	case req.IsAdd:
		rs.add(&stnRule{addr, uint32(req.SwIfIndex)})
	case r == nil:
		return api.NO_SUCH_ENTRY
	default:
		rs.remove(index)
	}
	return ok
}

func (rs *stnRules) dump(b *strings.Builder) {
	var lines []string
	for _, r := range rs.all() {
		lines = append(lines, fmt.Sprintf("stn %s on %s\n", r.addr, rs.orStaleIf(r.out)))
	}
	dumpSorted(b, lines)
}
