package nsplugin

import (
	"context"
	"errors"

	"github.com/tenuto-dev/tenuto/infra/holder"
)

// tryLock opens the session if no other agent with the same label holds Linux. Else the
// session is down; wait returns when that may have changed.
func (p *Plugin) tryLock(ctx context.Context) (wait func(context.Context), err error) {
	lock, wait, err := holder.TryLock(ctx, Southbound, p.Identity.Identity())
	if held := (*holder.HeldError)(nil); errors.As(err, &held) {
		return wait, err
	}
	if err != nil {
		p.Log.Warn("agents with the same label are not kept from the networking of Linux", "error", err)
	}
	p.mu.Lock()
	p.lock = lock
	p.mu.Unlock()
	p.open()
	return nil, nil
}

// waitForLock waits until the other agent ends, and opens the session. Nothing is read or
// changed meanwhile.
func (p *Plugin) waitForLock(ctx context.Context, wait func(context.Context), held error) {
	last := ""
	for held != nil {
		if reason := held.Error(); reason != last {
			last = reason
			p.Log.Error("another agent holds the networking of Linux; this one waits for its end", "error", held)
			p.Health.Degraded("Linux is not configured by this agent", held)
			p.Scheduler.SouthboundDown(Southbound, held)
		}
		wait(ctx)
		if ctx.Err() != nil {
			return
		}
		wait, held = p.tryLock(ctx)
	}
	p.Log.Info("the other agent has ended; the networking of Linux is held by this one")
	p.Health.OK("")
}
