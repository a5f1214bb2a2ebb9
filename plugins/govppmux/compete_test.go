package govppmux

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tenuto-dev/tenuto/infra/agent/agenttest"
	"github.com/tenuto-dev/tenuto/infra/holder"
	"github.com/tenuto-dev/tenuto/plugins/govppmux/realvpptest"
	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim"
)

// known is an agent as its plugins know it.
type known holder.Identity

func (k known) Identity() holder.Identity { return holder.Identity(k) }

// rival runs the plugin in an agent that shares its VPP.
func rival(tb testing.TB, path, label string, pid int) (p *Plugin, stop func() error) {
	tb.Helper()
	cfg := DefaultConfig()
	cfg.BinAPISocketPath = path
	cfg.RetryConnectTimeout = 20 * time.Millisecond
	cfg.HealthCheckProbeInterval = 0
	cfg.ReplyTimeout = time.Minute // the machine may be busy
	p = NewPlugin(UseConf(cfg), UseDeps(func(d *Deps) {
		d.Identity = known(agentOf(label, pid, time.Date(2026, 11, 23, 1, 2, pid, 0, time.UTC)))
	}))
	return p, agenttest.Start(tb, p).Stop
}

// onSharedVPP runs a test on the simulator and on a real VPP.
func onSharedVPP(t *testing.T, test func(t *testing.T, path string)) {
	t.Run("simulator", func(t *testing.T) {
		t.Parallel()
		path := socket(t)
		vpp := vppsim.New(vppsim.Options{})
		if err := vpp.ListenUnix(path); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = vpp.Close() })
		test(t, path)
	})
	t.Run("VPP", func(t *testing.T) {
		t.Parallel()
		test(t, realvpptest.Start(t).Socket)
	})
}

// held waits until a plugin has yielded to another agent.
func held(tb testing.TB, p *Plugin) *holder.HeldError {
	tb.Helper()
	for {
		s, changed := p.state.get()
		var held *holder.HeldError
		if errors.As(s.Err, &held) {
			return held
		}
		select {
		case <-changed:
		case <-patient(tb).Done():
			tb.Fatalf("it holds VPP: %+v", s)
		}
	}
}

// Of agents with the same label one has VPP, and the next one when it ends. Agents with
// other labels are not affected.
func TestOneAgentHoldsVPP(t *testing.T) {
	t.Parallel()
	onSharedVPP(t, func(t *testing.T, path string) {
		first, stop := rival(t, path, "vpp1", 5)
		session(t, first, 0)
		second, _ := rival(t, path, "vpp1", 2) // was started earlier, and connects later
		const want = `label "vpp1" is held by vpp-agent pid 5 since 2026-11-23T01:02:05Z: stop it, or start this agent with another --microservice-label`
		if got := held(t, second).Error(); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
		if _, err := second.RunCLI(t.Context(), "show version"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("a command of the second agent: %v", err)
		}
		other, _ := rival(t, path, "vpp2", 3)
		session(t, other, 0)
		if !first.Session().Up || second.Session().Up {
			t.Error("the second agent took VPP")
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
		session(t, second, 0)
	})
}

// holders counts the agents that have VPP.
type holders struct {
	mu      sync.Mutex
	up      map[int]bool
	most    int
	changed chan int // the agent that has it
}

func (h *holders) watch(p *Plugin, pid int) {
	p.OnSession(func(s Session) {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.up, pid)
		if s.Up {
			h.up[pid] = true
			h.most = max(h.most, len(h.up))
			h.changed <- pid
		}
	})
}

// Agents that connect at the same time get VPP one after the other.
func TestAgentsCompeteForVPP(t *testing.T) {
	t.Parallel()
	onSharedVPP(t, func(t *testing.T, path string) {
		const agents = 6
		h := &holders{up: map[int]bool{}, changed: make(chan int, 1000)}
		stops := map[int]func() error{}
		var mu sync.Mutex
		var begun sync.WaitGroup
		for pid := 1; pid <= agents; pid++ {
			begun.Go(func() {
				p, stop := rival(t, path, "vpp1", pid)
				mu.Lock()
				defer mu.Unlock()
				stops[pid] = stop
				h.watch(p, pid)
			})
		}
		begun.Wait()
		for range agents {
			pid := <-h.changed
			h.mu.Lock()
			delete(h.up, pid) // the next one may have VPP before the stop of this one returns
			h.mu.Unlock()
			if err := stops[pid](); err != nil {
				t.Error(err)
			}
		}
		if h.most != 1 {
			t.Errorf("%d agents had VPP at once", h.most)
		}
	})
}

// The agent that has VPP reconnects, and is not its own rival.
func TestHolderReconnects(t *testing.T) {
	t.Parallel()
	path := socket(t)
	vpp := vppsim.New(vppsim.Options{})
	if err := vpp.ListenUnix(path); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = vpp.Close() })
	p, _ := rival(t, path, "vpp1", 1)
	s := session(t, p, 0)
	vpp.Disconnect()
	session(t, p, s.Epoch)
}

// A VPP that does not say who its clients are is used all the same.
func TestVPPThatDoesNotListClients(t *testing.T) {
	t.Parallel()
	path := socket(t)
	simulator(t, path)
	for pid := range 2 {
		p, _ := rival(t, path, "vpp1", pid+1)
		session(t, p, 0)
	}
}

// The name of a connection is what its owner claims, and the list has it whole.
func TestShowAPIClients(t *testing.T) {
	t.Parallel()
	onSharedVPP(t, func(t *testing.T, path string) {
		p, _ := rival(t, path, strings.Repeat("long-label", 30), 4)
		session(t, p, 0)
		out, err := p.RunCLI(t.Context(), "show api clients")
		name := claimOf(holds, p.Identity.Identity()).name()
		if err != nil || !strings.HasPrefix(out, "Socket clients\n                Name  Fildesc\n") || !strings.Contains(out, fmt.Sprintf("%20s ", name)) {
			t.Errorf("%v\n%s", err, out)
		}
	})
}
