package catalogue

import (
	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/ip_neighbor"
	"google.golang.org/protobuf/proto"

	l3 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l3"
)

func ipScanNeighbor() Item {
	return Item{
		Name: "vpp.ipscanneigh-global",
		Make: func() proto.Message {
			return &l3.IPScanNeighbor{Mode: l3.IPScanNeighbor_BOTH, ScanInterval: 1, StaleThreshold: 4}
		},
		Capability: "IP scan neighbor",
		Updates: []Change{
			To(func(s *l3.IPScanNeighbor) { s.Mode = l3.IPScanNeighbor_IPV4 }),
			To(func(s *l3.IPScanNeighbor) { s.StaleThreshold = 255 }),
		},
		Refusals: map[string]Change{
			"mode: 4, expected DISABLED":              To(func(s *l3.IPScanNeighbor) { s.Mode = 4 }),
			"stale_threshold: 256, expected 0 to 255": To(func(s *l3.IPScanNeighbor) { s.StaleThreshold = 256 }),
		},
		ByHand: func(func(string) uint32, proto.Message) (api.Message, api.Message) {
			return &ip_neighbor.IPNeighborConfig{MaxNumber: 50000}, &ip_neighbor.IPNeighborConfigReply{} // of IPv4
		},
		Without: map[string]string{
			"Needs": "VPP always has it", "Spellings": "numbers have none", "Recreates": "VPP changes all of it", "Conflicts": "there is one in a VPP",
		},
	}
}
