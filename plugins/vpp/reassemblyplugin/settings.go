package reassemblyplugin

import (
	"cmp"
	"context"
	"errors"

	"go.fd.io/govpp/binapi/ip"

	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/item"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
	reassembly "github.com/tenuto-dev/tenuto/proto/ligato/vpp/reassembly"
)

// The names of the descriptors.
const (
	SettingsName  = "vpp-ip-reassembly"
	InterfaceName = "vpp-ip-reassembly-interface"
)

var limitOperations = session.Require("IP reassembly", "", &ip.IPReassemblySet{}, &ip.IPReassemblySetReply{},
	&ip.IPReassemblyGet{}, &ip.IPReassemblyGetReply{}, &ip.IPLocalReassEnableDisable{}, &ip.IPLocalReassEnableDisableReply{},
	&ip.IPLocalReassGet{}, &ip.IPLocalReassGetReply{})

// limits are the limits of one kind of reassembly, with times in milliseconds.
type limits struct{ timeout, reassemblies, fragments, expiry uint32 }

// settings are the settings of one version of IP.
type settings struct {
	protocol      reassembly.Settings_Protocol
	limits        [2]limits // by ip.IPReassType
	localDisabled bool
}

// defaults are what a VPP has that was just started.
func defaults(p reassembly.Settings_Protocol) settings {
	return settings{protocol: p, limits: [2]limits{
		ip.IP_REASS_TYPE_FULL:            {timeout: 200, reassemblies: 1024, fragments: 3, expiry: 50},
		ip.IP_REASS_TYPE_SHALLOW_VIRTUAL: {timeout: 100, reassemblies: 1024, fragments: 3, expiry: 10000},
	}}
}

type settingsCalls struct{ vpp *session.VPP }

// NewSettings describes the limits of reassembly. VPP always has them: deleted ones are set to the
// defaults, and defaults that are not expected are not reported.
func NewSettings(vpp *session.VPP) *kvs.KVDescriptor {
	c := &settingsCalls{vpp}
	return item.NewEntry(vpp, nil, item.Entry[*reassembly.Settings, settings, reassembly.Settings_Protocol]{
		Name: SettingsName, Model: SettingsModel, Resolve: resolveSettings, Value: value,
		ID:         func(s settings) reassembly.Settings_Protocol { return s.protocol },
		Changeable: func(settings, settings) bool { return true },
		Implicit:   func(s settings) bool { return s == defaults(s.protocol) },
		Set: func(ctx context.Context, old, s *settings) error {
			if s == nil {
				return c.set(ctx, defaults(old.protocol))
			}
			return c.set(ctx, *s)
		},
		All: c.all,
	})
}

// resolveSettings applies the defaults.
func resolveSettings(r *item.Resolver, v *reassembly.Settings) settings {
	r.Enum("protocol", v.GetProtocol())
	s := defaults(v.GetProtocol())
	s.localDisabled = v.GetLocalDisabled()
	for kind, l := range []*reassembly.Settings_Limits{v.GetFull(), v.GetShallowVirtual()} {
		has := &s.limits[kind]
		*has = limits{
			timeout: cmp.Or(l.GetTimeout(), has.timeout), reassemblies: cmp.Or(l.GetMaxReassemblies(), has.reassemblies),
			fragments: cmp.Or(l.GetMaxFragments(), has.fragments), expiry: cmp.Or(l.GetExpiryInterval(), has.expiry),
		}
	}
	return s
}

func value(_ *item.Names, s settings) *reassembly.Settings {
	limitsOf := func(l limits) *reassembly.Settings_Limits {
		return &reassembly.Settings_Limits{
			Timeout: l.timeout, MaxReassemblies: l.reassemblies, MaxFragments: l.fragments, ExpiryInterval: l.expiry,
		}
	}
	return &reassembly.Settings{
		Protocol: s.protocol, LocalDisabled: s.localDisabled,
		Full: limitsOf(s.limits[ip.IP_REASS_TYPE_FULL]), ShallowVirtual: limitsOf(s.limits[ip.IP_REASS_TYPE_SHALLOW_VIRTUAL]),
	}
}

// set sets what differs in VPP, which does more than to store the limits.
func (c *settingsCalls) set(ctx context.Context, s settings) error {
	has, err := c.get(ctx, s.protocol)
	if err != nil {
		return err
	}
	for kind, l := range s.limits {
		if l == has.limits[kind] {
			continue
		}
		err = errors.Join(err, c.vpp.Call(ctx, &ip.IPReassemblySet{
			TimeoutMs: l.timeout, MaxReassemblies: l.reassemblies, MaxReassemblyLength: l.fragments, ExpireWalkIntervalMs: l.expiry,
			IsIP6: s.protocol == reassembly.Settings_IPV6, Type: ip.IPReassType(kind),
		}, &ip.IPReassemblySetReply{}))
	}
	if s.localDisabled != has.localDisabled {
		err = errors.Join(err, c.setLocal(ctx, s.protocol, !s.localDisabled))
	}
	return err
}

// setLocal keeps the other version of IP: VPP sets both.
func (c *settingsCalls) setLocal(ctx context.Context, p reassembly.Settings_Protocol, on bool) error {
	local := &ip.IPLocalReassGetReply{}
	if err := c.vpp.Call(ctx, &ip.IPLocalReassGet{}, local); err != nil {
		return err
	}
	set := &ip.IPLocalReassEnableDisable{EnableIP4: local.IP4IsEnabled, EnableIP6: local.IP6IsEnabled}
	if p == reassembly.Settings_IPV6 {
		set.EnableIP6 = on
	} else {
		set.EnableIP4 = on
	}
	return c.vpp.Call(ctx, set, &ip.IPLocalReassEnableDisableReply{})
}

func (c *settingsCalls) get(ctx context.Context, p reassembly.Settings_Protocol) (s settings, err error) {
	if err := limitOperations.Check(c.vpp); err != nil {
		return s, err
	}
	s.protocol = p
	for kind := range s.limits {
		reply := &ip.IPReassemblyGetReply{}
		req := &ip.IPReassemblyGet{IsIP6: p == reassembly.Settings_IPV6, Type: ip.IPReassType(kind)}
		if err := c.vpp.Call(ctx, req, reply); err != nil {
			return s, err
		}
		s.limits[kind] = limits{reply.TimeoutMs, reply.MaxReassemblies, reply.MaxReassemblyLength, reply.ExpireWalkIntervalMs}
	}
	local := &ip.IPLocalReassGetReply{}
	err = c.vpp.Call(ctx, &ip.IPLocalReassGet{}, local)
	s.localDisabled = !local.IP4IsEnabled
	if p == reassembly.Settings_IPV6 {
		s.localDisabled = !local.IP6IsEnabled
	}
	return s, err
}

// all returns the settings of both versions of IP.
func (c *settingsCalls) all(ctx context.Context) (all []settings, err error) {
	for _, p := range []reassembly.Settings_Protocol{reassembly.Settings_IPV4, reassembly.Settings_IPV6} {
		s, err := c.get(ctx, p)
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}
