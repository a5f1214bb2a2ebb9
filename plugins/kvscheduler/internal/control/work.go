package control

import (
	"context"
	"fmt"
	"runtime/debug"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/registry"
)

// exitError is the error of what a function of a descriptor ended by runtime.Goexit.
// It is for deferred functions.
func exitError() error {
	return fmt.Errorf("a function of a descriptor called runtime.Goexit%s and ended the worker of the scheduler; the log has the stack", registry.Origin())
}

// work executes first, if there is one, and what is queued, in a goroutine of its own,
// the worker. If a pure function ends that by runtime.Goexit, another one has to go on,
// with what is left: the job, if nothing of it was executed. Asked again the function
// is known for what it is, and the failure is that of its value.
func (c *Control) work(ctx context.Context, first *job) (left *job, again bool) {
	done := make(chan struct{})
	again = true
	j := first
	go func() {
		defer close(done)
		defer func() {
			if again {
				left = c.exited(j, exitError())
			}
		}()
		if j == nil {
			j = c.queue.pop(ctx)
		}
		for ; j != nil; j = c.queue.pop(ctx) {
			c.do(j)
		}
		again = false
	}()
	<-done
	return left, again
}

// exited is called by a worker that ends before its time. It returns the job if that
// is to be begun anew, and otherwise tells that it failed.
func (c *Control) exited(j *job, err error) (left *job) {
	if j.exits == 0 {
		c.log.Error("the worker was ended, another one goes on", "error", err, "stack", string(debug.Stack()))
	}
	// Every descriptor does that once at most, selectors of dependencies aside.
	if j.exits++; !j.begun && j.call == nil && j.exits <= len(c.registry.Load().All()) {
		return j
	}
	if j.done != nil {
		select {
		case j.done <- outcome{api.NoSeqNum, api.NewTransactionError(err, nil, false)}:
		default: // it was told already
		}
	}
	return nil
}
