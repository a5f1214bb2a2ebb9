package agenttest_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tenuto-dev/tenuto/infra"
	"github.com/tenuto-dev/tenuto/infra/agent/agenttest"
)

// sloppy leaks a goroutine.
type sloppy struct {
	infra.PluginDeps
	wake chan struct{}
}

func (s *sloppy) Init() error {
	wake := s.wake
	go func() { <-wake }()
	s.Go(func(ctx context.Context) { <-ctx.Done() }) // this one is fine
	return nil
}

// spy is a test that notes its errors.
type spy struct {
	testing.TB
	errors []string
}

func (s *spy) Helper() {}
func (s *spy) Errorf(format string, args ...any) {
	s.errors = append(s.errors, fmt.Sprintf(format, args...))
}

func TestLeaksAreSeenAndNamed(t *testing.T) {
	t.Parallel()
	p := &sloppy{wake: make(chan struct{})}
	p.SetName("sloppy")
	other := agenttest.Start(t) // an agent beside it is not blamed
	a := agenttest.Start(t, p)
	if err := a.Stop(); err != nil {
		t.Fatal(err)
	}
	s := &spy{TB: t}
	agenttest.CheckLeaks(s, other)
	if len(s.errors) > 0 {
		t.Errorf("blamed the other agent: %q", s.errors)
	}
	agenttest.CheckLeaksWithin(s, a, 10*time.Millisecond)
	if len(s.errors) != 1 || !strings.Contains(s.errors[0], `"plugin":"sloppy"`) || !strings.Contains(s.errors[0], "(*sloppy).Init") {
		t.Errorf("got %q", s.errors)
	}
	close(p.wake) // the check at the end of this test finds nothing
}

func TestStartGivesALoggerAndNoEnvironment(t *testing.T) {
	t.Setenv("INITIAL_LOGLVL", "nonsense") // would fail the start of an agent outside tests
	p := &sloppy{wake: make(chan struct{})}
	p.SetName("p")
	defer close(p.wake)
	a := agenttest.Start(t, p)
	if p.Log == nil || a.Error() != nil {
		t.Error(p.Log, a.Error())
	}
}
