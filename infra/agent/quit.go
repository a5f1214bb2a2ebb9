package agent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
)

// watch waits for a signal, the context or the quit channel and then requests a stop,
// until release is called. The quit channel is ignored until started is closed.
func (a *Agent) watch(started <-chan struct{}) (release func()) {
	signals := make(chan os.Signal, 2)
	if len(a.opts.signals) > 0 {
		signal.Notify(signals, a.opts.signals...)
	}
	end, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		done, quit := a.opts.context.Done(), (<-chan struct{})(nil)
		for {
			select {
			case s := <-signals:
				a.onSignal(s)
			case <-done:
				a.requestStop(fmt.Errorf("the context ended: %w", context.Cause(a.opts.context)))
				done = nil
			case <-started:
				started, quit = nil, a.opts.quit
			case <-quit:
				a.requestStop(errors.New("the quit channel was closed"))
				quit = nil
			case <-end:
				return
			}
		}
	}()
	return func() {
		signal.Stop(signals)
		close(end)
		<-ended
	}
}

func (a *Agent) onSignal(s os.Signal) {
	if a.quit.Err() == nil {
		a.requestStop(fmt.Errorf("signal %v", s))
		return
	}
	a.mu.Lock()
	current := a.current
	a.mu.Unlock()
	a.log.Warn("already stopping, waiting for a plugin; SIGKILL ends the process at once",
		"signal", s.String(), "waiting-for", current)
}
