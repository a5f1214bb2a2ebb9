package statuscheck

import (
	"context"
	"errors"
	"time"

	"github.com/tenuto-dev/tenuto/infra/health"
)

// ErrFailed marks the error of a probe that requires an operator to act.
var ErrFailed = errors.New("an operator has to act")

// Probe checks the health of something: nil means healthy, an error degraded,
// and an error that wraps ErrFailed failed.
type Probe func(ctx context.Context) error

type probe struct {
	to  health.Reporter
	ask Probe
}

// Probe calls a probe every probe-interval, from AfterInit until the plugin is
// closed, and reports its result. The context of a call ends after one
// interval. Each probe has its own goroutine, so a slow probe does not delay
// others.
//
//	p.StatusCheck.Probe(p.Health.Scope("disk"), p.checkDisk)
func (p *Plugin) Probe(to health.Reporter, ask Probe) {
	p.mu.Lock()
	defer p.mu.Unlock()
	pr := probe{to, ask}
	if !p.begun {
		p.probes = append(p.probes, pr)
		return
	}
	p.Go(func(ctx context.Context) { p.ask(ctx, pr) })
}

// ask calls a probe until ctx ends.
func (p *Plugin) ask(ctx context.Context, pr probe) {
	tick := time.NewTicker(p.cfg.ProbeInterval)
	defer tick.Stop()
	var notYet *starting
	for {
		err := p.askOnce(ctx, pr.ask)
		switch {
		case ctx.Err() != nil:
			return
		case errors.As(err, &notYet):
			pr.to.Starting(notYet.Error())
		case err == nil:
			pr.to.OK("")
		case errors.Is(err, ErrFailed):
			pr.to.Failed("probe", err)
		default:
			pr.to.Degraded("probe", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (p *Plugin) askOnce(ctx context.Context, ask Probe) error {
	ctx, cancel := context.WithTimeout(ctx, p.cfg.ProbeInterval)
	defer cancel()
	return ask(ctx)
}
