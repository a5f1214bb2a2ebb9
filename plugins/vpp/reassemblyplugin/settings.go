package reassemblyplugin

import (
	"cmp"
	"context"
	"errors"

	"go.fd.io/govpp/binapi/ip"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/binding"
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
	limits        [2]limits // by ip.IPReassType
	localDisabled bool
}

// defaults are what a VPP has that was just started.
func defaults() settings {
	return settings{limits: [2]limits{
		ip.IP_REASS_TYPE_FULL:            {timeout: 200, reassemblies: 1024, fragments: 3, expiry: 50},
		ip.IP_REASS_TYPE_SHALLOW_VIRTUAL: {timeout: 100, reassemblies: 1024, fragments: 3, expiry: 10000},
	}}
}

type settingsKV = kvs.KV[*reassembly.Settings, kvs.Metadata]

type settingsDescriptor struct{ vpp *session.VPP }

// NewSettings describes the limits of reassembly. VPP always has them: deleted ones are set to the
// defaults, and defaults that are not expected are not reported.
func NewSettings(vpp *session.VPP) *kvs.KVDescriptor {
	d := &settingsDescriptor{vpp}
	return kvs.Adapt(kvs.Describe(SettingsModel, kvs.Descriptor[*reassembly.Settings, kvs.Metadata]{
		Name:            SettingsName,
		Southbound:      item.Southbound,
		Validate:        validate,
		ValueComparator: func(_ string, a, b *reassembly.Settings) bool { return wanted(a) == wanted(b) },
		CreateContext: func(ctx context.Context, _ string, v *reassembly.Settings) (kvs.Metadata, error) {
			return nil, d.set(ctx, v.GetProtocol(), wanted(v))
		},
		UpdateContext: func(ctx context.Context, _ string, _, v *reassembly.Settings, _ kvs.Metadata) (kvs.Metadata, error) {
			return nil, d.set(ctx, v.GetProtocol(), wanted(v))
		},
		DeleteContext: func(ctx context.Context, _ string, v *reassembly.Settings, _ kvs.Metadata) error {
			return d.set(ctx, v.GetProtocol(), defaults())
		},
		RetrieveContext: d.retrieve,
	}))
}

func validate(_ string, v *reassembly.Settings) error {
	var r item.Resolver
	r.Enum("protocol", v.GetProtocol())
	return r.Err()
}

// wanted applies the defaults.
func wanted(v *reassembly.Settings) settings {
	s := defaults()
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

func value(p reassembly.Settings_Protocol, s settings) *reassembly.Settings {
	limitsOf := func(l limits) *reassembly.Settings_Limits {
		return &reassembly.Settings_Limits{
			Timeout: l.timeout, MaxReassemblies: l.reassemblies, MaxFragments: l.fragments, ExpiryInterval: l.expiry,
		}
	}
	return &reassembly.Settings{
		Protocol: p, LocalDisabled: s.localDisabled,
		Full: limitsOf(s.limits[ip.IP_REASS_TYPE_FULL]), ShallowVirtual: limitsOf(s.limits[ip.IP_REASS_TYPE_SHALLOW_VIRTUAL]),
	}
}

// set sets what differs in VPP, which does more than to store the limits.
func (d *settingsDescriptor) set(ctx context.Context, p reassembly.Settings_Protocol, s settings) error {
	has, err := d.get(ctx, p)
	if err != nil {
		return err
	}
	for kind, l := range s.limits {
		if l == has.limits[kind] {
			continue
		}
		err = errors.Join(err, d.vpp.Call(ctx, &ip.IPReassemblySet{
			TimeoutMs: l.timeout, MaxReassemblies: l.reassemblies, MaxReassemblyLength: l.fragments, ExpireWalkIntervalMs: l.expiry,
			IsIP6: p == reassembly.Settings_IPV6, Type: ip.IPReassType(kind),
		}, &ip.IPReassemblySetReply{}))
	}
	if s.localDisabled != has.localDisabled {
		err = errors.Join(err, d.setLocal(ctx, p, !s.localDisabled))
	}
	return err
}

// setLocal keeps the other version of IP: VPP sets both.
func (d *settingsDescriptor) setLocal(ctx context.Context, p reassembly.Settings_Protocol, on bool) error {
	local := &ip.IPLocalReassGetReply{}
	if err := d.vpp.Call(ctx, &ip.IPLocalReassGet{}, local); err != nil {
		return err
	}
	set := &ip.IPLocalReassEnableDisable{EnableIP4: local.IP4IsEnabled, EnableIP6: local.IP6IsEnabled}
	if p == reassembly.Settings_IPV6 {
		set.EnableIP6 = on
	} else {
		set.EnableIP4 = on
	}
	return d.vpp.Call(ctx, set, &ip.IPLocalReassEnableDisableReply{})
}

func (d *settingsDescriptor) get(ctx context.Context, p reassembly.Settings_Protocol) (s settings, err error) {
	if err := limitOperations.Check(d.vpp); err != nil {
		return s, err
	}
	for kind := range s.limits {
		reply := &ip.IPReassemblyGetReply{}
		req := &ip.IPReassemblyGet{IsIP6: p == reassembly.Settings_IPV6, Type: ip.IPReassType(kind)}
		if err := d.vpp.Call(ctx, req, reply); err != nil {
			return s, err
		}
		s.limits[kind] = limits{reply.TimeoutMs, reply.MaxReassemblies, reply.MaxReassemblyLength, reply.ExpireWalkIntervalMs}
	}
	local := &ip.IPLocalReassGetReply{}
	err = d.vpp.Call(ctx, &ip.IPLocalReassGet{}, local)
	s.localDisabled = !local.IP4IsEnabled
	if p == reassembly.Settings_IPV6 {
		s.localDisabled = !local.IP6IsEnabled
	}
	return s, err
}

func (d *settingsDescriptor) retrieve(ctx context.Context, correlate []settingsKV) (out []settingsKV, err error) {
	switch err := limitOperations.Check(d.vpp); {
	case errors.Is(err, binding.ErrUnsupported):
		return nil, nil
	case err != nil:
		return nil, err
	}
	expected := map[string]settingsKV{}
	for _, kv := range correlate {
		expected[kv.Key] = kv
	}
	for _, p := range []reassembly.Settings_Protocol{reassembly.Settings_IPV4, reassembly.Settings_IPV6} {
		has, err := d.get(ctx, p)
		if err != nil {
			return nil, err
		}
		v := value(p, has)
		kv := settingsKV{Key: SettingsModel.Key(v), Value: v, Origin: kvs.UnknownOrigin}
		switch e, ok := expected[kv.Key]; {
		case ok && wanted(e.Value) == has:
			kv.Value, kv.Origin = e.Value, kvs.FromNB
		case ok:
			kv.Origin = kvs.FromNB
		case has == defaults():
			continue
		}
		out = append(out, kv)
	}
	return out, nil
}
