package health_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tenuto-dev/tenuto/infra/health"
)

// newTree returns a tree whose clock moves by a second each time it is read.
func newTree() *health.Tree {
	now := time.Unix(0, 0).UTC()
	return health.NewTree(func() time.Time {
		now = now.Add(time.Second)
		return now
	})
}

// show prints a snapshot on a few lines: the state of the agent, then the
// plugins with what is wrong and why.
func show(s health.Snapshot) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%v\n", s.State)
	var one func(indent string, s health.Status)
	one = func(indent string, s health.Status) {
		fmt.Fprintf(&b, "%s%s %v", indent, s.Name, s.State)
		for _, text := range []string{s.Reason, s.Error} {
			if text != "" {
				fmt.Fprintf(&b, " %q", text)
			}
		}
		if len(s.CausedBy) > 0 {
			fmt.Fprintf(&b, " because of %v", s.CausedBy)
		}
		b.WriteString("\n")
		for _, p := range s.Parts {
			one(indent+"  ", p)
		}
	}
	for _, p := range s.Plugins {
		one("  ", p)
	}
	return b.String()
}

func expect(t *testing.T, tree *health.Tree, want string, ignore ...string) {
	t.Helper()
	if got := show(tree.Snapshot(ignore...)); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestTreeOfStates(t *testing.T) {
	t.Parallel()
	tree := newTree()
	expect(t, tree, "OK\n")
	a, b := tree.Plugin("a"), tree.Plugin("b")
	expect(t, tree, "INIT\n  a INIT\n  b INIT\n")
	tree.Ready("a")
	tree.Ready("unknown")
	b.OK("connected")
	tree.Ready("b") // what a plugin said about itself stays
	expect(t, tree, "OK\n  a OK\n  b OK \"connected\"\n")

	b.Starting("waits for its database") // more of it than its AfterInit
	expect(t, tree, "INIT\n  a OK\n  b INIT \"waits for its database\"\n")
	b.OK("connected")

	part := a.Scope("link").Scope("eth0")
	expect(t, tree, "OK\n  a OK\n    link OK\n      eth0 OK\n  b OK \"connected\"\n")
	part.Degraded("down", errors.New("no carrier"))
	expect(t, tree, "DEGRADED\n  a DEGRADED because of [a/link]\n    link DEGRADED\n      eth0 DEGRADED \"down\" \"no carrier\"\n  b OK \"connected\"\n")
	b.Failed("gone", nil)
	b.OK("back") // another plugin's trouble is not forgotten
	a.Scope("other").Failed("bad", nil)
	expect(t, tree, "ERROR\n  a ERROR because of [a/link a/other]\n    link DEGRADED\n      eth0 DEGRADED \"down\" \"no carrier\"\n    other ERROR \"bad\"\n  b OK \"back\"\n")
	expect(t, tree, "OK\n  a ERROR because of [a/link a/other]\n    link DEGRADED\n      eth0 DEGRADED \"down\" \"no carrier\"\n    other ERROR \"bad\"\n  b OK \"back\"\n", "a")

	a.Scope("link").Close()
	part.Failed("too late", nil) // a closed scope reports nothing
	part.Scope("deeper").Failed("too late", nil)
	a.Scope("other").Close()
	expect(t, tree, "OK\n  a OK\n  b OK \"back\"\n")
	b.Close()
	b.Close()
	expect(t, tree, "OK\n  a OK\n")
}

func TestTroubleIsShownWithItsCause(t *testing.T) {
	t.Parallel()
	tree := newTree()
	vpp := tree.Plugin("vpp")
	ifs := tree.Plugin("interfaces", "vpp", "linux")
	routes := tree.Plugin("routes", "interfaces")
	linux := tree.Plugin("linux")
	for _, r := range []health.Reporter{vpp, ifs, routes, linux} {
		r.OK("")
	}
	vpp.Degraded("disconnected", nil)
	ifs.Degraded("waits", nil)
	routes.Degraded("waits", nil)
	expect(t, tree, `DEGRADED
  interfaces DEGRADED "waits" because of [vpp]
  linux OK
  routes DEGRADED "waits" because of [vpp]
  vpp DEGRADED "disconnected"
`)
	linux.Failed("no permission", nil)
	vpp.OK("connected")
	ifs.OK("")
	expect(t, tree, `ERROR
  interfaces OK
  linux ERROR "no permission"
  routes DEGRADED "waits" because of [linux]
  vpp OK "connected"
`)
}

func TestTimes(t *testing.T) {
	t.Parallel()
	tree := newTree() // created at 1
	p := tree.Plugin("p")
	p.Degraded("a", nil)
	first := tree.Snapshot().Plugins[0]
	p.Degraded("a", nil) // the same again changes nothing
	if again := tree.Snapshot().Plugins[0]; again.Since != first.Since || again.LastChange != first.LastChange {
		t.Errorf("got %+v after %+v", again, first)
	}
	p.Degraded("b", nil) // another reason, the same state
	s := tree.Snapshot().Plugins[0]
	if s.Since != first.Since || !s.LastChange.After(first.LastChange) {
		t.Errorf("got %+v after %+v", s, first)
	}
	p.OK("")
	if last := tree.Snapshot().Plugins[0]; !last.Since.After(s.Since) {
		t.Errorf("got %+v after %+v", last, s)
	}
}

func TestSnapshotAsJSON(t *testing.T) {
	t.Parallel()
	tree := newTree()
	tree.Plugin("p").Scope("part").Failed("why", errors.New("what"))
	text, err := json.Marshal(tree.Snapshot())
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`{"state":"ERROR","started":"1970-01-01T00:00:01Z"`, `"caused_by":["p/part"]`, `"reason":"why","error":"what"`} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%s is missing in %s", want, text)
		}
	}
}

func TestConcurrentReports(t *testing.T) {
	t.Parallel()
	tree := health.NewTree(nil)
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			r := tree.Plugin(fmt.Sprint("p", i), "p0")
			for range 100 {
				s := r.Scope("s")
				s.Failed("x", nil)
				tree.Snapshot()
				s.Close()
			}
			r.OK("")
		})
	}
	wg.Wait()
	if s := tree.Snapshot().State; s != health.OK {
		t.Error(s)
	}
	health.Discard().Scope("x").Failed("discarded", nil)
}

func TestDisabledIsNotOK(t *testing.T) {
	t.Parallel()
	tree := newTree()
	tree.Plugin("etcd")
	store := tree.Plugin("sync", "etcd")
	tree.Disabled("etcd")
	tree.Disabled("unknown")
	store.OK("")
	expect(t, tree, "OK\n  etcd DISABLED\n  sync OK\n")
	store.Degraded("slow", nil)
	expect(t, tree, "DEGRADED\n  etcd DISABLED\n  sync DEGRADED \"slow\"\n")
	if n := health.Disabled.Number(); n != health.OK.Number() {
		t.Errorf("clients of the predecessor get %d", n)
	}
}

func TestStateWithoutParts(t *testing.T) {
	t.Parallel()
	tree := newTree()
	a, b := tree.Plugin("a"), tree.Plugin("b")
	b.OK("")
	a.Scope("values").Degraded("one failed", nil)
	for leaveOut, want := range map[string]health.State{
		"": health.Degraded, "b": health.Degraded, "values": health.Degraded, "a": health.OK, "a/values": health.OK,
	} {
		if got := tree.StateWithout(leaveOut); got != want {
			t.Errorf("without %q: %v, expected %v", leaveOut, got, want)
		}
	}
	a.Scope("retrieve").Degraded("cannot be read", nil)
	if got := tree.StateWithout("a/values"); got != health.Degraded {
		t.Errorf("with another part in trouble: %v", got)
	}
	a.Scope("retrieve").OK("")
	a.Failed("gone", nil)
	if got := tree.StateWithout("a/values"); got != health.Error {
		t.Errorf("with trouble of its own: %v", got)
	}
}
