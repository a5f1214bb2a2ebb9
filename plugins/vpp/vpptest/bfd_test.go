package vpptest_test

import (
	"net/netip"
	"testing"

	bfdapi "go.fd.io/govpp/binapi/bfd"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim"
	"github.com/tenuto-dev/tenuto/plugins/vpp/vpptest"
	"github.com/tenuto-dev/tenuto/plugins/vpp/vpptest/catalogue"
	bfd "github.com/tenuto-dev/tenuto/proto/ligato/vpp/bfd"
	l3 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l3"
)

// peerState is the key of a state of the session on "lo/1" with 10.1.0.2.
func peerState(state string) string { return "vpp/bfd/lo/1/peer/10.1.0.2/state/" + state }

func lo1Session() *bfd.Session {
	return &bfd.Session{Interface: "lo/1", LocalAddress: "10.1.0.1", PeerAddress: "10.1.0.2"}
}

// guarded is a route that is there only while the session is up.
func guarded() *l3.Route {
	return &l3.Route{DstNetwork: "198.51.100.0/24", NextHopAddr: "10.1.0.2", OutgoingInterface: "lo/1", Bfd: true}
}

// A route follows the state of the session with its next hop, whether VPP reports a change,
// the agent causes it, or another client deletes the session.
func TestRouteFollowsBFD(t *testing.T) {
	t.Parallel()
	b := vpptest.Start(t, vpptest.Simulator(t, vppsim.Options{}))
	r := guarded()
	becomes := func(state bfdapi.BfdState) {
		t.Helper()
		m, _ := b.If.Interfaces().LookupByName("lo/1")
		if err := b.Sim.BFDState(m.SwIfIndex, netip.MustParseAddr("10.1.0.2"), state); err != nil {
			t.Fatal(err)
		}
	}
	b.Must(of(r, loop("lo/1", "10.1.0.1/24")))
	b.Await(key(r), pending)
	b.Must(of(lo1Session()))
	b.Await(peerState("DOWN"), obtained)
	b.Want(states{key(r): pending})
	becomes(bfdapi.BFD_STATE_API_UP)
	b.Await(key(r), configured)
	b.Await(peerState("UP"), obtained)
	b.Want(states{peerState("DOWN"): gone})
	b.InSync()
	becomes(bfdapi.BFD_STATE_API_DOWN)
	b.Await(key(r), pending)
	becomes(bfdapi.BFD_STATE_API_INIT)
	b.Await(peerState("INIT"), obtained)
	becomes(bfdapi.BFD_STATE_API_UP)
	b.Await(key(r), configured)

	down := lo1Session()
	down.AdminDown = true
	b.Must(of(down))
	b.Await(peerState("ADMIN_DOWN"), obtained)
	b.Want(states{key(r): pending})
	b.Must(of(lo1Session()))
	b.Await(peerState("DOWN"), obtained)
	becomes(bfdapi.BFD_STATE_API_UP)
	b.Await(key(r), configured)

	// A route that stops waiting stays in VPP.
	free := guarded()
	free.Bfd = false
	before := b.Sim.Count("ip_route_add_del")
	b.Must(of(free))
	b.Must(deleted(of(lo1Session())))
	b.Await(peerState("UP"), gone)
	b.Want(states{key(r): configured})
	if b.Sim.Count("ip_route_add_del") != before {
		t.Error("a route that no longer waits was sent to VPP again")
	}
	b.Must(of(r))
	b.Want(states{key(r): pending})
	b.InSync()
}

// The states of sessions come from the connected VPP.
func TestBFDStatesOfSessions(t *testing.T) {
	t.Parallel()
	target := vpptest.Simulator(t, vppsim.Options{})
	b := vpptest.Start(t, target)
	all := of(guarded(), loop("lo/1", "10.1.0.1/24"), lo1Session())
	b.Must(all)
	b.Await(peerState("DOWN"), obtained)
	up := func(b *vpptest.Harness) {
		m, _ := b.If.Interfaces().LookupByName("lo/1")
		if err := b.Sim.BFDState(m.SwIfIndex, netip.MustParseAddr("10.1.0.2"), bfdapi.BFD_STATE_API_UP); err != nil {
			t.Fatal(err)
		}
	}
	up(b)
	b.Await(key(guarded()), configured)

	epoch := b.Mux.Session().Epoch
	target.Restart(t)
	b.Connected(epoch)
	b.Await(peerState("DOWN"), obtained)
	b.Await(key(guarded()), pending)
	up(b)
	b.Await(key(guarded()), configured)
	b.Stop()

	next := vpptest.Start(t, target)
	if ops := next.FullResync(all); len(ops) > 0 {
		t.Errorf("the next agent had to %v", ops)
	}
	next.Want(states{key(guarded()): configured, peerState("UP"): obtained})
	next.Must(deleted(of(loop("lo/1"))))
	next.Await(peerState("UP"), gone)
	next.Want(states{key(guarded()): pending})
}

// The secret of a key is changed in VPP, though VPP does not report it, and the sessions that use
// the key are made again.
func TestBFDSecrets(t *testing.T) {
	t.Parallel()
	b := vpptest.Start(t, vpptest.Simulator(t, vppsim.Options{}))
	s, k := lo1Session(), catalogue.BFDAuthKey(7)
	s.Authentication = &bfd.Session_Authentication{Key: 7, KeyId: 1}
	all := of(s, k, loop("lo/1", "10.1.0.1/24"))
	b.Must(all)
	b.InSync()
	changed := catalogue.BFDAuthKey(7)
	changed.Secret = "00ff"
	for name, change := range map[string]func(values) []string{"update": b.Change, "resync": b.FullResync} {
		all[key(k)] = changed
		changed, k = k, changed
		ops := change(all)
		if got := b.Sim.Count("bfd_auth_set_key"); len(ops) != 4 {
			t.Errorf("%s: %d keys were set, by %v", name, got, ops)
		}
		b.Want(states{key(s): configured, key(k): configured})
	}
	b.InSync()
}
