package cnatplugin

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync"

	"go.fd.io/govpp/api"
	cnatapi "go.fd.io/govpp/binapi/cnat"
	"go.fd.io/govpp/binapi/interface_types"
	"go.fd.io/govpp/binapi/ip_types"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/binding/cnatmsg"
	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ipconv"
	"github.com/tenuto-dev/tenuto/plugins/vpp/item"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
	cnat "github.com/tenuto-dev/tenuto/proto/ligato/vpp/cnat"
)

// The names of the descriptors, and of the plugin of VPP.
const (
	GlobalName      = "vpp-cnat-global"
	InterfaceName   = "vpp-cnat-interface"
	TranslationName = "vpp-cnat-translation"

	plugin = "cnat"
)

// settings are the settings of source NAT.
type settings struct {
	ip4      netip.Addr // invalid: none
	ip6      netip.Addr
	policy   cnatapi.CnatSnatPolicies
	excluded []ip_types.Prefix // sorted
}

// unknownPolicy stands for the policy that an earlier agent set: VPP does not report policies.
const unknownPolicy = ^cnatapi.CnatSnatPolicies(0)

func (s *settings) addresses() [2]netip.Addr { return [2]netip.Addr{s.ip4, s.ip6} }

type policyCall = func(cnatapi.CnatSnatPolicies) (request, reply api.Message)

func setPolicy(p cnatapi.CnatSnatPolicies) (request, reply api.Message) {
	return &cnatapi.CnatSetSnatPolicy{Policy: p}, &cnatapi.CnatSetSnatPolicyReply{}
}

// setPolicySince2606 has another CRC.
func setPolicySince2606(p cnatapi.CnatSnatPolicies) (request, reply api.Message) {
	m := &cnatmsg.SetSnatPolicy{}
	m.Policy = p
	return m, &cnatapi.CnatSetSnatPolicyReply{}
}

var globals = session.Declare("CNAT", plugin,
	session.Variant[policyCall](setPolicySince2606, append(globalMessages(), &cnatmsg.SetSnatPolicy{})...),
	session.Variant[policyCall](setPolicy, append(globalMessages(), &cnatapi.CnatSetSnatPolicy{})...))

func globalMessages() []api.Message {
	return []api.Message{
		&cnatapi.CnatSetSnatPolicyReply{}, &cnatapi.CnatSetSnatAddresses{}, &cnatapi.CnatSetSnatAddressesReply{},
		&cnatapi.CnatGetSnatAddresses{}, &cnatapi.CnatGetSnatAddressesReply{},
		&cnatapi.CnatSnatPolicyAddDelExcludePfx{}, &cnatapi.CnatSnatPolicyAddDelExcludePfxReply{},
	}
}

// applied are the settings that were applied in a session.
type applied struct {
	mu  sync.Mutex
	set *settings
}

type global struct {
	vpp     *session.VPP
	applied *session.State[applied]
}

// NewGlobal describes the global item. VPP 26.06 crashes if the policy or prefixes change while it has
// no address; without one other releases translate to 0.0.0.0.
func NewGlobal(vpp *session.VPP) *kvs.KVDescriptor {
	g := &global{vpp, session.NewState(func() *applied { return &applied{} })}
	return item.NewSingleton(vpp, item.Singleton[*cnat.Global, settings]{
		Name: GlobalName, Model: GlobalModel,
		Resolve: resolveGlobal, Value: globalValue,
		Get:      g.get,
		Made:     g.made,
		Set:      g.set,
		Recreate: func(old, s settings) bool { return old.addresses() != s.addresses() },
	})
}

func resolveGlobal(r *item.Resolver, v *cnat.Global) (s settings) {
	r.Enum("policy", v.GetPolicy())
	s.policy = cnatapi.CnatSnatPolicies(v.GetPolicy())
	address := func(field, text string) (a netip.Addr) {
		if text != "" {
			a = ipconv.FromAddress(r.Host(field, text))
		}
		return a
	}
	s.ip4, s.ip6 = address("snat_ip4", v.GetSnatIp4()), address("snat_ip6", v.GetSnatIp6())
	if v.GetSnatIp4() == "" && v.GetSnatIp6() == "" {
		r.Fail("snat_ip4", "empty, expected an address here or in snat_ip6")
	}
	for i, text := range v.GetExcludedPrefixes() {
		field := fmt.Sprintf("excluded_prefixes[%d]", i)
		p := r.Network(field, text)
		if slices.Contains(s.excluded, p) {
			r.Fail(field, "%s is listed twice", text)
		}
		s.excluded = append(s.excluded, p)
	}
	slices.SortFunc(s.excluded, item.ComparePrefixes)
	return s
}

func globalValue(s settings) *cnat.Global {
	v := &cnat.Global{Policy: cnat.Global_Policy(s.policy)}
	if s.ip4.IsValid() {
		v.SnatIp4 = s.ip4.String()
	}
	if s.ip6.IsValid() {
		v.SnatIp6 = s.ip6.String()
	}
	for _, p := range s.excluded {
		v.ExcludedPrefixes = append(v.ExcludedPrefixes, ipconv.FromPrefix(p).String())
	}
	return v
}

// get returns the addresses that VPP reports, with the policy and the prefixes of this session.
func (g *global) get(ctx context.Context) (*settings, error) {
	if err := globals.Check(g.vpp); err != nil {
		return nil, err
	}
	reply := &cnatapi.CnatGetSnatAddressesReply{}
	if err := g.vpp.Call(ctx, &cnatapi.CnatGetSnatAddresses{}, reply); err != nil {
		if errors.Is(err, api.FEATURE_DISABLED) { // there are none, since 26.06
			return nil, nil
		}
		return nil, err
	}
	s := &settings{ip4: specified(netip.AddrFrom4(reply.SnatIP4)), ip6: specified(netip.AddrFrom16(reply.SnatIP6)), policy: unknownPolicy}
	if !s.ip4.IsValid() && !s.ip6.IsValid() {
		return nil, nil
	}
	known, err := g.applied.On(g.vpp)
	if err != nil {
		return nil, err
	}
	known.mu.Lock()
	defer known.mu.Unlock()
	if known.set != nil {
		s.policy, s.excluded = known.set.policy, known.set.excluded
	}
	return s, nil
}

// made takes what an earlier agent applied for applied in this session, if VPP still has its addresses.
func (g *global) made(found, recorded settings) settings {
	known, err := g.applied.On(g.vpp)
	if err != nil || found.policy != unknownPolicy || found.addresses() != recorded.addresses() {
		return found
	}
	known.mu.Lock()
	defer known.mu.Unlock()
	known.set = &recorded
	return recorded
}

func specified(a netip.Addr) netip.Addr {
	if a.IsUnspecified() {
		return netip.Addr{}
	}
	return a
}

// set changes the settings. The addresses are the first to come and the last to go.
func (g *global) set(ctx context.Context, old, s *settings) error {
	policy, err := globals.On(g.vpp)
	if err != nil {
		return err
	}
	known, err := g.applied.On(g.vpp)
	if err != nil {
		return err
	}
	known.mu.Lock()
	defer known.mu.Unlock()
	switch {
	case s == nil:
		err = g.clear(ctx, policy, old)
	case old == nil:
		if err = g.change(ctx, policy, &settings{}, s); err != nil {
			err = errors.Join(err, g.clear(ctx, policy, s)) // leave nothing half-made
		}
	default:
		err = g.change(ctx, policy, old, s)
	}
	if err == nil {
		known.set = s
	}
	return err
}

// change changes what differs, and the addresses and the policy in any case.
func (g *global) change(ctx context.Context, policy policyCall, old, s *settings) error {
	if err := g.setAddresses(ctx, s); err != nil {
		return err
	}
	request, reply := policy(s.policy)
	if err := g.vpp.Call(ctx, request, reply); err != nil {
		return err
	}
	return g.exclude(ctx, old.excluded, s.excluded)
}

// clear goes back to the settings of VPP when it starts.
func (g *global) clear(ctx context.Context, policy policyCall, old *settings) error {
	if err := g.change(ctx, policy, old, &settings{ip4: old.ip4, ip6: old.ip6}); err != nil {
		return err
	}
	return g.setAddresses(ctx, &settings{})
}

func (g *global) setAddresses(ctx context.Context, s *settings) error {
	m := &cnatapi.CnatSetSnatAddresses{SwIfIndex: interface_types.InterfaceIndex(item.NoInterface)}
	if s.ip4.IsValid() {
		m.SnatIP4 = s.ip4.As4()
	}
	if s.ip6.IsValid() {
		m.SnatIP6 = s.ip6.As16()
	}
	err := g.vpp.Call(ctx, m, &cnatapi.CnatSetSnatAddressesReply{})
	if errors.Is(err, api.FEATURE_DISABLED) { // there were none, since 26.06
		return nil
	}
	return err
}

// exclude changes the excluded prefixes. VPP counts how often a prefix was added, so it goes first.
func (g *global) exclude(ctx context.Context, old, all []ip_types.Prefix) error {
	for _, p := range slices.Concat(old, all) {
		if slices.Contains(old, p) && slices.Contains(all, p) {
			continue
		}
		err := g.vpp.Call(ctx, &cnatapi.CnatSnatPolicyAddDelExcludePfx{Prefix: p}, &cnatapi.CnatSnatPolicyAddDelExcludePfxReply{})
		if err != nil && !errors.Is(err, notExcluded) {
			return err
		}
		if slices.Contains(all, p) {
			add := &cnatapi.CnatSnatPolicyAddDelExcludePfx{IsAdd: 1, Prefix: p}
			if err := g.vpp.Call(ctx, add, &cnatapi.CnatSnatPolicyAddDelExcludePfxReply{}); err != nil {
				return err
			}
		}
	}
	return nil
}

// notExcluded is the answer to the removal of a prefix that VPP does not have.
const notExcluded = api.VPPApiError(1)
