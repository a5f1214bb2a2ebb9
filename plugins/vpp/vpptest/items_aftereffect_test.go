package vpptest_test

import (
	"slices"
	"testing"

	"go.fd.io/govpp/api"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/binding"
	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/vpptest"
)

// VPP does what a request says, and answers with an error all the same: the object is found by
// what identifies it. It is deleted with the item, and is the item's if that is tried again.
func TestItemErrorsAfterEffect(t *testing.T) {
	if all := binding.Releases(); *release != "" && *release != all[len(all)-1] {
		t.Skip("the newest release does")
	}
	t.Parallel()
	for _, i := range items(t) {
		t.Run(i.Name, func(t *testing.T) {
			t.Parallel()
			newLife(t, i, vpptest.Simulator(t, simOptions())).errorsAfterEffect()
		})
	}
}

func (l *life) errorsAfterEffect() {
	l.b.Must(l.needed)
	before := l.state()
	creates := written(sent(l.target, func() {
		l.b.Must(l.item)
		l.configured()
	}))
	after := l.state()
	l.b.Must(deleted(l.item))
	creates = slices.DeleteFunc(creates, func(message string) bool { return l.Leaves[message] != "" || message == "cli_inband" })
	if len(creates) == 0 {
		l.t.Skip("made by commands, which all have one request")
	}
	for _, message := range creates {
		l.errsAfterEffect(message)
		_ = l.b.Commit(l.item) // seen in the simulator
		_ = l.b.Commit(deleted(l.item))
		l.b.Scheduler.TransactionBarrier()
		l.b.Resync()
		l.is("when "+message+" has an effect and an error, and the item is deleted", before)
		l.target.Sim.Heal()

		l.errsAfterEffect(message)
		_ = l.b.Commit(l.item, retry)
		l.configured()
		l.is("when "+message+" has an effect and an error, and is tried again", after)
		l.b.Must(deleted(l.item))
		l.is("when "+message+" has an effect and an error, is tried again, and the item is deleted", before)
		l.target.Sim.Heal()

		l.errsAfterEffect(message)
		if err := l.b.Commit(l.item, kvs.WithRevert()); err == nil {
			l.b.Must(deleted(l.item)) // the item can do without the request
		}
		l.is("when "+message+" has an effect and an error, and the transaction is reverted", before)
		l.target.Sim.Heal()
	}
}

// errsAfterEffect makes the simulator answer the next request of a name with an error, after it
// has done what the request says.
func (l *life) errsAfterEffect(message string) {
	l.t.Helper()
	if err := l.target.Sim.FailAfter(message, api.UNSPECIFIED, 1); err != nil {
		l.t.Fatal(err)
	}
}
