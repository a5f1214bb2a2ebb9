package vnet

import (
	"fmt"
	"strings"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim/internal/wire"
	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/ip_neighbor"
	"go.fd.io/govpp/binapi/ip_types"
)

// neighborLimits is how many neighbours of one family there may be, and how long
// they stay. Nothing ages in a simulator, which learns no neighbours.
type neighborLimits struct {
	max     uint32 // 0 means any number
	age     uint32 // seconds, 0 means for ever
	recycle bool   // the oldest dynamic one goes when there is no room
}

func defaultNeighborLimits() neighborLimits { return neighborLimits{max: 50000} }

func (n *VNet) handleNeighborLimits() {
	wire.Handle(n.server, func(_ *wire.Call, req *ip_neighbor.IPNeighborConfig) *ip_neighbor.IPNeighborConfigReply {
		if req.Af > ip_types.ADDRESS_IP6 {
			return &ip_neighbor.IPNeighborConfigReply{Retval: int32(api.INVALID_ADDRESS_FAMILY)}
		}
		n.l3.neighbors[req.Af] = neighborLimits{req.MaxNumber, req.MaxAge, req.Recycle}
		return &ip_neighbor.IPNeighborConfigReply{}
	})
	wire.Handle(n.server, func(_ *wire.Call, req *ip_neighbor.IPNeighborConfigGet) *ip_neighbor.IPNeighborConfigGetReply {
		if req.Af > ip_types.ADDRESS_IP6 {
			return &ip_neighbor.IPNeighborConfigGetReply{
				Retval: int32(api.INVALID_ADDRESS_FAMILY), MaxNumber: none, MaxAge: none,
			}
		}
		l := n.l3.neighbors[req.Af]
		return &ip_neighbor.IPNeighborConfigGetReply{Af: req.Af, MaxNumber: l.max, MaxAge: l.age, Recycle: l.recycle}
	})
}

// roomForNeighbor says whether there may be one more, after the oldest dynamic one
// went if that is allowed.
func (n *VNet) roomForNeighbor(f family) bool {
	l := n.l3.neighbors[f]
	if l.max == 0 || n.nbs.count[f] < int(l.max) {
		return true
	}
	if !l.recycle {
		return false
	}
	var oldest *neighbor
	var oldestKey neighborKey
	for _, key := range n.sortedNeighbors() {
		nb := n.nbs.get(key)
		if familyOf(key.addr) == f && !nb.static && (oldest == nil || nb.turn < oldest.turn) {
			oldest, oldestKey = nb, key
		}
	}
	if oldest == nil {
		return false
	}
	n.removeNeighbor(oldestKey)
	return true
}

func (n *VNet) dumpNeighborLimits(b *strings.Builder) {
	for f := range families {
		if l := n.l3.neighbors[f]; l != defaultNeighborLimits() {
			fmt.Fprintf(b, "%s neighbors max %d age %d recycle %t\n", f, l.max, l.age, l.recycle)
		}
	}
}
