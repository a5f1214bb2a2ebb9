package vpptest_test

import (
	"strings"
	"testing"
	"time"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim"
	l3model "github.com/tenuto-dev/tenuto/plugins/vpp/l3plugin/model"
	"github.com/tenuto-dev/tenuto/plugins/vpp/vpptest"
	l3 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l3"
)

// dieOf makes VPP die 0.2 s after something exists in it, each time, and start again. It returns
// how often that happened, when the test is over.
func dieOf(t *testing.T, target vpptest.Target, what string) (deaths func() int) {
	t.Helper()
	stop, count := make(chan struct{}), make(chan int, 1)
	go func() {
		n := 0
		defer func() { count <- n }()
		for tick := time.NewTicker(5 * time.Millisecond); ; {
			select {
			case <-stop:
				return
			case <-tick.C:
			}
			if !strings.Contains(target.Sim.Dump(), what) {
				continue
			}
			select {
			case <-stop:
				return
			case <-time.After(200 * time.Millisecond):
			}
			n++
			if err := target.Sim.Restart(); err != nil {
				t.Errorf("restart: %v", err)
				return
			}
		}
	}()
	return func() int { close(stop); return <-count }
}

// VPP dies 0.2 s after an ARP entry exists, with all requests answered. The entry is found and put
// into quarantine, and everything else is there. Without the fault it can be released.
func TestDiesLaterOfAnItem(t *testing.T) {
	t.Parallel()
	target := vpptest.Simulator(t, vppsim.Options{})
	deaths := dieOf(t, target, "02:00:00:00:de:ad")
	b := vpptest.Start(t, target, vpptest.SearchDeaths())
	wanted := network()
	culprit := &l3.ARPEntry{Interface: "lo", IpAddress: "10.1.1.3", PhysAddress: "02:00:00:00:de:ad", Static: true}
	_ = b.Commit(wanted) // it has nothing that is deadly
	_ = b.Commit(of(culprit))
	key := l3model.ARPModel.Key(culprit)
	b.Await(key, failed)
	for other := range wanted {
		b.AwaitWhole(other)
	}
	await(t, "the end of the search", func() bool {
		suspects := b.Scheduler.Suspects()
		return len(suspects) == 1 && suspects[0].Key == key && suspects[0].Quarantined
	})
	if text := b.Scheduler.GetValueStatus(key).GetValue().GetError(); !strings.Contains(text, "soon after it was applied") {
		t.Errorf("the error is %q", text)
	}
	<-time.After(time.Second) // it would die again within this
	if n := deaths(); n > 12 {
		t.Errorf("it took %d deaths", n)
	}
	allConfigured(t, b, wanted)
	if err := b.Scheduler.ReleaseQuarantined(t.Context(), key); err != nil {
		t.Fatal(err)
	}
	b.Await(key, configured)
	b.InSync()
}
