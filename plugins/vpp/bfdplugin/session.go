package bfdplugin

import (
	"context"

	"go.fd.io/govpp/api"
	bfdapi "go.fd.io/govpp/binapi/bfd"
	"go.fd.io/govpp/binapi/interface_types"
	"go.fd.io/govpp/binapi/ip_types"

	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/bfdplugin/model"
	"github.com/tenuto-dev/tenuto/plugins/vpp/item"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
	bfd "github.com/tenuto-dev/tenuto/proto/ligato/vpp/bfd"
)

const (
	defaultInterval   = 300000 // microseconds
	defaultMultiplier = 3
)

// peering is a session as VPP has it.
type peering struct {
	peeringID
	minTx, minRx uint32
	multiplier   uint8
	down         bool // by the administrator
	auth         authentication
}

// peeringID distinguishes sessions.
type peeringID struct {
	iface       interface_types.InterfaceIndex
	local, peer ip_types.Address
}

type authentication struct {
	on      bool
	key     uint32 // the ID of the AuthKey
	keyID   uint8  // in packets
	delayed bool   // how the rest changes; VPP does not list it
}

var sessions = item.Declare("BFD session", "", item.Variant[peering]{
	Change: func(p peering, add bool) (request, reply api.Message) {
		if !add {
			return &bfdapi.BfdUDPDel{SwIfIndex: p.iface, LocalAddr: p.local, PeerAddr: p.peer}, &bfdapi.BfdUDPDelReply{}
		}
		return &bfdapi.BfdUDPAdd{
			SwIfIndex: p.iface, LocalAddr: p.local, PeerAddr: p.peer, DesiredMinTx: p.minTx, RequiredMinRx: p.minRx, DetectMult: p.multiplier,
			IsAuthenticated: p.auth.on, ConfKeyID: p.auth.key, BfdKeyID: p.auth.keyID,
		}, &bfdapi.BfdUDPAddReply{}
	},
	Dumps: []item.Dump[peering]{item.List(&bfdapi.BfdUDPSessionDump{}, func(d *bfdapi.BfdUDPSessionDetails) (peering, bool) {
		return peering{
			peeringID: peeringID{d.SwIfIndex, d.LocalAddr, d.PeerAddr}, minTx: d.DesiredMinTx, minRx: d.RequiredMinRx, multiplier: d.DetectMult,
			down: d.State == bfdapi.BFD_STATE_API_ADMIN_DOWN,
			auth: authentication{on: d.IsAuthenticated, key: d.ConfKeyID, keyID: d.BfdKeyID},
		}, true
	})},
})

// NewSession describes sessions. changed is called after VPP was asked to change sessions: VPP
// sends no event for sessions that appear or go. A session goes with its interface.
func NewSession(vpp *session.VPP, ifs item.Interfaces, changed func()) *kvs.KVDescriptor {
	calls := sessionCalls{vpp}
	d := item.NewEntry(vpp, ifs, item.Entry[*bfd.Session, peering, peeringID]{
		Name: SessionName, Model: model.SessionModel, Operation: sessions,
		Resolve: resolveSession,
		ID:      func(p peering) peeringID { return p.peeringID },
		Value:   sessionValue,
		Equal: func(a, b peering) bool {
			a.auth.delayed, b.auth.delayed = false, false
			return a == b
		},
		Changeable: func(_, _ peering) bool { return true },
		Update:     calls.update,
		Complete:   calls.complete,
		Exists:     []api.VPPApiError{api.BFD_EEXIST},
		Gone:       []api.VPPApiError{api.BFD_ENOENT},
		Explain:    map[api.VPPApiError]string{api.BFD_ENOENT: "VPP does not have the session or the key of authentication.key"},
	})
	for _, batch := range []*kvs.KVBatchFunc{&d.CreateBatch, &d.UpdateBatch, &d.DeleteBatch} {
		do := *batch
		*batch = func(ctx context.Context, values []kvs.KVBatchValue) []kvs.KVBatchResult {
			defer changed()
			return do(ctx, values)
		}
	}
	return d
}

func resolveSession(r *item.Resolver, v *bfd.Session) peering {
	orDefault := func(n, otherwise uint32) uint32 {
		if n == 0 {
			return otherwise
		}
		return n
	}
	p := peering{
		peeringID: peeringID{
			iface: r.Interface("interface", v.GetInterface()),
			local: r.Host("local_address", v.GetLocalAddress()), peer: r.Host("peer_address", v.GetPeerAddress()),
		},
		minTx: orDefault(v.GetDesiredMinTx(), defaultInterval), minRx: orDefault(v.GetRequiredMinRx(), defaultInterval),
		multiplier: uint8(orDefault(v.GetDetectMultiplier(), defaultMultiplier)),
		down:       v.GetAdminDown(),
	}
	switch {
	case p.local.Af != p.peer.Af:
		r.Fail("peer_address", "%s, expected the version of IP of local_address %s", v.GetPeerAddress(), v.GetLocalAddress())
	case p.local == p.peer:
		r.Fail("peer_address", "%s is local_address too", v.GetPeerAddress())
	}
	if a := v.GetAuthentication(); a != nil {
		p.auth = authentication{
			on: true, key: a.GetKey(), delayed: a.GetDelayed(),
			keyID: uint8(a.GetKeyId()),
		}
		r.DependsOn("auth-key-exists", model.AuthKeyModel.Key(&bfd.AuthKey{Id: a.GetKey()}))
	}
	return p
}

func sessionValue(n *item.Names, p peering) *bfd.Session {
	v := &bfd.Session{
		Interface: n.Interface(p.iface), LocalAddress: item.Addr(p.local), PeerAddress: item.Addr(p.peer),
		DesiredMinTx: p.minTx, RequiredMinRx: p.minRx, DetectMultiplier: uint32(p.multiplier), AdminDown: p.down,
	}
	if p.auth.on {
		v.Authentication = &bfd.Session_Authentication{Key: p.auth.key, KeyId: uint32(p.auth.keyID)}
	}
	return v
}

// sessionCalls change sessions that exist.
type sessionCalls struct{ vpp *session.VPP }

func (c sessionCalls) update(ctx context.Context, old, wanted []peering) []error {
	errs := make([]error, len(wanted))
	for i := range wanted {
		errs[i] = c.change(ctx, old[i], wanted[i])
	}
	return errs
}

// change stops at the first error. The next read of the session shows which part remains.
func (c sessionCalls) change(ctx context.Context, old, p peering) error {
	if old.minTx != p.minTx || old.minRx != p.minRx || old.multiplier != p.multiplier {
		err := c.vpp.Call(ctx, &bfdapi.BfdUDPMod{
			SwIfIndex: p.iface, LocalAddr: p.local, PeerAddr: p.peer, DesiredMinTx: p.minTx, RequiredMinRx: p.minRx, DetectMult: p.multiplier,
		}, &bfdapi.BfdUDPModReply{})
		if err != nil {
			return err
		}
	}
	if err := c.authenticate(ctx, old.auth, p); err != nil {
		return err
	}
	if old.down == p.down {
		return nil
	}
	return c.setDown(ctx, p, p.down)
}

func (c sessionCalls) authenticate(ctx context.Context, old authentication, p peering) error {
	switch {
	case old.on == p.auth.on && old.key == p.auth.key && old.keyID == p.auth.keyID:
		return nil
	case !p.auth.on:
		return c.vpp.Call(ctx, &bfdapi.BfdUDPAuthDeactivate{
			SwIfIndex: p.iface, LocalAddr: p.local, PeerAddr: p.peer, IsDelayed: old.delayed,
		}, &bfdapi.BfdUDPAuthDeactivateReply{})
	}
	return c.vpp.Call(ctx, &bfdapi.BfdUDPAuthActivate{
		SwIfIndex: p.iface, LocalAddr: p.local, PeerAddr: p.peer, IsDelayed: p.auth.delayed, ConfKeyID: p.auth.key, BfdKeyID: p.auth.keyID,
	}, &bfdapi.BfdUDPAuthActivateReply{})
}

// complete takes a new session down if it must be; VPP starts sessions.
func (c sessionCalls) complete(ctx context.Context, p peering) error {
	if !p.down {
		return nil
	}
	if err := c.setDown(ctx, p, true); err != nil {
		remove := &bfdapi.BfdUDPDel{SwIfIndex: p.iface, LocalAddr: p.local, PeerAddr: p.peer}
		_ = c.vpp.Call(ctx, remove, &bfdapi.BfdUDPDelReply{}) // a session that stays is read back
		return err
	}
	return nil
}

func (c sessionCalls) setDown(ctx context.Context, p peering, down bool) error {
	flags := interface_types.IF_STATUS_API_FLAG_ADMIN_UP
	if down {
		flags = 0
	}
	return c.vpp.Call(ctx, &bfdapi.BfdUDPSessionSetFlags{SwIfIndex: p.iface, LocalAddr: p.local, PeerAddr: p.peer, Flags: flags},
		&bfdapi.BfdUDPSessionSetFlagsReply{})
}
