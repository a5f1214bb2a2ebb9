package agent_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/tenuto-dev/tenuto/infra"
	"github.com/tenuto-dev/tenuto/infra/agent"
	"github.com/tenuto-dev/tenuto/infra/agent/agenttest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// diary notes the callbacks of the plugins of one test.
type diary struct {
	mu      sync.Mutex
	entries []string
}

func (d *diary) note(format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.entries = append(d.entries, fmt.Sprintf(format, args...))
}

func (d *diary) expect(t *testing.T, want ...string) {
	t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	if !slices.Equal(d.entries, want) {
		t.Errorf("callbacks\n got %q\nwant %q", d.entries, want)
	}
}

type greeter interface{ Hello() }

type polite struct{}

func (polite) Hello() {}

// Deps of a fake: as many as a test needs.
type Deps struct {
	infra.PluginDeps
	Svc  greeter
	A, B infra.Plugin   `optional:"true"`
	More []infra.Plugin `optional:"true"`
}

// fake is a plugin whose callbacks can be given.
type fake struct {
	Deps
	diary              *diary
	init, after, close func(*fake) error
}

func (d *diary) plugin(name string, needs ...infra.Plugin) *fake {
	f := &fake{diary: d}
	f.SetName(name)
	f.More, f.Svc = needs, polite{}
	return f
}

func (f *fake) call(phase string, hook func(*fake) error) error {
	f.diary.note("%s %s", phase, f)
	if hook == nil {
		return nil
	}
	return hook(f)
}

func (f *fake) Init() error      { return f.call("init", f.init) }
func (f *fake) AfterInit() error { return f.call("after", f.after) }
func (f *fake) Close() error     { return f.call("close", f.close) }

// bare has only what Plugin demands.
type bare struct{ name string }

func (b *bare) Init() error    { return nil }
func (b *bare) Close() error   { return nil }
func (b *bare) String() string { return b.name }

// listen returns an option that collects events, and a function to get them.
func listen() (agent.Option, func() []agent.Event) {
	var mu sync.Mutex
	var all []agent.Event
	option := agent.Events(func(e agent.Event) {
		mu.Lock()
		defer mu.Unlock()
		all = append(all, e)
	})
	return option, func() []agent.Event {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(all)
	}
}

func newAgent(t *testing.T, opts ...agent.Option) *agent.Agent {
	t.Helper()
	return agenttest.New(t, opts...)
}

func describe(e agent.Event) string { return fmt.Sprintf("%T%+v", e, e) }
