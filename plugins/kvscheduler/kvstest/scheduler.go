package kvstest

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/engine"
)

// NewScheduler starts a scheduler without an agent around it, on the clock
// given (nil: the real time), with a full history, repeatable jitter and 30
// seconds for callbacks. It is
// stopped when the test ends, or by stop.
func NewScheduler(t testing.TB, clock *Clock) (s api.KVScheduler, stop func()) {
	t.Helper()
	return newScheduler(t, &Env{Clock: clock})
}

func newScheduler(t testing.TB, env *Env) (s api.KVScheduler, stop func()) {
	t.Helper()
	opts := engine.Options{Rand: rand.New(rand.NewPCG(1, 2)), Record: true, CallbackTimeout: 30 * time.Second, QuarantineAfter: 3}
	if env.Clock != nil {
		opts.Clock = env.Clock
	}
	if env.policies != nil {
		opts.Policies = env.policies.of
	}
	if env.journal != nil {
		opts.Journal = env.journal
	}
	c := engine.New(opts)
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { c.Run(ctx) })
	stop = sync.OnceFunc(func() {
		cancel()
		wg.Wait()
	})
	t.Cleanup(stop)
	return c, stop
}
