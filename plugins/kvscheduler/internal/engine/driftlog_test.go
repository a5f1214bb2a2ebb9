package engine_test

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenuto-dev/tenuto/infra/infratest"
	"github.com/tenuto-dev/tenuto/infra/logging"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/engine"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest/model"
)

// A drift is logged when it appears, when it becomes another one, when it is back
// after a repair and when it ends, and not at each detection.
func TestDriftIsLoggedOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		sb := kvstest.NewMockSB()
		var out infratest.Buffer
		c := engine.New(engine.Options{Log: logging.NewRegistry(logging.WithWriter(&out), logging.WithColours(false)).PluginLogger("s")})
		if err := c.RegisterKVDescriptor(sb.Descriptor("tap", "tap/"), sb.Descriptor("link", "link/")); err != nil {
			t.Fatal(err)
		}
		go c.Run(t.Context())
		var repair atomic.Bool
		go c.DetectPeriodically(t.Context(), engine.DriftOptions{Interval: time.Minute, Repair: func(*api.Drift) bool { return repair.Load() }})
		txn := c.StartNBTransaction()
		for _, key := range []string{"tap/1", "tap/2", "link/1"} {
			txn.SetValue(key, &model.Item{Value: 1})
		}
		if _, err := txn.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		before := 0
		for _, step := range []struct {
			what string
			do   func()
			want []string
		}{
			{"nothing", func() {}, nil},
			{"appears", func() { sb.Remove("tap/1"); sb.Put("link/1", &model.Item{Value: 2}) },
				[]string{`drifted {"values": 3, "new": 2, "missing": 1, "differs": 1, "unexpected": 0, "keys": ["link/1", "tap/1"]}`}},
			{"stays", func() {}, nil},
			{"another one", func() { sb.Put("link/1", &model.Item{Value: 3}) },
				[]string{`drifted {"values": 3, "new": 1, "missing": 1, "differs": 1, "unexpected": 0, "keys": ["link/1"]}`}},
			{"cannot be read", func() {
				sb.Inject(kvstest.Fault{Op: kvstest.Retrieve, Key: "link", Err: errors.New("no answer"), Times: 1})
			}, nil},
			{"ends", func() { sb.Put("link/1", &model.Item{Value: 1}) },
				[]string{`as it should be {"values": 1, "still-drifted": 1, "keys": ["link/1"]}`}},
			{"is repaired", func() { repair.Store(true) }, nil},
			{"recurs", func() { sb.Remove("tap/1") },
				[]string{`drifted {"values": 3, "new": 1, "missing": 1, "differs": 0, "unexpected": 0, "keys": ["tap/1"]}`}},
		} {
			step.do()
			time.Sleep(time.Minute)
			var lines []string
			for line := range strings.Lines(out.String()[before:]) {
				if strings.Contains(line, "southbound") {
					lines = append(lines, line)
				}
			}
			before = len(out.String())
			for i, want := range step.want {
				if i >= len(lines) || !strings.Contains(lines[i], want) {
					t.Errorf("%s: logged %q, want %q", step.what, lines, step.want)
				}
			}
			if len(lines) != len(step.want) {
				t.Errorf("%s: logged %q", step.what, lines)
			}
		}
	})
}
