package vnet

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim/internal/wire"
	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/ip_types"
	"go.fd.io/govpp/binapi/sr"
	"go.fd.io/govpp/binapi/sr_types"
)

// srLocalSIDs are the local segments. They are not cleaned up behind interfaces and tables. The
// routes that VPP makes to them are not simulated.
type srLocalSIDs struct {
	*VNet
	pool[sr.SrLocalsidAddDel]
}

func (ss *srLocalSIDs) register(server *wire.Server) {
	handle[sr.SrLocalsidAddDelReply](server, ss.addDel)
	wire.HandleDump(server, func(c *wire.Call, _ *sr.SrLocalsidsDump) {
		for _, s := range ss.all() {
			c.Send(&sr.SrLocalsidsDetails{
				Addr: s.Localsid, EndPsp: s.EndPsp, Behavior: s.Behavior, FibTable: s.FibTable, VlanIndex: s.VlanIndex,
				XconnectNhAddr: shortAddress(s.NhAddr), XconnectIfaceOrVrfTable: uint32(s.SwIfIndex),
			})
		}
	})
}

func (ss *srLocalSIDs) reset() { ss.pool = pool[sr.SrLocalsidAddDel]{} }

// addDel answers with numbers of its own (sr_cli_localsid in src/vnet/srv6/sr_localsid.c).
func (ss *srLocalSIDs) addDel(req *sr.SrLocalsidAddDel) retval {
	s := *req
	switch s.Behavior {
	case sr_types.SR_BEHAVIOR_API_X, sr_types.SR_BEHAVIOR_API_DX2, sr_types.SR_BEHAVIOR_API_DX4, sr_types.SR_BEHAVIOR_API_DX6:
		if ss.byIndex(s.SwIfIndex) == nil {
			return api.INVALID_SW_IF_INDEX
		}
	case sr_types.SR_BEHAVIOR_API_END:
		s.SwIfIndex = 0
	}
	index, has := ss.find(func(other *sr.SrLocalsidAddDel) bool { return other.Localsid == s.Localsid })
	switch {
	case has != nil && s.IsDel:
		ss.remove(index)
		return ok
	case has != nil:
		return -1
	case s.IsDel:
		return -2
	case ss.fibs.Table(ip6, s.FibTable) == nil:
		return -3
	}
	if s.Behavior != sr_types.SR_BEHAVIOR_API_DX2 || !ss.before("26.06") { // 26.06 does not keep it
		s.VlanIndex = 0
	}
	switch s.Behavior {
	case sr_types.SR_BEHAVIOR_API_X, sr_types.SR_BEHAVIOR_API_DX4, sr_types.SR_BEHAVIOR_API_DX6:
	default:
		s.NhAddr = ip_types.Address{}
	}
	ss.add(&s)
	return ok
}

func (ss *srLocalSIDs) dump(b *strings.Builder) {
	var lines []string
	for _, s := range ss.all() {
		lines = append(lines, fmt.Sprintf("sr localsid %s psp %t %s in %d argument %d vlan %d next hop %s\n", netip.AddrFrom16(s.Localsid),
			s.EndPsp, s.Behavior, s.FibTable, s.SwIfIndex, s.VlanIndex, addrOf(s.NhAddr)))
	}
	dumpSorted(b, lines)
}
