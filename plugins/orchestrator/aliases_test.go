package orchestrator_test

import (
	"fmt"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/orchestrator"
	l3model "github.com/tenuto-dev/tenuto/plugins/vpp/l3plugin/model"
	l3 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l3"
)

// The keys of a route that leaves through interface a: its own, and the form of older releases.
const (
	routeOverA    = "config/vpp/v2/route/if/a/vrf/0/dst/10.1.0.0/16/gw/10.0.0.1"
	routeOverAOld = "config/vpp/v2/route/vrf/0/dst/10.1.0.0/16/gw/10.0.0.1"
)

func routeAt(key string, weight uint32) orchestrator.KeyVal {
	return orchestrator.KeyVal{Key: key, Val: &l3.Route{
		DstNetwork: "10.1.0.0/16", NextHopAddr: "10.0.0.1", OutgoingInterface: "a", Weight: weight}}
}

func without(key string) orchestrator.KeyVal { return orchestrator.KeyVal{Key: key} }

// routes are the weights of the routes in the southbound, by key.
func (w *world) routes() string {
	var b strings.Builder
	for _, key := range w.sb.Keys() {
		if r, ok := w.sb.Get(key).(*l3.Route); ok {
			fmt.Fprintf(&b, "%s=%d ", strings.TrimPrefix(key, l3model.RouteModel.KeyPrefix()), r.Weight)
		}
	}
	return strings.TrimSpace(b.String())
}

// TestKeysThatAreNotThoseOfTheirValues checks that items of stores are configured under the keys
// of their values, as with the predecessor, and that their deletion removes them.
func TestKeysThatAreNotThoseOfTheirValues(t *testing.T) {
	t.Parallel()
	wit := newWitness(t)
	s := &fakeStore{name: "etcd"}
	w := start(t, nil, orchestrator.UseWatchers(s), wit.use())
	const own = "if/a/vrf/0/dst/10.1.0.0/16/gw/10.0.0.1"
	want := func(after, routes string, rejected int) {
		t.Helper()
		if got := w.routes(); got != routes {
			t.Errorf("after %s: routes %q, want %q", after, got, routes)
		}
		if got := w.Sources()[0].Rejected; len(got) != rejected {
			t.Errorf("after %s: rejected %q, want %d", after, got, rejected)
		}
	}
	change := func(items ...orchestrator.KeyVal) {
		t.Helper()
		if err := s.change(items...); err != nil {
			t.Fatal(err)
		}
	}
	if err := <-s.resync(iface("a", 1), routeAt(routeOverAOld, 1)); err != nil {
		t.Fatal(err)
	}
	want("the start", own+"=1", 0)
	if n := len(wit.about("keys of the store differ from the keys of their values")); n != 1 {
		t.Errorf("%d lines in the log, want 1", n)
	}
	change(routeAt(routeOverAOld, 2))
	want("a change", own+"=2", 0)
	change(routeAt(routeOverA, 2))
	want("the same value under the other key", own+"=2", 0)
	change(routeAt(routeOverA, 3))
	want("another value under the other key", own+"=3", 1)
	change(routeAt(routeOverAOld, 3))
	want("the conflict is resolved", own+"=3", 0)
	change(without(routeOverA))
	want("the deletion of the right key", own+"=3", 0)
	change(without(routeOverAOld))
	want("the deletion of the other key", "", 0)
	change(routeAt(routeOverA, 4), routeAt(routeOverAOld, 5))
	want("both in one event", own+"=4", 1)
	change(without(routeOverA))
	want("the deletion of the one that counted", own+"=5", 0)
	moved := routeAt(routeOverAOld, 6)
	moved.Val.(*l3.Route).DstNetwork = "10.2.0.0/16"
	change(moved)
	want("a value with another key", strings.Replace(own, "10.1", "10.2", 1)+"=6", 0)
	if err := <-s.resync(iface("a", 1), routeAt(routeOverAOld, 7), routeAt("config/vpp/v2/route/zzz", 8)); err != nil {
		t.Fatal(err)
	}
	want("a resync with two wrong keys", own+"=7", 1)
	if err := <-s.resync(iface("a", 1), routeAt(routeOverAOld, 7), routeAt(routeOverA, 9)); err != nil {
		t.Fatal(err)
	}
	want("a resync with the right key, too", own+"=9", 1)
	if err := <-s.resync(iface("a", 1), routeAt(routeOverA, 9)); err != nil {
		t.Fatal(err)
	}
	change(without(routeOverAOld))
	want("the deletion of an unknown key", own+"=9", 0)
	if !proto.Equal(w.sb.Get(routeOverA), routeAt("", 9).Val) {
		t.Errorf("got %v", w.sb.Get(routeOverA))
	}
}

// TestSingletonsBelowSettings checks keys below the key of a singleton.
func TestSingletonsBelowSettings(t *testing.T) {
	t.Parallel()
	s := &fakeStore{name: "etcd"}
	w := start(t, nil, orchestrator.UseWatchers(s))
	proxy := orchestrator.KeyVal{Key: "config/vpp/v2/proxyarp-global/settings", Val: &l3.ProxyARP{}}
	if err := <-s.resync(proxy); err != nil {
		t.Fatal(err)
	}
	has := func() bool { return w.Status("config/vpp/v2/proxyarp-global").Source == "etcd" }
	if !has() || len(w.Sources()[0].Rejected) > 0 {
		t.Errorf("rejected %q", w.Sources()[0].Rejected)
	}
	if err := s.change(without(proxy.Key)); err != nil || has() {
		t.Errorf("after the deletion: %v, %v", err, w.ListData(""))
	}
}
