package statuscheck_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/infra"
	"github.com/tenuto-dev/tenuto/infra/agent"
	"github.com/tenuto-dev/tenuto/infra/agent/agenttest"
	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/infra/health/statuscheck"
	"github.com/tenuto-dev/tenuto/infra/health/statuscheck/status"
	"github.com/tenuto-dev/tenuto/infra/kv/kvtest"
	"github.com/tenuto-dev/tenuto/infra/kv/publish"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// store is a data store in memory.
type store struct{ *kvtest.Memory }

func newStore(keys ...string) *store { return &store{kvtest.NewMemory(keys...)} }

// await waits until the published states read like this, without times.
func (s *store) await(t *testing.T, want ...string) {
	t.Helper()
	s.AwaitText(t, text, strings.Join(want, "\n"))
}

func text(values map[string]proto.Message) string {
	var lines []string
	for _, key := range slices.Sorted(maps.Keys(values)) {
		switch v := values[key].(type) {
		case *status.AgentStatus:
			var plugins []string
			for _, p := range v.Plugins {
				plugins = append(plugins, fmt.Sprintf("%s=%v", p.Name, p.State))
			}
			lines = append(lines, fmt.Sprintf("%s %v %s", key, v.State, strings.Join(plugins, ",")))
		case *status.PluginStatus:
			lines = append(lines, strings.TrimSpace(fmt.Sprintf("%s %v %s", key, v.State, v.Error)))
		default:
			lines = append(lines, key+" of another agent")
		}
	}
	return strings.Join(lines, "\n")
}

// part is a plugin that others may need.
type part struct {
	infra.PluginDeps
	Needs infra.Plugin `optional:"true"`
}

func (p *part) Init() error { return nil }

func newPart(name string, needs infra.Plugin) *part {
	p := &part{Needs: needs}
	p.SetName(name)
	return p
}

type label string

func (l label) GetAgentPrefix() string { return string(l) }

type nonFatal []string

func (n nonFatal) NonFatalPlugins() []string { return n }

func newPlugin(s *store, conf string) *statuscheck.Plugin {
	return statuscheck.NewPlugin(statuscheck.UseDeps(func(d *statuscheck.Deps) {
		d.Stores, d.Label, d.NonFatal, d.Cfg = []publish.Store{s}, label("/me/"), nonFatal{"extra"}, config.Text("status-check", conf)
	}))
}

func TestPublished(t *testing.T) {
	t.Parallel()
	s := newStore("/me/check/status/v1/plugin/left")
	vpp, extra := newPart("vpp", nil), newPart("extra", nil)
	user := newPart("user", vpp)
	a := agenttest.Start(t, newPlugin(s, "publishers: [memory]"), vpp, extra, user)
	const plugin = "/me/check/status/v1/plugin/"
	s.await(t, "/me/check/status/v1/agent OK extra=OK,status-check=OK,user=OK,vpp=OK",
		plugin+"extra OK", plugin+"status-check OK", plugin+"user OK", plugin+"vpp OK")

	// The state is the worst one, regardless of the order of reports, and names its cause.
	vpp.Health.Degraded("disconnected", errors.New("no such socket"))
	user.Health.Scope("items").Degraded("3 items wait", nil)
	extra.Health.Failed("no licence", nil)
	s.await(t, "/me/check/status/v1/agent ERROR extra=ERROR,status-check=OK,user=ERROR,vpp=ERROR",
		plugin+"extra ERROR no licence", plugin+"status-check OK",
		plugin+"user ERROR items: 3 items wait (caused by vpp)", plugin+"vpp ERROR disconnected: no such socket")
	vpp.Health.OK("connected")
	user.Health.Scope("items").OK("")
	s.await(t, "/me/check/status/v1/agent OK extra=ERROR,status-check=OK,user=OK,vpp=OK", // extra does not count
		plugin+"extra ERROR no licence", plugin+"status-check OK", plugin+"user OK", plugin+"vpp OK")
	user.Health.Close()
	s.await(t, "/me/check/status/v1/agent OK extra=ERROR,status-check=OK,vpp=OK",
		plugin+"extra ERROR no licence", plugin+"status-check OK", plugin+"vpp OK")
	if err := a.Stop(); err != nil {
		t.Error(err)
	}
}

// With publish-interval, what does not change is published again.
func TestPublishedAgain(t *testing.T) {
	t.Parallel()
	s := newStore()
	agenttest.Start(t, newPlugin(s, "publishers: [memory]\npublish-interval: 100ms"))
	first := int64(0)
	s.Await(func(values map[string]proto.Message) bool {
		now, _ := values["/me/check/status/v1/plugin/status-check"].(*status.PluginStatus)
		first = cmp.Or(first, now.GetLastUpdate())
		return now.GetLastUpdate() > first
	})
}

// By default only changes are written. A remark, or a report of what is known, is no change.
func TestIdleAgentWritesNothing(t *testing.T) {
	t.Parallel()
	s := newStore()
	vpp, disk := newPart("vpp", nil), newPart("disk", nil)
	p := newPlugin(s, "publishers: [memory]\nprobe-interval: 100ms")
	agenttest.Start(t, p, vpp, disk)
	const plugin = "/me/check/status/v1/plugin/"
	s.await(t, "/me/check/status/v1/agent OK disk=OK,status-check=OK,vpp=OK", plugin+"disk OK", plugin+"status-check OK", plugin+"vpp OK")
	before, asked := s.Writes(), make(chan struct{})
	p.Probe(disk.Health, func(ctx context.Context) error {
		disk.Health.OK(fmt.Sprintf("checked at %v", time.Now()))
		select {
		case asked <- struct{}{}:
		case <-ctx.Done():
		}
		return nil
	})
	for range 5 {
		<-asked
	}
	vpp.Health.Degraded("disconnected", nil)
	s.await(t, "/me/check/status/v1/agent ERROR disk=OK,status-check=OK,vpp=ERROR",
		plugin+"disk OK", plugin+"status-check OK", plugin+"vpp ERROR disconnected")
	if n := s.Writes() - before; n != 2 { // vpp and the agent
		t.Errorf("%d writes, expected 2", n)
	}
}

func TestProbes(t *testing.T) {
	t.Parallel()
	s := newStore()
	p, disk := newPlugin(s, "publishers: [memory]\nprobe-interval: 100ms"), newPart("disk", nil)
	var mu sync.Mutex
	var answer error
	say := func(err error) {
		mu.Lock()
		defer mu.Unlock()
		answer = err
	}
	agenttest.Start(t, p, disk)
	p.Probe(disk.Health.Scope("space"), func(context.Context) error {
		mu.Lock()
		defer mu.Unlock()
		return answer
	})
	p.Probe(disk.Health.Scope("slow"), func(ctx context.Context) error { // does not delay others
		<-ctx.Done()
		return nil
	})
	is := func(agent, text string) {
		t.Helper()
		s.await(t, "/me/check/status/v1/agent "+agent+" disk="+agent+",status-check=OK",
			strings.TrimSpace("/me/check/status/v1/plugin/disk "+agent+" "+text), "/me/check/status/v1/plugin/status-check OK")
	}
	is("OK", "")
	say(errors.New("nearly full"))
	is("ERROR", "space: probe: nearly full")
	say(fmt.Errorf("full: %w", statuscheck.ErrFailed))
	is("ERROR", "space: probe: full: an operator has to act")
	say(nil)
	is("OK", "")
}

// Without a list, health goes to the default stores that are configured.
func TestDefaultPublishers(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{"": true, "publishers: []": false, "publishers: [memory]": true} {
		s := newStore()
		p := newPlugin(s, text)
		p.Default = []publish.Store{disabled{newStore()}, s}
		agenttest.Start(t, p)
		if !want {
			s.await(t)
			continue
		}
		s.await(t, "/me/check/status/v1/agent OK status-check=OK", "/me/check/status/v1/plugin/status-check OK")
	}
}

// disabled is a store that is not configured.
type disabled struct{ *store }

func (disabled) Disabled() bool { return true }

func TestConfiguration(t *testing.T) {
	t.Parallel()
	if err := config.Lint(statuscheck.DefaultConfig()); err != nil {
		t.Error(err)
	}
	for text, want := range map[string]string{
		"":                     "",
		"publishers: [memory]": "",
		"publishers: [etcd]":   `publishers[0]: "etcd" is not a data store of this agent, expected one of ["memory"]`,
		"publish-interval: 0":  "",
		"publish-interval: 1":  "publish-interval",
		"probe-interval: 1ms":  "probe-interval",
		"publisher: x":         "publishers",
	} {
		err := agenttest.New(t, agent.AllPlugins(newPlugin(newStore(), text))).Start(t.Context())
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	var p statuscheck.Plugin
	if err := p.Init(); err == nil || !strings.Contains(err.Error(), "needs an agent") {
		t.Errorf("without an agent: %v", err)
	}
}
