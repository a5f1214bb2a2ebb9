package vpptest_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tenuto-dev/tenuto/plugins/vpp/lldpplugin"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/vpp/vpptest"
	"github.com/tenuto-dev/tenuto/plugins/vpp/vpptest/catalogue"
	l3 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l3"
)

const (
	// killRounds is how often VPP is killed in one run of the test; "make kills"
	// runs it again and again.
	killRounds = 5
	// killRoutes are the routes that are being made when VPP is killed.
	killRoutes = 2000
)

// VPP is killed while the agent programs it with all items of the catalogue, and in every other
// round again while the agent makes up for the first time. Each time it returns with
// nothing, and without any help everything is there that was asked for last,
// and nothing else.
func TestKilledUnderLoad(t *testing.T) {
	vpptest.OnBoth(t, func(t *testing.T, target vpptest.Target) {
		b := vpptest.Start(t, target, vpptest.SearchDeaths())
		wanted := catalogueOf(t, b)
		// What VPP died of is created last, maybe behind sub-interfaces. VPP would take
		// another interface for LLDP then; the item is FAILED and says so.
		maps.DeleteFunc(wanted, func(key string, _ proto.Message) bool {
			return strings.HasPrefix(key, lldpplugin.InterfaceModel.KeyPrefix())
		})
		b.Must(wanted)
		awaitConfigured(b, wanted)
		var took []time.Duration
		for round := range killRounds {
			change := killChange(round, wanted)
			done := make(chan struct{})
			go func() {
				defer close(done)
				_ = b.Commit(change) // what became of it is seen below
			}()
			killed := killLater(t, b)
			<-done
			for key, v := range change {
				if wanted[key] = v; v == nil {
					delete(wanted, key)
				}
			}
			if round%2 == 1 {
				target.Restart(t)
				killLater(t, b)
			}
			epoch := b.Mux.Session().Epoch
			target.Restart(t)
			start := time.Now()
			b.Connected(epoch)
			for key := range wanted { // what was in flight comes up by and by: it may be what VPP died of
				b.Await(key, configured)
				for _, v := range b.Scheduler.GetValueStatus(key).GetDerivedValues() {
					b.Await(v.GetKey(), configured)
				}
			}
			took = append(took, time.Since(start))
			allConfigured(t, b, wanted)
			wantRoutes(t, b, wanted)
			b.InSync()
			if t.Failed() {
				t.Fatalf("in round %d, VPP killed after %d replies", round, killed)
			}
		}
		slices.Sort(took)
		t.Logf("%d kills; after VPP answered again all was there within %v (median), %v (longest)",
			killRounds+killRounds/2, took[len(took)/2].Round(time.Millisecond), took[len(took)-1].Round(time.Millisecond))
	})
}

// catalogueOf are the exemplars of the catalogue, with what they need; on a real VPP those that it
// can have on this machine.
func catalogueOf(t *testing.T, b *vpptest.Harness) values {
	t.Helper()
	announceHosts(t, b)
	all := values{}
	for _, i := range catalogue.All() {
		if b.Real == nil || i.Real() {
			maps.Copy(all, catalogue.Values(i.Make()))
			maps.Copy(all, i.Needed())
		}
	}
	return all
}

// killChange replaces the routes of the last round by the routes of this one.
func killChange(round int, wanted values) values {
	change := values{}
	for key, v := range wanted {
		if r, ok := v.(*l3.Route); ok && r.OutgoingInterface == "lo" && r.Weight == 7 {
			change[key] = nil
		}
	}
	for i := range killRoutes {
		r := &l3.Route{
			DstNetwork:  fmt.Sprintf("%d.%d.%d.0/24", 20+round%2, i>>8, i&0xff),
			NextHopAddr: fmt.Sprintf("10.1.1.%d", 10+round), OutgoingInterface: "lo", Weight: 7,
		}
		change[routeKey(r)] = r
	}
	return change
}

// killLater kills VPP after an arbitrary number of replies, and returns when the
// agent knows.
func killLater(t *testing.T, b *vpptest.Harness) (after uint64) {
	t.Helper()
	after = 1 + rand.Uint64N(killRoutes)
	until := b.Mux.Stats().Replies + after
	await(t, fmt.Sprintf("%d replies", after), func() bool { return b.Mux.Stats().Replies >= until })
	if b.Real != nil {
		b.Real.Kill()
	} else if err := b.Sim.Die(); err != nil {
		t.Fatal(err)
	}
	await(t, "the end of the session", func() bool { return !b.Mux.Session().Up })
	return after
}

// await polls: no event reports replies.
func await(t *testing.T, what string, fits func() bool) {
	t.Helper()
	tick := time.NewTicker(50 * time.Microsecond)
	defer tick.Stop()
	for late := time.Now().Add(time.Minute); !fits(); <-tick.C {
		if time.Now().After(late) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

// wantRoutes fails the test unless VPP has the routes that are wanted, and no
// other.
func wantRoutes(t *testing.T, b *vpptest.Harness, wanted values) {
	t.Helper()
	got := b.Dump("vpp-route")
	for key, v := range wanted {
		if r, ok := v.(*l3.Route); ok {
			if found, ok := got[key].(*l3.Route); !ok || !proto.Equal(found, r) && r.Weight == 7 {
				t.Errorf("route %s is %v", key, got[key])
			}
			delete(got, key)
		}
	}
	if len(got) > 0 {
		t.Errorf("%d routes that are not desired", len(got))
	}
}
