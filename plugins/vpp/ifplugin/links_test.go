package ifplugin

import (
	"context"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	interfaces "go.fd.io/govpp/binapi/interface"

	"github.com/tenuto-dev/tenuto/infra/idxmap"
	"github.com/tenuto-dev/tenuto/infra/logging"
	"github.com/tenuto-dev/tenuto/plugins/govppmux/binapi"
	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim"
	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/ifaceidx"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/model"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/vppcalls"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
)

// notified records the calls to the scheduler.
type notified struct {
	kvs.Notifier

	lost []string
}

func (*notified) PushSBNotification(...kvs.KVWithMetadata) error { return nil }

func (*notified) WaitForTransactions(context.Context) error { return nil }

func (n *notified) ReportLost(keys ...string) error {
	n.lost = append(n.lost, keys...)
	return nil
}

// simulator is one with a connection to it.
type simulator struct {
	*vppsim.VPP
	conn *binapi.Conn
}

// newWatcher returns a watcher of a new simulator, and a function that makes the interfaces
// known that are given with their indexes.
func newWatcher(t *testing.T, scheduler kvs.Notifier) (w *linkWatcher, sim simulator, know func(name string, swIfIndex uint32)) {
	t.Helper()
	vpp, socket := vppsim.New(vppsim.Options{}), filepath.Join(t.TempDir(), "api.sock")
	if err := vpp.ListenUnix(socket); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { vpp.Close() })
	conn, err := binapi.Dial(t.Context(), binapi.Options{Socket: socket})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	var holder session.Holder
	holder.Set(session.Session{Epoch: 1, Client: conn})
	store := idxmap.New[*ifaceidx.IfMeta]("vpp-interface")
	index, err := ifaceidx.New(store)
	if err != nil {
		t.Fatal(err)
	}
	w = &linkWatcher{
		calls: vppcalls.New(session.New(&holder)), scheduler: scheduler, index: index, log: logging.Nop(), states: newStates(time.Now),
		told: map[uint32]link{}, devices: map[uint32]string{}, changes: newChangedSet(), after: time.After,
	}
	return w, simulator{vpp, conn}, func(name string, swIfIndex uint32) {
		if err := store.Put(name, &ifaceidx.IfMeta{SwIfIndex: swIfIndex}); err != nil {
			t.Fatal(err)
		}
	}
}

// An interface that VPP had lost before it began to send events is reported: no event will
// report.
func TestLostBeforeEvents(t *testing.T) {
	t.Parallel()
	scheduler := &notified{}
	w, sim, know := newWatcher(t, scheduler)
	loop := &interfaces.CreateLoopbackReply{}
	err := sim.conn.Call(t.Context(), &interfaces.CreateLoopback{MacAddress: vppcalls.MAC{2, 0, 0, 0, 0, 1}}, loop)
	there := uint32(loop.SwIfIndex)
	if err == nil {
		err = w.calls.SetTag(t.Context(), there, "there")
	}
	if err != nil {
		t.Fatal(err)
	}
	know("there", there)
	know("gone", there+1)
	w.tellAll(t.Context())
	if want := []string{model.InterfaceModel.KeyFor("gone")}; !slices.Equal(scheduler.lost, want) {
		t.Errorf("reported as lost: %q, expected %q", scheduler.lost, want)
	}
}

// A change is read at once, and those that come one by one after it are read together.
func TestStormOfEvents(t *testing.T) {
	t.Parallel()
	w, sim, _ := newWatcher(t, &notified{})
	pauses, over := make(chan time.Duration), make(chan time.Time)
	w.after = func(d time.Duration) <-chan time.Time {
		pauses <- d
		return over
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.readChanges(ctx)
	}()
	step := func(what string, pause time.Duration, dumps uint64) {
		t.Helper()
		if got := <-pauses; got != pause {
			t.Errorf("%s: a pause of %v, expected %v", what, got, pause)
		}
		if got := sim.Counts()["sw_interface_dump"]; got != dumps {
			t.Errorf("%s: %d dumps, expected %d", what, got, dumps)
		}
	}
	w.changes.add(1)
	step("one event", shortestPause, 1)
	for index := range uint32(1000) {
		w.changes.add(index)
	}
	over <- time.Time{}
	step("a storm", 2*shortestPause, 2)
	w.changes.add(2)
	w.changes.add(2)
	over <- time.Time{}
	step("it continues", 4*shortestPause, 3)
	pause := longestPause
	for try := 0; pause != shortestPause && try < 1000; try++ {
		over <- time.Time{}
		for range try { // time to notice that nothing changed
			runtime.Gosched()
		}
		w.changes.add(3)
		pause = <-pauses
	}
	if pause != shortestPause {
		t.Errorf("after a pause without events: a pause of %v, expected %v", pause, shortestPause)
	}
	cancel()
	<-done
}
