package ip6ndplugin

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/interface_types"
	"go.fd.io/govpp/binapi/ip6_nd"
	"go.fd.io/govpp/binapi/ip_types"

	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	ifmodel "github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/model"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ipconv"
	"github.com/tenuto-dev/tenuto/plugins/vpp/item"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
	ip6nd "github.com/tenuto-dev/tenuto/proto/ligato/vpp/ip6nd"
)

// RouterAdvertisementName is the name of the descriptor.
const RouterAdvertisementName = "vpp-ip6-router-advertisement"

const forever = math.MaxUint32

// settings are the settings of an interface. Times are in seconds.
type settings struct {
	suppress, managed, other, noLinkLayer, unicast, cease bool

	lifetime, maxInterval, minInterval, initialCount, initialInterval uint32
}

// defaults are what VPP has where IPv6 was just enabled.
func defaults() settings {
	return settings{suppress: true, lifetime: 600, maxInterval: 200, minInterval: 150, initialCount: 3, initialInterval: 16}
}

// prefix is a network that is advertised. runsDown says that its lifetimes do in VPP.
type prefix struct {
	network                                      ip_types.Prefix
	valid, preferred                             uint32
	noAutoconfig, offLink, noAdvertise, runsDown bool
}

// advertisements are the advertisements of an interface, with the prefixes in the order of
// item.ComparePrefixes.
type advertisements struct {
	swIfIndex interface_types.InterfaceIndex
	settings
	prefixes []prefix
}

var operation = item.Declare("router advertisements", "",
	item.Variant[advertisements]{
		Requests: requests,
		Dumps:    []item.Dump[advertisements]{item.List(&ip6_nd.SwInterfaceIP6ndRaDump{SwIfIndex: math.MaxUint32}, read)},
	},
	item.Variant[advertisements]{Requests: requests, Unlisted: true},
)

// NewRouterAdvertisement describes router advertisements. VPP has settings for every interface
// with IPv6; one without a value has the defaults, which do not advertise.
func NewRouterAdvertisement(vpp *session.VPP, ifs item.Interfaces) *kvs.KVDescriptor {
	return item.NewEntry(vpp, ifs, item.Entry[*ip6nd.RouterAdvertisement, advertisements, interface_types.InterfaceIndex]{
		Name: RouterAdvertisementName, Model: RouterAdvertisementModel, Operation: operation,
		Resolve: resolve,
		ID:      func(a advertisements) interface_types.InterfaceIndex { return a.swIfIndex },
		Value:   value,
		Implicit: func(a advertisements) bool {
			return a.settings == defaults() && len(a.prefixes) == 0
		},
		Changeable: func(_, _ advertisements) bool { return true },
		Gone:       []api.VPPApiError{api.IP6_NOT_ENABLED, api.INVALID_VALUE},
		Explain: map[api.VPPApiError]string{
			api.IP6_NOT_ENABLED: "interface: it has no IPv6 or no MAC address; only Ethernet interfaces with IPv6 advertise",
		},
	})
}

func resolve(r *item.Resolver, v *ip6nd.RouterAdvertisement) advertisements {
	a := advertisements{swIfIndex: r.Interface("interface", v.GetInterface(), ifmodel.MAC("a router advertisement")), settings: wanted(r, v)}
	if r.Waits() {
		r.DependsOnAny("interface-has-ipv6", hasIPv6(v.GetInterface()))
	}
	for i, p := range v.GetPrefixes() {
		a.prefixes = append(a.prefixes, resolvePrefix(r, fmt.Sprintf("prefixes[%d]", i), p))
	}
	slices.SortFunc(a.prefixes, byNetwork)
	for i := 1; i < len(a.prefixes); i++ {
		if address := a.prefixes[i].network.Address; address == a.prefixes[i-1].network.Address && r.Err() == nil {
			r.Fail("prefixes", "two begin with %s, expected one: VPP distinguishes prefixes by their address", item.Addr(address))
		}
	}
	return a
}

func byNetwork(a, b prefix) int { return item.ComparePrefixes(a.network, b.network) }

// hasIPv6 is the dependency on an IPv6 address; an allocated one may be it, for its key does not
// report.
func hasIPv6(iface string) kvs.AnyOfDependency {
	learns := ifmodel.IP6NDKey.Key(iface)
	return kvs.AnyOfDependency{
		KeyPrefixes: []string{ifmodel.AddressKey.Prefix(iface), learns},
		KeySelector: func(key string) bool {
			_, text, _, ok := ifmodel.ParseAddressKey(key)
			if !ok {
				return key == learns
			}
			p, err := ipconv.ParsePrefix(text)
			return err != nil || p.Addr().Is6()
		},
	}
}

func wanted(r *item.Resolver, v *ip6nd.RouterAdvertisement) settings {
	has := defaults()
	s := settings{
		suppress: v.GetSuppress(), managed: v.GetManaged(), other: v.GetOther(), noLinkLayer: v.GetNoLinkLayerAddress(),
		unicast: v.GetUnicast(), cease: v.GetCease(),
		maxInterval:     cmp.Or(v.GetMaxInterval(), has.maxInterval),
		initialCount:    r.Range("initial_count", cmp.Or(v.GetInitialCount(), has.initialCount), 1, 3),
		initialInterval: r.Range("initial_interval", cmp.Or(v.GetInitialInterval(), has.initialInterval), 1, 16),
	}
	r.Range("max_interval", s.maxInterval, 4, 1800)
	s.minInterval = cmp.Or(v.GetMinInterval(), s.maxInterval*3/4)
	r.Range("min_interval", s.minInterval, 3, max(3, s.maxInterval*3/4))
	s.lifetime = lifetime(r, v, s.maxInterval)
	switch {
	case s.suppress && s.cease:
		r.Fail("suppress, cease", "both true, expected at most one: VPP ceases with advertisements")
	case s.cease && s.initialCount == 1:
		r.Fail("initial_count", "1, expected 2 or 3 with cease: VPP stops after the last of several advertisements")
	}
	return s
}

func lifetime(r *item.Resolver, v *ip6nd.RouterAdvertisement, maxInterval uint32) uint32 {
	switch {
	case !v.GetNotDefaultRouter():
		return r.Range("lifetime", cmp.Or(v.GetLifetime(), max(defaults().lifetime, 3*maxInterval)), maxInterval+1, 9000)
	case v.GetLifetime() != 0:
		r.Fail("lifetime", "%d, expected 0 with not_default_router", v.GetLifetime())
	}
	return 0
}

// Lifetimes of prefixes in seconds, where none is given.
const (
	defaultValid     = 30 * 24 * 3600
	defaultPreferred = 7 * 24 * 3600
)

func resolvePrefix(r *item.Resolver, field string, v *ip6nd.RouterAdvertisement_Prefix) prefix {
	p := prefix{
		network: r.Network(field+".prefix", v.GetPrefix()), valid: cmp.Or(v.GetValidLifetime(), defaultValid),
		noAutoconfig: v.GetNoAutoconfig(), offLink: v.GetOffLink(), noAdvertise: v.GetNoAdvertise(),
	}
	if n, err := ipconv.ParsePrefix(v.GetPrefix()); err == nil && n.Addr().Is4() {
		r.Fail(field+".prefix", "%s, expected an IPv6 network", n)
	}
	p.preferred = v.GetPreferredLifetime()
	switch {
	case v.GetDeprecated() && p.preferred != 0:
		r.Fail(field+".preferred_lifetime", "%d, expected 0 with deprecated", p.preferred)
	case v.GetDeprecated() && p.valid == forever:
		r.Fail(field+".valid_lifetime", "forever, expected less with deprecated: VPP would prefer the prefix forever")
	case v.GetDeprecated():
	case p.preferred == 0 && p.valid == forever:
		p.preferred = forever
	case p.preferred == 0:
		p.preferred = min(p.valid, defaultPreferred)
	case p.preferred > p.valid:
		r.Fail(field+".preferred_lifetime", "%d, expected at most valid_lifetime, %d", p.preferred, p.valid)
	case p.valid == forever && p.preferred != forever:
		r.Fail(field+".preferred_lifetime", "%d, expected 0 or %d: VPP has no shorter one with a valid_lifetime of forever", p.preferred, uint32(forever))
	}
	return p
}

// requests have the prefixes that are new or changed before the settings, whose change has VPP
// advertise at once.
func requests(old, e *advertisements) (requests, replies []api.Message) {
	config := func(req *ip6_nd.SwInterfaceIP6ndRaConfig) {
		requests, replies = append(requests, req), append(replies, &ip6_nd.SwInterfaceIP6ndRaConfigReply{})
	}
	set := func(req *ip6_nd.SwInterfaceIP6ndRaPrefix) {
		requests, replies = append(requests, req), append(replies, &ip6_nd.SwInterfaceIP6ndRaPrefixReply{})
	}
	var before, after []prefix
	if old != nil {
		before = old.prefixes
	}
	if e != nil {
		after = e.prefixes
	}
	for _, p := range before {
		if !slices.ContainsFunc(after, func(kept prefix) bool { return kept.network == p.network }) {
			set(&ip6_nd.SwInterfaceIP6ndRaPrefix{SwIfIndex: old.swIfIndex, Prefix: p.network, IsNo: true})
		}
	}
	for _, p := range after {
		if slices.Contains(before, p) {
			continue
		}
		// Lifetimes run down until one was infinite, which is not advertised.
		set(&ip6_nd.SwInterfaceIP6ndRaPrefix{
			SwIfIndex: e.swIfIndex, Prefix: p.network, ValLifetime: forever, PrefLifetime: forever, NoAdvertise: true,
		})
		set(&ip6_nd.SwInterfaceIP6ndRaPrefix{
			SwIfIndex: e.swIfIndex, Prefix: p.network, ValLifetime: p.valid, PrefLifetime: p.preferred,
			NoAutoconfig: p.noAutoconfig, OffLink: p.offLink, NoAdvertise: p.noAdvertise,
		})
	}
	switch {
	case e == nil:
		config(clearing(old.swIfIndex, settings{}))
		config(&ip6_nd.SwInterfaceIP6ndRaConfig{SwIfIndex: old.swIfIndex, Suppress: 1})
	case old != nil && old.settings == e.settings:
	case e.suppress: // last, because VPP advertises after most requests
		config(clearing(e.swIfIndex, e.settings))
		config(setting(e))
	default:
		config(setting(e))
		config(clearing(e.swIfIndex, e.settings))
	}
	return requests, replies
}

// setting sets the numbers and the flags that are true.
func setting(a *advertisements) *ip6_nd.SwInterfaceIP6ndRaConfig {
	return &ip6_nd.SwInterfaceIP6ndRaConfig{
		SwIfIndex: a.swIfIndex, Suppress: flag(a.suppress), Managed: flag(a.managed), Other: flag(a.other),
		LlOption: flag(a.noLinkLayer), SendUnicast: flag(a.unicast), Cease: flag(a.cease),
		DefaultRouter: 1, Lifetime: a.lifetime, MaxInterval: a.maxInterval, MinInterval: a.minInterval,
		InitialCount: a.initialCount, InitialInterval: a.initialInterval,
	}
}

// clearing clears the flags that are false, and sets the numbers that are 0 to the defaults.
func clearing(index interface_types.InterfaceIndex, s settings) *ip6_nd.SwInterfaceIP6ndRaConfig {
	unset := flag(s.maxInterval == 0)
	return &ip6_nd.SwInterfaceIP6ndRaConfig{
		SwIfIndex: index, IsNo: true, Suppress: flag(!s.suppress), Managed: flag(!s.managed), Other: flag(!s.other),
		LlOption: flag(!s.noLinkLayer), SendUnicast: flag(!s.unicast), Cease: flag(!s.cease),
		DefaultRouter: unset, MaxInterval: uint32(unset), MinInterval: uint32(unset), InitialCount: uint32(unset), InitialInterval: uint32(unset),
	}
}

func flag(on bool) uint8 {
	if on {
		return 1
	}
	return 0
}

// read translates what VPP has. Interfaces that cease do not advertise after a while.
func read(d *ip6_nd.SwInterfaceIP6ndRaDetails) (advertisements, bool) {
	a := advertisements{swIfIndex: d.SwIfIndex, settings: settings{
		suppress: !d.SendRadv && !d.CeaseRadv, managed: d.AdvManagedFlag, other: d.AdvOtherFlag,
		noLinkLayer: !d.AdvLinkLayerAddress, unicast: d.SendUnicast, cease: d.CeaseRadv,
		lifetime: uint32(d.AdvRouterLifetime), maxInterval: uint32(d.MaxRadvInterval), minInterval: uint32(d.MinRadvInterval),
		initialCount: d.InitialAdvertsCount, initialInterval: uint32(d.InitialAdvertsInterval),
	}}
	for _, p := range d.Prefixes {
		a.prefixes = append(a.prefixes, prefix{
			network: p.Prefix, valid: p.ValLifetime, preferred: p.PrefLifetime,
			noAutoconfig: !p.AutonomousFlag, offLink: !p.OnlinkFlag, noAdvertise: p.NoAdvertise, runsDown: p.DecrementLifetimeFlag,
		})
	}
	slices.SortFunc(a.prefixes, byNetwork)
	return a, true
}

func value(n *item.Names, a advertisements) *ip6nd.RouterAdvertisement {
	v := &ip6nd.RouterAdvertisement{
		Interface: n.Interface(a.swIfIndex), Suppress: a.suppress, Managed: a.managed, Other: a.other,
		NoLinkLayerAddress: a.noLinkLayer, Unicast: a.unicast, Cease: a.cease,
		Lifetime: a.lifetime, NotDefaultRouter: a.lifetime == 0, MaxInterval: a.maxInterval, MinInterval: a.minInterval,
		InitialCount: a.initialCount, InitialInterval: a.initialInterval,
	}
	for _, p := range a.prefixes {
		v.Prefixes = append(v.Prefixes, &ip6nd.RouterAdvertisement_Prefix{
			Prefix: ipconv.FromPrefix(p.network).String(), ValidLifetime: p.valid, PreferredLifetime: p.preferred,
			Deprecated: p.preferred == 0, NoAutoconfig: p.noAutoconfig, OffLink: p.offLink, NoAdvertise: p.noAdvertise,
		})
	}
	return v
}
