package cmdutil

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/output"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
)

const (
	// progressAfter is how long a request takes before its progress is shown.
	progressAfter = 2 * time.Second
	progressEvery = 500 * time.Millisecond
	clearLine     = "\r\x1b[K"
)

// Progressing makes a request that may take long, and meanwhile shows on a terminal what the
// agent does.
func Progressing[T any](ctx context.Context, f *Factory, request func() (T, error)) (T, error) {
	if !f.Term.Out {
		return request()
	}
	ctx, cancel := context.WithCancel(ctx)
	var shown sync.WaitGroup
	shown.Go(func() { f.showProgress(ctx) })
	answer, err := request()
	cancel()
	shown.Wait()
	return answer, err
}

func (f *Factory) showProgress(ctx context.Context) {
	var p pace
	for wait := progressAfter; ; wait = progressEvery {
		select {
		case <-ctx.Done():
			if wait != progressAfter {
				fmt.Fprint(f.Err, clearLine)
			}
			return
		case <-time.After(wait):
		}
		if q, err := f.Client.Scheduler.Queue(ctx); err == nil && q.Running != nil && q.Running.Progress != nil {
			fmt.Fprint(f.Err, clearLine+p.text(q.Running.Progress, f.Now()))
		}
	}
}

// pace computes the rate of a phase from its progress.
type pace struct {
	phase string
	begun time.Time
	done  uint64 // at that time
}

// text returns "executing 1,200/1,000,000 operations, 3,400/s, 4m53s left".
func (p *pace) text(now *api.Progress, at time.Time) string {
	if phase := now.Phase + now.Descriptor; phase != p.phase || now.Done < p.done {
		*p = pace{phase, at, now.Done}
	}
	text := ProgressText(now)
	seconds := at.Sub(p.begun).Seconds()
	if now.Done == p.done || seconds <= 0 {
		return text
	}
	rate := float64(now.Done-p.done) / seconds
	text += fmt.Sprintf(", %s/s", output.Thousands(uint64(rate)))
	if now.Total > now.Done {
		left := time.Duration(float64(now.Total-now.Done) / rate * float64(time.Second))
		text += fmt.Sprintf(", %v left", left.Round(time.Second))
	}
	return text
}

// ProgressText returns "retrieving vpp-route 620,000" or "executing
// 1,200/1,000,000 operations".
func ProgressText(p *api.Progress) string {
	text := p.Phase
	if p.Descriptor != "" {
		text += " " + p.Descriptor
	}
	switch {
	case p.Total > 0:
		text += fmt.Sprintf(" %s/%s operations", output.Thousands(p.Done), output.Thousands(p.Total))
	case p.Done > 0:
		text += " " + output.Thousands(p.Done)
	}
	return text
}
