package vnet

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim/internal/cmdline"
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
	pool[srLocalSID]
}

// srLocalSID is a local segment.
type srLocalSID struct {
	sr.SrLocalsidAddDel
	incoming ifIndex // of a dynamic proxy
}

// dynamicProxy is the behavior of the plugin srv6ad, in a VPP that loads it first.
const dynamicProxy = sr_types.SrBehavior(14)

func newSrLocalSIDs(n *VNet) feature { return &srLocalSIDs{VNet: n} }

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

func (ss *srLocalSIDs) reset() { ss.pool = pool[srLocalSID]{} }

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
	if s.IsDel {
		index, has := ss.find(func(other *srLocalSID) bool { return other.Localsid == s.Localsid })
		if has == nil {
			return -2
		}
		ss.remove(index)
		return ok
	}
	if refused := ss.canAdd(&s); refused != ok {
		return refused
	}
	if s.Behavior != sr_types.SR_BEHAVIOR_API_DX2 || !ss.before("26.06") { // 26.06 does not keep it
		s.VlanIndex = 0
	}
	switch s.Behavior {
	case sr_types.SR_BEHAVIOR_API_X, sr_types.SR_BEHAVIOR_API_DX4, sr_types.SR_BEHAVIOR_API_DX6:
	default:
		s.NhAddr = ip_types.Address{}
	}
	ss.add(&srLocalSID{SrLocalsidAddDel: s})
	return ok
}

func (ss *srLocalSIDs) canAdd(s *sr.SrLocalsidAddDel) retval {
	if _, has := ss.find(func(other *srLocalSID) bool { return other.Localsid == s.Localsid }); has != nil {
		return -1
	}
	if ss.fibs.Table(ip6, s.FibTable) == nil {
		return -3
	}
	return ok
}

func (ss *srLocalSIDs) commands() []cmdline.Command {
	return []cmdline.Command{{Path: "sr localsid", Run: ss.command}, {Path: "show sr localsids", Run: ss.show}}
}

// command adds a dynamic proxy to a segment of 128 bits (sr_cli_localsid_command_fn in src/vnet/srv6/sr_localsid.c and
// unformat_srv6_ad_localsid in src/plugins/srv6-ad/ad.c). Other behaviors have messages.
func (ss *srLocalSIDs) command(in *cmdline.Input) error {
	s, seen := srLocalSID{}, map[string]bool{}
	for len(in.Args) > 0 {
		rest := in.Args
		word, known := in.Next(), true
		switch value := in.Next(); word {
		case "fib-table":
			_, err := fmt.Sscan(value, &s.FibTable)
			known = err == nil
		case "behavior":
			s.Behavior, known = dynamicProxy, value == "end.ad"
		case "nh":
			var err error
			s.NhAddr, err = ip_types.ParseAddress(value)
			known = err == nil
		case "oif":
			s.SwIfIndex, known = ss.indexOf(value)
		case "iif":
			s.incoming, known = ss.indexOf(value)
		case "prefix":
			prefix, err := netip.ParsePrefix(value)
			s.Localsid, known = prefix.Addr().As16(), err == nil && prefix.Addr().Is6()
		default:
			known = false
		}
		if !known {
			in.Args = rest
			break
		}
		seen[word] = true
	}
	if !seen["prefix"] {
		return answer("Error: SRv6 LocalSID address is mandatory.")
	}
	return ss.addProxy(&s, in.Args)
}

// answer is an error in the words of VPP.
type answer string

func (a answer) Error() string { return string(a) }

func (ss *srLocalSIDs) addProxy(s *srLocalSID, rest []string) error {
	switch refused := ss.canAdd(&s.SrLocalsidAddDel); {
	case refused == -1:
		return answer("Identical localsid already exists. Requested localsid not created.")
	case refused == -3:
		return fmt.Errorf("FIB table %d does not exist", s.FibTable)
	case ss.byIndex(s.incoming).isSub:
		return answer("Error on the plugin based localsid creation.")
	}
	ss.add(s)
	if len(rest) > 0 {
		return cmdline.UnknownInput(rest)
	}
	return nil
}

// indexOf returns the index of the interface with a name.
func (ss *srLocalSIDs) indexOf(name string) (ifIndex, bool) {
	index, i := ss.ifs.find(func(i *swInterface) bool { return !i.hidden && i.name() == name })
	return ifIndex(index), i != nil
}

// show shows what show_sr_localsid_command_fn does, of segments with other behaviors the address only.
func (ss *srLocalSIDs) show(in *cmdline.Input) error {
	in.Line("SRv6 - My LocalSID Table:\n=========================")
	for _, s := range ss.all() {
		in.Line("\tAddress: \t%s/128", netip.AddrFrom16(s.Localsid))
		if s.Behavior == dynamicProxy {
			in.Line("\tBehavior: \tEnd.AD (Endpoint with dynamic proxy to SR-unaware appliance)")
			if s.NhAddr != (ip_types.Address{}) {
				in.Line("\tNext-hop:\t%s", addrOf(s.NhAddr))
			}
			in.Line("\tOutgoing iface:\t%s\n\tIncoming iface:\t%s", ss.byIndex(s.SwIfIndex).name(), ss.byIndex(s.incoming).name())
			in.Line("\tGood rewrite traffic: \t[0 packets : 0 bytes]\n\tBad rewrite traffic:  \t[0 packets : 0 bytes]")
		}
		in.Line("\tGood traffic: \t[0 packets : 0 bytes]\n\tBad traffic:  \t[0 packets : 0 bytes]\n--------------------")
	}
	return nil
}

func (ss *srLocalSIDs) dump(b *strings.Builder) {
	var lines []string
	for _, s := range ss.all() {
		lines = append(lines, fmt.Sprintf("sr localsid %s psp %t %s in %d argument %d vlan %d next hop %s incoming %d\n", netip.AddrFrom16(s.Localsid),
			s.EndPsp, s.Behavior, s.FibTable, s.SwIfIndex, s.VlanIndex, addrOf(s.NhAddr), s.incoming))
	}
	dumpSorted(b, lines)
}
