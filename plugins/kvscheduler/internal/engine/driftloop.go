package engine

import (
	"context"
	"time"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
)

// DriftOptions configure the periodic detection of drift.
type DriftOptions struct {
	// Interval is the time from the end of a detection to the start of the next.
	Interval time.Duration
	// Repair reports whether to repair a drift; nil disables repairs. A value that
	// drifts again right after its repair is repaired after 1, 2, 4, ... up to 64
	// detections, which slows down a conflict with another owner of the value.
	Repair func(d *api.Drift) bool
}

// periodically is Engine.DetectPeriodically.
func (dd *driftDetector) periodically(ctx context.Context, opts DriftOptions) {
	p, told := pacing{}, driftLog{}
	for dd.sleep(ctx, opts.Interval) {
		report, err := dd.DetectDrift(ctx)
		if err != nil {
			return
		}
		told.tell(dd.log, report)
		var repair []api.Drift
		for i := range report.Drifts {
			if opts.Repair != nil && opts.Repair(&report.Drifts[i]) {
				repair = append(repair, report.Drifts[i])
			}
		}
		if repair = p.due(repair); len(repair) > 0 {
			_, err := dd.RepairDrift(ctx, repair, api.WithRetryDefault())
			if err != nil && ctx.Err() == nil {
				dd.log.Warn("drift was not repaired", "error", err)
			}
			told.repaired(repair)
		}
	}
}

// sleep waits for d. It returns false if the context ended.
func (dd *driftDetector) sleep(ctx context.Context, d time.Duration) bool {
	over := make(chan struct{})
	stop := dd.clock.AfterFunc(d, func() { close(over) })
	select {
	case <-over:
		return ctx.Err() == nil
	case <-ctx.Done():
		stop()
		return false
	}
}

// pacing delays the repairs of values that drift repeatedly.
type pacing map[string]pace

type pace struct {
	repairs int // since the last detection without drift of the value
	wait    int // detections until the next repair
}

// due returns the drifts to repair now.
func (p pacing) due(drifts []api.Drift) (now []api.Drift) {
	const limit = 6
	drifting := make(map[string]bool, len(drifts))
	for i := range drifts {
		key := drifts[i].Key
		drifting[key] = true
		this := p[key]
		if this.wait > 0 {
			this.wait--
		} else {
			now = append(now, drifts[i])
			this.wait = 1<<min(this.repairs, limit) - 1
			this.repairs++
		}
		p[key] = this
	}
	for key := range p {
		if !drifting[key] {
			delete(p, key)
		}
	}
	return now
}
