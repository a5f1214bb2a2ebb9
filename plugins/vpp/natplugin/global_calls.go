package natplugin

import (
	"cmp"
	"context"
	"fmt"

	"go.fd.io/govpp/api"
	ed "go.fd.io/govpp/binapi/nat44_ed"
	ei "go.fd.io/govpp/binapi/nat44_ei"
	"go.fd.io/govpp/binapi/nat_types"

	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
	nat "github.com/tenuto-dev/tenuto/proto/ligato/vpp/nat"
)

// settings is what VPP has of the global item, with its defaults.
type settings struct {
	kind       kind
	limits     limits
	forwarding bool
	timeouts   nat_types.NatTimeouts
}

// limits are decided when NAT44 is enabled.
type limits struct {
	sessions, users, userSessions uint32
}

func (l limits) String() string {
	if l.users == 0 {
		return fmt.Sprintf("max_sessions %d", l.sessions)
	}
	return fmt.Sprintf("max_sessions %d, max_users %d, max_user_sessions %d", l.sessions, l.users, l.userSessions)
}

// The defaults of VPP (nat44_plugin_enable, nat44_ei_plugin_enable, nat_reset_timeouts).
const (
	sessionsED, sessionsEI = 63 * 1024, 10 * 1024
	usersEI                = 1024
)

var timeouts = nat_types.NatTimeouts{UDP: 300, TCPEstablished: 7440, TCPTransitory: 240, ICMP: 60}

func settingsOf(g *nat.Nat44Global) settings {
	t := g.GetTimeouts()
	s := settings{kind: kindOf(g.GetEndpointIndependent()), forwarding: g.GetForwarding(), timeouts: nat_types.NatTimeouts{
		UDP: cmp.Or(t.GetUdp(), timeouts.UDP), TCPEstablished: cmp.Or(t.GetTcpEstablished(), timeouts.TCPEstablished),
		TCPTransitory: cmp.Or(t.GetTcpTransitory(), timeouts.TCPTransitory), ICMP: cmp.Or(t.GetIcmp(), timeouts.ICMP),
	}}
	if s.kind == endpointDependent {
		s.limits = limits{sessions: cmp.Or(g.GetMaxSessions(), sessionsED)}
		return s
	}
	s.limits = limits{sessions: cmp.Or(g.GetMaxSessions(), sessionsEI), users: cmp.Or(g.GetMaxUsers(), usersEI)}
	s.limits.userSessions = cmp.Or(g.GetMaxUserSessions(), s.limits.sessions)
	return s
}

// describe returns the value that the settings are read back as; defaults are left out.
func (s settings) describe() *nat.Nat44Global {
	other := func(n, usual uint32) uint32 {
		if n == usual {
			return 0
		}
		return n
	}
	g := &nat.Nat44Global{Forwarding: s.forwarding, EndpointIndependent: s.kind == endpointIndependent}
	if g.EndpointIndependent {
		g.MaxSessions, g.MaxUsers = other(s.limits.sessions, sessionsEI), other(s.limits.users, usersEI)
		g.MaxUserSessions = other(s.limits.userSessions, s.limits.sessions)
	} else {
		g.MaxSessions = other(s.limits.sessions, sessionsED)
	}
	if s.timeouts != timeouts {
		g.Timeouts = &nat.Nat44Global_Timeouts{
			Udp: other(s.timeouts.UDP, timeouts.UDP), TcpEstablished: other(s.timeouts.TCPEstablished, timeouts.TCPEstablished),
			TcpTransitory: other(s.timeouts.TCPTransitory, timeouts.TCPTransitory), Icmp: other(s.timeouts.ICMP, timeouts.ICMP),
		}
	}
	return g
}

// globalCalls is how a kind of NAT44 is handled. The functions return the request, and a
// message for the reply.
type globalCalls struct {
	enable       func(l limits, on bool) (request, reply api.Message)
	setForwarded func(on bool) (request, reply api.Message)
	setTimeouts  func(t nat_types.NatTimeouts) (request, reply api.Message)
	// show returns the settings; the kind is disabled if there are none. VPP has limits only
	// while it is enabled.
	show func(ctx context.Context, vpp *session.VPP) (settings, error)
}

// globals are the operations of both kinds.
var globals = map[kind]*session.Operation[globalCalls]{
	endpointDependent: session.Declare("NAT44", plugin, session.Variant(globalED,
		(*ed.Nat44EdPluginEnableDisable)(nil), (*ed.Nat44EdPluginEnableDisableReply)(nil),
		(*ed.Nat44ForwardingEnableDisable)(nil), (*ed.Nat44ForwardingEnableDisableReply)(nil),
		(*ed.NatSetTimeouts)(nil), (*ed.NatSetTimeoutsReply)(nil),
		(*ed.Nat44ShowRunningConfig)(nil), (*ed.Nat44ShowRunningConfigReply)(nil))),
	endpointIndependent: session.Step("NAT44 (plugin nat of VPP)", session.Variant(globalEI,
		(*ei.Nat44EiPluginEnableDisable)(nil), (*ei.Nat44EiPluginEnableDisableReply)(nil),
		(*ei.Nat44EiForwardingEnableDisable)(nil), (*ei.Nat44EiForwardingEnableDisableReply)(nil),
		(*ei.Nat44EiSetTimeouts)(nil), (*ei.Nat44EiSetTimeoutsReply)(nil),
		(*ei.Nat44EiShowRunningConfig)(nil), (*ei.Nat44EiShowRunningConfigReply)(nil))),
}

var globalED = globalCalls{
	enable: func(l limits, on bool) (request, reply api.Message) {
		return &ed.Nat44EdPluginEnableDisable{Enable: on, Sessions: l.sessions}, &ed.Nat44EdPluginEnableDisableReply{}
	},
	setForwarded: func(on bool) (request, reply api.Message) {
		return &ed.Nat44ForwardingEnableDisable{Enable: on}, &ed.Nat44ForwardingEnableDisableReply{}
	},
	setTimeouts: func(t nat_types.NatTimeouts) (request, reply api.Message) {
		return &ed.NatSetTimeouts{UDP: t.UDP, TCPEstablished: t.TCPEstablished, TCPTransitory: t.TCPTransitory, ICMP: t.ICMP},
			&ed.NatSetTimeoutsReply{}
	},
	show: func(ctx context.Context, vpp *session.VPP) (settings, error) {
		r := &ed.Nat44ShowRunningConfigReply{}
		if err := vpp.Call(ctx, &ed.Nat44ShowRunningConfig{}, r); err != nil || r.Sessions == 0 {
			return settings{}, err
		}
		return settings{endpointDependent, limits{sessions: r.Sessions}, r.ForwardingEnabled, r.Timeouts}, nil
	},
}

var globalEI = globalCalls{
	enable: func(l limits, on bool) (request, reply api.Message) {
		return &ei.Nat44EiPluginEnableDisable{Enable: on, Sessions: l.sessions, Users: l.users, UserSessions: l.userSessions},
			&ei.Nat44EiPluginEnableDisableReply{}
	},
	setForwarded: func(on bool) (request, reply api.Message) {
		return &ei.Nat44EiForwardingEnableDisable{Enable: on}, &ei.Nat44EiForwardingEnableDisableReply{}
	},
	setTimeouts: func(t nat_types.NatTimeouts) (request, reply api.Message) {
		return &ei.Nat44EiSetTimeouts{UDP: t.UDP, TCPEstablished: t.TCPEstablished, TCPTransitory: t.TCPTransitory, ICMP: t.ICMP},
			&ei.Nat44EiSetTimeoutsReply{}
	},
	show: func(ctx context.Context, vpp *session.VPP) (settings, error) {
		r := &ei.Nat44EiShowRunningConfigReply{}
		if err := vpp.Call(ctx, &ei.Nat44EiShowRunningConfig{}, r); err != nil || r.Sessions == 0 {
			return settings{}, err
		}
		return settings{endpointIndependent, limits{r.Sessions, r.Users, r.UserSessions}, r.ForwardingEnabled, r.Timeouts}, nil
	},
}
