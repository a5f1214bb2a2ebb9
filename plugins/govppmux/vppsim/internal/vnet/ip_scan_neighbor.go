package vnet

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim/internal/cmdline"
	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim/internal/wire"
	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/ip_neighbor"
	"go.fd.io/govpp/binapi/ip_types"
)

// scanLimits is how many neighbours of one family there may be, and how long
// they stay. Nothing ages in a simulator, which learns no neighbours.
type scanLimits struct {
	max     uint32 // 0 means any number
	age     uint32 // seconds, 0 means for ever
	recycle bool   // the oldest dynamic one goes when there is no room
}

func defaultScanLimits() scanLimits { return scanLimits{max: 50000} }

// ipScanNeighbor is the limits of both families.
type ipScanNeighbor struct {
	*VNet
	limits [families]scanLimits
}

func newIpScanNeighbor(n *VNet) feature {
	n.ipScanNeighbor = &ipScanNeighbor{VNet: n}
	return n.ipScanNeighbor
}

func (sn *ipScanNeighbor) register(server *wire.Server) {
	handle[ip_neighbor.IPNeighborConfigReply](server, func(req *ip_neighbor.IPNeighborConfig) retval {
		if req.Af > ip_types.ADDRESS_IP6 {
			return api.INVALID_ADDRESS_FAMILY
		}
		sn.limits[req.Af] = scanLimits{req.MaxNumber, req.MaxAge, req.Recycle}
		return ok
	})
	wire.Handle(server, func(_ *wire.Call, req *ip_neighbor.IPNeighborConfigGet) *ip_neighbor.IPNeighborConfigGetReply {
		if req.Af > ip_types.ADDRESS_IP6 {
			return &ip_neighbor.IPNeighborConfigGetReply{
				Retval: int32(api.INVALID_ADDRESS_FAMILY), MaxNumber: none, MaxAge: none,
			}
		}
		l := sn.limits[req.Af]
		return &ip_neighbor.IPNeighborConfigGetReply{Af: req.Af, MaxNumber: l.max, MaxAge: l.age, Recycle: l.recycle}
	})
}

func (sn *ipScanNeighbor) reset() {
	for f := range families {
		sn.limits[f] = defaultScanLimits()
	}
}

// room says whether there may be one more, after the oldest dynamic one
// went if that is allowed.
func (sn *ipScanNeighbor) room(f family) bool {
	l := sn.limits[f]
	if l.max == 0 || sn.arps.count[f] < int(l.max) {
		return true
	}
	if !l.recycle {
		return false
	}
	var oldest *arpEntry
	var oldestKey arpKey
	for _, key := range sn.sortedARPs() {
		nb := sn.arps.get(key)
		if familyOf(key.addr) == f && !nb.static && (oldest == nil || nb.turn < oldest.turn) {
			oldest, oldestKey = nb, key
		}
	}
	if oldest == nil {
		return false
	}
	sn.removeARP(oldestKey)
	return true
}

func (sn *ipScanNeighbor) dump(b *strings.Builder) {
	for f := range families {
		if l := sn.limits[f]; l != defaultScanLimits() {
			fmt.Fprintf(b, "%s neighbors max %d age %d recycle %t\n", f, l.max, l.age, l.recycle)
		}
	}
}

func (sn *ipScanNeighbor) commands() []cmdline.Command {
	return []cmdline.Command{
		{Path: "show ip neighbor-config", Run: sn.show},
		{Path: "set ip neighbor-config", Run: sn.set},
	}
}

func (sn *ipScanNeighbor) show(in *cmdline.Input) error {
	for f, l := range sn.limits {
		recycle := 0
		if l.recycle {
			recycle = 1
		}
		in.Line("%s:", family(f))
		in.Line("  limit:%d, age:%d, recycle:%d", l.max, l.age, recycle)
	}
	return nil
}

// set keeps what is not given.
func (sn *ipScanNeighbor) set(in *cmdline.Input) error {
	args := in.Args
	f := ip4
	switch in.Next() {
	case "ip4":
	case "ip6":
		f = ip6
	default:
		return cmdline.UnknownInput(args)
	}
	l := sn.limits[f]
	for len(in.Args) > 0 {
		rest := in.Args
		switch in.Next() {
		case "limit", "age":
			number, err := strconv.ParseUint(in.Next(), 10, 32)
			if err != nil {
				return cmdline.UnknownInput(rest)
			}
			if rest[0] == "age" {
				l.age = uint32(number)
			} else {
				l.max = uint32(number)
			}
		case "recycle":
			l.recycle = true
		case "norecycle":
			l.recycle = false
		default:
			return cmdline.UnknownInput(rest)
		}
	}
	sn.limits[f] = l
	return nil
}
