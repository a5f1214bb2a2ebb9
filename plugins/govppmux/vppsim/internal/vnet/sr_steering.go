package vnet

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"strings"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim/internal/wire"
	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/ip_types"
	"go.fd.io/govpp/binapi/sr"
	"go.fd.io/govpp/binapi/sr_types"
)

// srSteering is packets that are sent to a policy.
type srSteering struct {
	traffic srTraffic
	policy  uint32
}

type srTraffic struct {
	of     sr_types.SrSteer
	iface  ifIndex
	table  uint32
	prefix ip_types.Prefix
}

// srSteerings are the choices of packets. They are not cleaned up behind interfaces and
// policies. The routes that VPP makes to policies are not simulated.
type srSteerings struct {
	*VNet
	pool[srSteering]
}

func newSrSteerings(n *VNet) feature { return &srSteerings{VNet: n} }

func (ss *srSteerings) register(server *wire.Server) {
	handle[sr.SrSteeringAddDelReply](server, ss.addDel)
	wire.HandleDump(server, func(c *wire.Call, _ *sr.SrSteeringPolDump) {
		for _, s := range ss.all() {
			c.Send(ss.details(s))
		}
	})
}

func (ss *srSteerings) reset() { ss.pool = pool[srSteering]{} }

// details has the interface and the prefix from the same bytes.
func (ss *srSteerings) details(s *srSteering) *sr.SrSteeringPolDetails {
	t := s.traffic
	d := &sr.SrSteeringPolDetails{TrafficType: t.of}
	if p := ss.srPolicies.at(s.policy); p != nil {
		d.Bsid = p.bsid
	}
	if t.of == sr_types.SR_STEER_API_L2 {
		d.SwIfIndex = t.iface
		var raw [16]byte
		binary.LittleEndian.PutUint32(raw[:], uint32(t.iface))
		d.Prefix.Address = shortAddress(ip_types.Address{Af: ip_types.ADDRESS_IP6, Un: ip_types.AddressUnionIP6(raw)})
		return d
	}
	d.FibTable, d.Prefix = t.table, ip_types.Prefix{Address: shortAddress(t.prefix.Address), Len: t.prefix.Len}
	if t.of == sr_types.SR_STEER_API_IPV6 {
		raw := t.prefix.Address.Un.GetIP6()
		d.SwIfIndex = ifIndex(binary.LittleEndian.Uint32(raw[:4]))
	}
	return d
}

// addDel answers with numbers of its own (sr_steering_policy in src/vnet/srv6/sr_steering.c).
func (ss *srSteerings) addDel(req *sr.SrSteeringAddDel) retval {
	t := srTraffic{of: req.TrafficType}
	switch t.of {
	case sr_types.SR_STEER_API_L2:
		i := ss.byIndex(req.SwIfIndex)
		if i == nil {
			return api.INVALID_SW_IF_INDEX
		}
		if i.isSub {
			return -3
		}
		if rv, crashes := ss.noMAC(i, "steering of frames"); crashes {
			return rv
		}
		t.iface = req.SwIfIndex
	case sr_types.SR_STEER_API_IPV4, sr_types.SR_STEER_API_IPV6:
		t.table, t.prefix = req.TableID, req.Prefix
	default:
		return -1
	}
	index, has := ss.find(func(s *srSteering) bool { return s.traffic == t })
	switch {
	case req.IsDel && has == nil:
		return -4
	case req.IsDel:
		ss.remove(index)
		return ok
	}
	policy, p := ss.srPolicies.lookup(req.BsidAddr)
	switch {
	case p == nil:
		return -2
	case has != nil:
		has.policy = policy
	case !p.encap && t.of != sr_types.SR_STEER_API_IPV6:
		return -5
	default:
		ss.add(&srSteering{t, policy})
	}
	return ok
}

func (ss *srSteerings) dump(b *strings.Builder) {
	var lines []string
	for _, s := range ss.all() {
		bsid := "none"
		if p := ss.srPolicies.at(s.policy); p != nil {
			bsid = netip.AddrFrom16(p.bsid).String()
		}
		lines = append(lines, fmt.Sprintf("sr steering %s interface %d prefix %s/%d in %d to %s\n", s.traffic.of, s.traffic.iface,
			addrOf(s.traffic.prefix.Address), s.traffic.prefix.Len, s.traffic.table, bsid))
	}
	dumpSorted(b, lines)
}
