package cli

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
)

const (
	// progressAfter is how long a request takes before its progress is shown.
	progressAfter = 2 * time.Second
	progressEvery = 500 * time.Millisecond
	clearLine     = "\r\x1b[K"
)

// progressing makes a request that may take long, and meanwhile shows on a terminal what the
// agent does.
func progressing[T any](ctx context.Context, a *app, request func() (T, error)) (T, error) {
	if !a.term.out {
		return request()
	}
	ctx, cancel := context.WithCancel(ctx)
	var shown sync.WaitGroup
	shown.Go(func() { a.showProgress(ctx) })
	answer, err := request()
	cancel()
	shown.Wait()
	return answer, err
}

func (a *app) showProgress(ctx context.Context) {
	var p pace
	for wait := progressAfter; ; wait = progressEvery {
		select {
		case <-ctx.Done():
			if wait != progressAfter {
				fmt.Fprint(a.Err, clearLine)
			}
			return
		case <-time.After(wait):
		}
		if q, err := a.client.Queue(ctx); err == nil && q.Running != nil && q.Running.Progress != nil {
			fmt.Fprint(a.Err, clearLine+p.text(q.Running.Progress, a.now()))
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
	text := progressText(now)
	seconds := at.Sub(p.begun).Seconds()
	if now.Done == p.done || seconds <= 0 {
		return text
	}
	rate := float64(now.Done-p.done) / seconds
	text += fmt.Sprintf(", %s/s", thousands(uint64(rate)))
	if now.Total > now.Done {
		left := time.Duration(float64(now.Total-now.Done) / rate * float64(time.Second))
		text += fmt.Sprintf(", %v left", left.Round(time.Second))
	}
	return text
}
