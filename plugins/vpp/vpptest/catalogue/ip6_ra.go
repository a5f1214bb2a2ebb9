package catalogue

import (
	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/interface_types"
	"go.fd.io/govpp/binapi/ip6_nd"
	"google.golang.org/protobuf/proto"

	ip6nd "github.com/tenuto-dev/tenuto/proto/ligato/vpp/ip6nd"
)

func routerAdvertisement() Item {
	ra, first := To[*ip6nd.RouterAdvertisement], firstPrefix
	return Item{
		Name: "vpp.ip6nd.ra",
		Make: func() proto.Message {
			return &ip6nd.RouterAdvertisement{
				Interface: "ra", Other: true, Unicast: true, Lifetime: 1800, MaxInterval: 600, MinInterval: 200, InitialCount: 3, InitialInterval: 16,
				Prefixes: []*ip6nd.RouterAdvertisement_Prefix{
					{Prefix: "2001:db8:73::/64", ValidLifetime: 86400, PreferredLifetime: 14400},
					{Prefix: "2001:db8:74::/64", ValidLifetime: 4294967295, PreferredLifetime: 4294967295, NoAutoconfig: true},
				},
			}
		},
		Needs:      func() []proto.Message { return []proto.Message{Loopback("ra", "2001:db8:73::1/64")} },
		Capability: "router advertisements",
		ListNeeds:  &ip6_nd.SwInterfaceIP6ndRaDump{},
		Spellings: []Change{
			ra(func(v *ip6nd.RouterAdvertisement) { v.Lifetime, v.InitialCount, v.InitialInterval = 0, 0, 0 }),
			ra(func(v *ip6nd.RouterAdvertisement) {
				v.Prefixes[0], v.Prefixes[1] = v.Prefixes[1], v.Prefixes[0]
				v.Prefixes[0].PreferredLifetime = 0
			}),
			first(func(p *ip6nd.RouterAdvertisement_Prefix) { p.Prefix = "2001:0db8:0073::/64" }),
		},
		Updates: []Change{
			ra(func(v *ip6nd.RouterAdvertisement) { v.Suppress = true }),
			ra(func(v *ip6nd.RouterAdvertisement) { v.Managed, v.Other, v.Unicast = true, false, false }),
			ra(func(v *ip6nd.RouterAdvertisement) { v.NoLinkLayerAddress, v.Cease = true, true }),
			ra(func(v *ip6nd.RouterAdvertisement) { v.Lifetime, v.NotDefaultRouter, v.MaxInterval = 0, true, 1800 }),
			ra(func(v *ip6nd.RouterAdvertisement) {
				v.MaxInterval, v.MinInterval, v.InitialCount, v.InitialInterval = 4, 3, 1, 1
			}),
			ra(func(v *ip6nd.RouterAdvertisement) { v.Prefixes = v.Prefixes[:1] }),
			ra(func(v *ip6nd.RouterAdvertisement) { v.Prefixes = nil }),
			first(func(p *ip6nd.RouterAdvertisement_Prefix) { p.Prefix = "2001:db8:73::/60" }),
			first(func(p *ip6nd.RouterAdvertisement_Prefix) {
				p.PreferredLifetime, p.Deprecated, p.OffLink = 0, true, true
			}),
			first(func(p *ip6nd.RouterAdvertisement_Prefix) {
				p.ValidLifetime, p.PreferredLifetime, p.NoAdvertise = 100, 50, true
			}),
		},
		Refusals: routerAdvertisementRefusals(),
		ByHand: func(index func(string) uint32, m proto.Message) (api.Message, api.Message) {
			return &ip6_nd.SwInterfaceIP6ndRaConfig{
				SwIfIndex: interface_types.InterfaceIndex(index(m.(*ip6nd.RouterAdvertisement).Interface)), Suppress: 1,
			}, &ip6_nd.SwInterfaceIP6ndRaConfigReply{}
		},
		Without: map[string]string{"Recreates": "VPP changes all but the key", "Conflicts": "the interface is the key"},
	}
}

// firstPrefix changes the first prefix of the exemplar.
func firstPrefix(change func(p *ip6nd.RouterAdvertisement_Prefix)) Change {
	return To(func(v *ip6nd.RouterAdvertisement) { change(v.Prefixes[0]) })
}

func routerAdvertisementRefusals() map[string]Change {
	ra, first := To[*ip6nd.RouterAdvertisement], firstPrefix
	return map[string]Change{
		"suppress, cease: both true":                      ra(func(v *ip6nd.RouterAdvertisement) { v.Suppress, v.Cease = true, true }),
		"initial_count: 1, expected 2 or 3 with cease":    ra(func(v *ip6nd.RouterAdvertisement) { v.InitialCount, v.Cease = 1, true }),
		"initial_count: 4, expected 0 to 3":               ra(func(v *ip6nd.RouterAdvertisement) { v.InitialCount = 4 }),
		"initial_interval: 17, expected 0 to 16":          ra(func(v *ip6nd.RouterAdvertisement) { v.InitialInterval = 17 }),
		"max_interval: 3, expected 4 to 1800":             ra(func(v *ip6nd.RouterAdvertisement) { v.MaxInterval = 3 }),
		"min_interval: 451, expected 3 to 450":            ra(func(v *ip6nd.RouterAdvertisement) { v.MinInterval = 451 }),
		"lifetime: 600, expected 601 to 9000":             ra(func(v *ip6nd.RouterAdvertisement) { v.Lifetime = 600 }),
		"lifetime: 1800, expected 0 with not_default_rou": ra(func(v *ip6nd.RouterAdvertisement) { v.NotDefaultRouter = true }),
		"prefixes: two begin with 2001:db8:74::": ra(func(v *ip6nd.RouterAdvertisement) {
			v.Prefixes[0].Prefix = "2001:db8:74::/63"
		}),
		`prefixes[0].prefix: "2001:db8:73::1/64" has host bits`: first(func(p *ip6nd.RouterAdvertisement_Prefix) { p.Prefix = "2001:db8:73::1/64" }),
		"prefixes[0].prefix: 10.0.0.0/8, expected an IPv6":      first(func(p *ip6nd.RouterAdvertisement_Prefix) { p.Prefix = "10.0.0.0/8" }),
		"prefixes[0].preferred_lifetime: 86401, expected at mo": first(func(p *ip6nd.RouterAdvertisement_Prefix) { p.PreferredLifetime = 86401 }),
		"prefixes[0].preferred_lifetime: 14400, expected 0 wit": first(func(p *ip6nd.RouterAdvertisement_Prefix) { p.Deprecated = true }),
		"prefixes[0].preferred_lifetime: 14400, expected 0 or ": first(func(p *ip6nd.RouterAdvertisement_Prefix) { p.ValidLifetime = 4294967295 }),
		"prefixes[0].valid_lifetime: forever, expected less": first(func(p *ip6nd.RouterAdvertisement_Prefix) {
			p.ValidLifetime, p.PreferredLifetime, p.Deprecated = 4294967295, 0, true
		}),
	}
}
