package catalogue

import (
	"net/netip"

	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/sr"
	"go.fd.io/govpp/binapi/sr_types"
	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/vpp/ipconv"
	srv6 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/srv6"
)

// SRv6Steering sends packets to a network to a policy.
func SRv6Steering(name, bsid, prefix string) *srv6.Steering {
	return &srv6.Steering{
		Name: name, PolicyRef: &srv6.Steering_PolicyBsid{PolicyBsid: bsid},
		Traffic: &srv6.Steering_L3Traffic_{L3Traffic: &srv6.Steering_L3Traffic{PrefixAddress: prefix}},
	}
}

func srSteering() Item {
	steering := To[*srv6.Steering]
	frames := func(name string) *srv6.Steering_L2Traffic_ {
		return &srv6.Steering_L2Traffic_{L2Traffic: &srv6.Steering_L2Traffic{InterfaceName: name}}
	}
	segments := SRv6Segments(1, "2001:db8:1::1")
	return Item{
		Name: "vpp.srv6.steering",
		Make: func() proto.Message { return SRv6Steering("web", "2001:db8:210::1", "10.77.0.0/16") },
		Needs: func() []proto.Message {
			return []proto.Message{SRv6Policy("2001:db8:210::1", segments)}
		},
		Capability: "SRv6 steering",
		Recreates: []Change{
			steering(func(s *srv6.Steering) { s.Traffic = SRv6Steering("", "", "2001:db8:77::/48").Traffic }),
			steering(func(s *srv6.Steering) { s.Traffic = SRv6Steering("", "", "::/0").Traffic }),
		},
		Refusals: map[string]Change{
			`policy_bsid: "10.0.0.1", expected an IPv6 address`: steering(func(s *srv6.Steering) {
				s.PolicyRef = &srv6.Steering_PolicyBsid{PolicyBsid: "10.0.0.1"}
			}),
			"policy_index: indexes change":     steering(func(s *srv6.Steering) { s.PolicyRef = &srv6.Steering_PolicyIndex{PolicyIndex: 1} }),
			"traffic: empty":                   steering(func(s *srv6.Steering) { s.Traffic = nil }),
			"l2_traffic.interface_name: empty": steering(func(s *srv6.Steering) { s.Traffic = frames("") }),
		},
		Conflicts: []Conflict{{
			First: SRv6Steering("a", "2001:db8:210::1", "10.78.0.0/16"), Second: SRv6Steering("b", "2001:db8:210::1", "10.78.0.0/16"),
			Says: `traffic: item "a" has chosen the same packets`,
		}},
		ByHand: func(_ func(string) uint32, m proto.Message) (api.Message, api.Message) {
			return &sr.SrSteeringAddDel{
				IsDel: true, TrafficType: sr_types.SR_STEER_API_IPV4, Prefix: ipconv.Prefix(netip.MustParsePrefix("10.77.0.0/16")),
			}, &sr.SrSteeringAddDelReply{}
		},
		Without: map[string]string{
			"Spellings": "the name of the policy and a network have none", "Updates": "those that change the policy need two policies",
		},
	}
}
