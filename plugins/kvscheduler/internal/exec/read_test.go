package exec_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/exec"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/registry"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest"
)

// bubbleClock is the clock of a synctest bubble.
type bubbleClock struct{}

func (bubbleClock) Now() time.Time { return time.Now() }
func (bubbleClock) AfterFunc(d time.Duration, f func()) func() bool {
	return time.AfterFunc(d, f).Stop
}

// TestReadProgress checks that a Retrieve may exceed the time limit while records arrive,
// and is given up when none has arrived for that time.
func TestReadProgress(t *testing.T) {
	for _, test := range []struct {
		name string
		// gap is the time between two of ten records.
		gap  time.Duration
		late bool
	}{
		{"records arrive", 9 * time.Second, false},
		{"VPP sends nothing", 31 * time.Second, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const limit = 10 * time.Second
				o := exec.NewOverdue(bubbleClock{}, limit, func(exec.Call) {})
				var records atomic.Uint64
				o.Records = records.Load
				err := o.Read(&registry.Descriptor{KVDescriptor: &api.KVDescriptor{Name: "vpp-route"}}, "", func(context.Context) error {
					for range 10 {
						time.Sleep(test.gap)
						records.Add(1)
					}
					return nil
				})
				if late := errors.Is(err, api.ErrCallbackTimeout); late != test.late {
					t.Errorf("Retrieve returned %v, expected a timeout: %v", err, test.late)
				}
				time.Sleep(time.Hour) // the Retrieve returns
			})
		})
	}
}

// The context of an engine may end while the engine stops: Close then comes after End, and
// starts no timer that nothing would stop.
func TestCloseAfterEnd(t *testing.T) {
	t.Parallel()
	clock := kvstest.NewClock()
	o := exec.NewOverdue(clock, time.Minute, func(exec.Call) {})
	o.End()
	o.Close()
	if n := clock.Pending(); n != 0 {
		t.Errorf("%d timers, want none", n)
	}
}
