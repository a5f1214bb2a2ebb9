package app_test

import (
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/realvpptest"
	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	pb "github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
)

// bridged is a network with what a second agent used to delete.
const bridged = network + `
  bridgeDomains:
  - {name: bd1, learn: true, interfaces: [{name: loop2}]}
`

// sharedVPP runs a test on the simulator and on a real VPP, which it can describe.
func sharedVPP(t *testing.T, test func(t *testing.T, socket string)) {
	t.Run("simulator", func(t *testing.T) {
		t.Parallel()
		socket := filepath.Join(t.TempDir(), "api.sock")
		vpp := vppsim.New(vppsim.Options{})
		if err := vpp.ListenUnix(socket); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = vpp.Close() })
		test(t, socket)
	})
	t.Run("VPP", func(t *testing.T) {
		t.Parallel()
		test(t, realvpptest.Start(t).Socket)
	})
}

// of makes an agent of a VPP with a label.
func of(t *testing.T, socket, label, text string, args ...string) *house {
	t.Helper()
	h := newHouse(t, text, append([]string{"--microservice-label", label}, args...)...)
	h.vpp(t, "binapi-socket-path: "+socket+"\nretry-connect-timeout: 50ms\n")
	h.start(t)
	return h
}

// describe is what VPP has.
func describe(t *testing.T, h *house) string {
	t.Helper()
	var all strings.Builder
	for _, cmd := range []string{"show interface", "show interface address", "show bridge-domain", "show ip fib"} {
		out, err := h.GoVPP.RunCLI(t.Context(), cmd)
		if err != nil && cmd != "show interface address" { // the simulator does not know it
			t.Fatal(err)
		}
		all.WriteString(out)
	}
	return all.String()
}

// A second agent with the same label and nothing to configure, on the same VPP, changes
// nothing, also when it takes over. What it finds is removed on request only.
func TestSecondAgentOnTheSameVPP(t *testing.T) {
	t.Parallel()
	sharedVPP(t, func(t *testing.T, socket string) {
		first := of(t, socket, "vpp1", bridged)
		first.await(t, routeKey, pb.ValueState_CONFIGURED)
		first.await(t, bdKey, pb.ValueState_CONFIGURED)
		before := describe(t, first)

		second := of(t, socket, "vpp1", strings.ReplaceAll(network, "loop1", "loop9"))
		second.awaitReadiness(t, http.StatusServiceUnavailable, `label \"vpp1\" is held by vpp-agent pid`)
		status := second.await(t, "config/vpp/v2/interfaces/loop9", pb.ValueState_PENDING)
		if text := strings.Join(status.GetDetails(), " "); !strings.Contains(text, `vpp: label "vpp1" is held by vpp-agent pid`) ||
			!strings.Contains(text, "stop it, or start this agent with another --microservice-label") {
			t.Errorf("status: %v", status)
		}
		if err := second.agent.Stop(); err != nil {
			t.Fatal(err)
		}
		if after := describe(t, first); after != before {
			t.Errorf("the second agent made of\n%s\n%s", before, after)
		}

		third := of(t, socket, "vpp1", "")
		third.awaitReadiness(t, http.StatusServiceUnavailable, "is held by")
		if err := first.agent.Stop(); err != nil {
			t.Fatal(err)
		}
		third.awaitReadiness(t, http.StatusOK, "connected to")
		third.awaitSession(t)
		third.resync(t)
		if after := describe(t, third); after != before {
			t.Errorf("the third agent made of\n%s\n%s", before, after)
		}
		var marked []string
		for _, o := range third.Scheduler.Orphans() {
			if o.Marked && !o.Ours {
				marked = append(marked, o.Key)
			}
		}
		if got, want := strings.Join(marked, " "), bdKey+" "+loopKey; got != want {
			t.Errorf("marked orphans %s, expected %s", got, want)
		}
		if _, err := third.Scheduler.RemoveOrphans(t.Context(), marked); err != nil {
			t.Error(err)
		}
		if after := describe(t, third); strings.Contains(after, "loop0") {
			t.Errorf("left behind:\n%s", after)
		}
	})
}

// Agents with different labels on one VPP do not touch each other's work.
func TestAgentsWithDifferentLabelsOnOneVPP(t *testing.T) {
	t.Parallel()
	sharedVPP(t, func(t *testing.T, socket string) {
		one := of(t, socket, "one", bridged)
		one.await(t, routeKey, pb.ValueState_CONFIGURED)
		two := of(t, socket, "two", strings.ReplaceAll(strings.ReplaceAll(strings.ReplaceAll(network, "loop1", "loop9"), "10.", "11."), ":01", ":09"))
		two.await(t, "config/vpp/v2/interfaces/loop9", pb.ValueState_CONFIGURED)
		before := describe(t, one)
		one.resync(t)
		two.resync(t)
		if after := describe(t, one); after != before {
			t.Errorf("resyncs made of\n%s\n%s", before, after)
		}
		for _, key := range []string{loopKey, routeKey, bdKey} {
			one.await(t, key, pb.ValueState_CONFIGURED)
		}
	})
}

// A changed configuration and a restart: what is on record goes, in a state-dir or of
// this process; without a record it stays.
func TestLeftoversOfAnEarlierRun(t *testing.T) {
	t.Parallel()
	sharedVPP(t, func(t *testing.T, socket string) {
		for _, keeps := range []bool{true, false} {
			var args []string
			if keeps {
				args = []string{"--state-dir", t.TempDir()}
			}
			first := of(t, socket, "vpp1", bridged, args...)
			first.await(t, routeKey, pb.ValueState_CONFIGURED)
			if err := first.agent.Stop(); err != nil {
				t.Fatal(err)
			}
			second := of(t, socket, "vpp1", "{}", args...) // an empty text could be an accident
			second.awaitReadiness(t, http.StatusOK, "connected to")
			second.awaitSession(t)
			second.resync(t)
			left := strings.Contains(describe(t, second), "loop0")
			listed := 0
			for _, o := range second.Scheduler.Orphans() {
				if o.Ours || o.Marked {
					listed++
				}
			}
			if left == keeps || (listed == 0) != keeps {
				t.Errorf("state-dir %v: left behind %v, %d orphans", keeps, left, listed)
			}
			if err := second.agent.Stop(); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// resync reads VPP again.
// awaitSession waits until the scheduler has read VPP. Health reports the connection
// before that.
func (h *house) awaitSession(t *testing.T) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	read := func(txn *api.RecordedTxn) bool { return strings.HasPrefix(txn.Description, "southbound vpp is up") }
	for late := time.After(patience); !slices.ContainsFunc(h.Scheduler.GetTransactionHistory(time.Time{}, time.Time{}), read); {
		select {
		case <-tick.C:
		case <-late:
			t.Fatal("the scheduler did not read VPP")
		}
	}
}

func (h *house) resync(t *testing.T) {
	t.Helper()
	if _, err := h.Scheduler.StartNBTransaction().Commit(t.Context(), api.WithResync(api.DownstreamResync, false)); err != nil {
		t.Fatal(err)
	}
}
