package vpptest_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"go.fd.io/govpp/api"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/binding"
	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/vpptest"
	"github.com/tenuto-dev/tenuto/plugins/vpp/vpptest/catalogue"
)

// Each request by which an item is created, changed or deleted fails once: the item ends
// as it is wanted, a transaction that is reverted leaves nothing. VPP is restarted in
// between, and gets everything again. Of the releases that have a process of their own the
// newest is enough: others differ in the messages, which TestItems sends.
func TestItemFaults(t *testing.T) {
	if all := binding.Releases(); *release != "" && *release != all[len(all)-1] {
		t.Skip("the newest release does")
	}
	t.Parallel()
	for _, i := range items(t) {
		t.Run(i.Name, func(t *testing.T) {
			t.Parallel()
			newLife(t, i, vpptest.Simulator(t, simOptions())).faults()
		})
	}
}

var retry = kvs.WithRetry(kvs.RetryOpts{Period: time.Millisecond})

func (l *life) faults() {
	l.b.Must(l.needed)
	before := l.state()
	create := func() {
		l.b.Must(l.item)
		l.configured()
	}
	requests := sent(l.target, create)
	creates := written(requests)
	if len(creates) == 0 && requests["cli_inband"] > 0 {
		l.t.Skip("this release makes it with commands, which the requests do not distinguish")
	}
	after := l.state()
	deletes := written(sent(l.target, func() { l.b.Must(deleted(l.item)) }))
	if len(creates) == 0 || len(deletes) == 0 {
		l.t.Fatalf("created by %v, deleted by %v", creates, deletes)
	}
	leaves := func(message string) bool { return l.Leaves[message] != "" }
	creates, deletes = slices.DeleteFunc(creates, leaves), slices.DeleteFunc(deletes, leaves)
	for _, message := range creates {
		l.fails(message)
		_ = l.b.Commit(l.item, retry) // seen in the simulator
		l.configured()
		l.is("when "+message+" fails and the item is created again", after)
		l.b.Must(deleted(l.item))
		l.is("after "+message+" fails and the item is deleted", before)
		l.fails(message)
		if err := l.b.Commit(l.item, kvs.WithRevert()); err == nil {
			l.b.Must(deleted(l.item)) // the item can do without the request
		}
		l.is("after "+message+" fails and the transaction is reverted", before)
		l.target.Sim.Heal()
	}
	for _, message := range deletes {
		create()
		l.fails(message)
		_ = l.b.Commit(deleted(l.item), retry)
		l.b.Await(l.key, gone)
		l.b.Scheduler.TransactionBarrier()
		l.is("after "+message+" fails while the item is deleted", before)
		l.target.Sim.Heal()
	}
	for _, c := range slices.Concat(l.Updates, l.Recreates) {
		l.changesFail(values{l.key: l.Changed(c)})
	}
	l.restartsVPP(creates)
	l.is("after VPP was restarted", after)
	l.b.InSync()
}

// changesFail makes each request of a change of the item fail once.
func (l *life) changesFail(changed values) {
	l.t.Helper()
	l.b.Must(l.item)
	l.configured()
	change := func() {
		l.b.Must(changed)
		awaitConfigured(l.b, changed)
	}
	requests := written(sent(l.target, change))
	after := l.state()
	for _, message := range requests {
		if l.Leaves[message] != "" {
			continue
		}
		l.b.Must(l.item)
		l.configured()
		l.fails(message)
		_ = l.b.Commit(changed, retry) // seen in the simulator
		awaitConfigured(l.b, changed)
		l.is("when "+message+" fails and the item is changed again", after)
		l.target.Sim.Heal()
	}
	l.b.Must(deleted(l.item))
}

// fails makes the simulator refuse the next request of a name.
func (l *life) fails(message string) {
	l.t.Helper()
	if err := l.target.Sim.Fail(message, api.UNSPECIFIED, 1); err != nil {
		l.t.Fatal(err)
	}
}

// configured waits until the item is configured with all that is derived from it.
func (l *life) configured() {
	l.t.Helper()
	l.b.Await(l.Item.Key(), configured)
	awaitConfigured(l.b, l.item)
}

// awaitConfigured waits until values are configured with all that is derived from them:
// what waits for links comes later.
func awaitConfigured(b *vpptest.Harness, all values) {
	for key := range all {
		b.AwaitWhole(key)
	}
	b.Scheduler.TransactionBarrier()
}

// restartsVPP restarts VPP at each of the messages, before it has an effect.
func (l *life) restartsVPP(messages []string) {
	l.t.Helper()
	sim := l.target.Sim
	for _, message := range messages {
		l.b.Must(deleted(l.item))
		if err := sim.HangAt(message, 1, false); err != nil {
			l.t.Fatal(err)
		}
		epoch, done := l.b.Mux.Session().Epoch, make(chan struct{})
		go func() {
			defer close(done)
			_ = l.b.Commit(l.item) // what became of it is seen below
		}()
		<-sim.Hanging()
		if err := sim.Die(); err != nil {
			l.t.Fatal(err)
		}
		sim.Resume()
		<-done
		l.target.Restart(l.t)
		l.b.Connected(epoch)
		l.configured()
	}
}

// written returns the messages that change something, ordered by name.
func written(counts map[string]int) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(counts)), reads)
}

// Without its messages an item is UNIMPLEMENTED and names them, for every client; with
// them it is configured.
func TestCapabilities(t *testing.T) {
	t.Parallel()
	all := vpptest.Start(t, vpptest.Simulator(t, simOptions())).Mux.Capabilities()
	for _, i := range items(t) {
		at := slices.IndexFunc(all, func(c binding.Capability) bool { return c.Item == i.Capability })
		if at < 0 {
			t.Errorf("%s: needs %q, which is no capability", i.Name, i.Capability)
			continue
		}
		c := all[at]
		t.Run(i.Name, func(t *testing.T) {
			t.Parallel()
			target := vpptest.Simulator(t, simOptions())
			for _, msgs := range c.NeedsOneOf {
				forget(t, target, msgs[0].GetMessageName())
			}
			l := newLife(t, i, target)
			_ = l.b.Commit(l.all())
			l.b.Await(i.Key(), impossible) // what waits for the link comes later
			l.impossible(c)

			// A VPP that has everything.
			target.Sim.Heal()
			epoch := l.b.Mux.Session().Epoch
			target.Restart(t)
			l.b.Connected(epoch)
			l.b.Await(i.Key(), configured)
		})
	}
}

// impossible fails the test unless the item, and no other one, lacks the messages of its
// capability.
func (l *life) impossible(c binding.Capability) {
	l.t.Helper()
	why := l.b.Scheduler.GetValueStatus(l.Item.Key()).GetValue().GetError()
	name, notLoaded := binding.NameCRC(c.NeedsOneOf[0][0]), "VPP has not loaded the plugin "+c.Plugin+" ("
	if !strings.Contains(why, name) && (c.Plugin == "" || !strings.Contains(why, notLoaded)) {
		l.t.Errorf("%s: error %q, expected %s, or the plugin %s", l.Item.Key(), why, name, c.Plugin)
	}
	for _, a := range abilities(l.t, l.b) {
		if a.Item == c.Item && (a.Uses != "" || len(a.Missing) != len(c.NeedsOneOf)) {
			l.t.Errorf("%s is said to be possible, with %q, without %v", a.Item, a.Uses, a.Missing)
		} else if a.Item != c.Item && a.Uses == "" {
			l.t.Errorf("%s is said to be impossible, because %v are missing", a.Item, a.Missing)
		}
	}
}

// The error of an item that wants what another one has says by which field, and who has
// it. When that one goes, it comes up at the next attempt.
func TestConflicts(t *testing.T) {
	for _, i := range items(t) {
		for _, c := range i.Conflicts {
			t.Run(i.Name, func(t *testing.T) {
				if !i.Real() {
					t.Parallel()
					inConflict(t, vpptest.Simulator(t, simOptions()), i, c)
					return
				}
				vpptest.OnBoth(t, func(t *testing.T, target vpptest.Target) { inConflict(t, target, i, c) })
			})
		}
	}
}

func inConflict(t *testing.T, target vpptest.Target, i catalogue.Item, c catalogue.Conflict) {
	l := newLife(t, i, target)
	b, first, second := l.b, catalogue.Values(c.First), catalogue.Values(c.Second)
	b.Must(l.needed)
	b.Must(catalogue.Values(c.Needs...))
	b.Must(first)
	if err := b.Commit(second); err == nil || !strings.Contains(err.Error(), c.Says) {
		t.Errorf("error %v, expected %q", err, c.Says)
	}
	refused := c.Part
	if refused == "" {
		refused = catalogue.Key(c.Second)
	}
	b.Want(states{refused: failed})
	allConfigured(t, b, l.needed)
	allConfigured(t, b, first)
	b.Must(deleted(first))
	b.Resync()
	allConfigured(t, b, second)
	b.InSync()
}
