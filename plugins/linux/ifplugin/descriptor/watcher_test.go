package descriptor

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/tenuto-dev/tenuto/infra/logging"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
	"github.com/tenuto-dev/tenuto/plugins/linux/nlsim"
	namespace "github.com/tenuto-dev/tenuto/proto/ligato/linux/namespace"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// ownOnly opens the agent's namespace of a kernel.
type ownOnly struct{ *nlsim.Kernel }

func (o ownOnly) Open(*namespace.NetNamespace) (netlinkapi.Handle, error) { return o.Kernel.Open("") }
func (o ownOnly) Ensure(*namespace.NetNamespace) (netlinkapi.Handle, error) {
	return o.Kernel.Open("")
}
func (o ownOnly) Peek(*namespace.NetNamespace) (netlinkapi.Handle, error) { return o.Kernel.Open("") }
func (o ownOnly) Named() ([]*namespace.NetNamespace, error)               { return nil, nil }

// watched runs a watcher over a link "dev" and collects what it tells.
func watched(t *testing.T, test func(t *testing.T, k *nlsim.Kernel, dev netlinkapi.Handle, index int, w *Watcher, told *[]string)) {
	synctest.Test(t, func(t *testing.T) {
		k := nlsim.New()
		index := k.AddDevice("dev")
		var told []string
		w := NewWatcher(Deps{Namespaces: ownOnly{k}, Log: logging.Nop()}, func(kvs ...api.KVWithMetadata) error {
			for _, kv := range kvs {
				sign := "+"
				if kv.Value == nil {
					sign = "-"
				}
				told = append(told, sign+strings.TrimPrefix(kv.Key, "linux/interface/host-name/"))
			}
			return nil
		})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); w.Run(ctx) }()
		h, err := k.Open("")
		if err != nil {
			t.Fatal(err)
		}
		set(t, h, index, true)
		synctest.Wait()
		if !slices.Equal(told, []string{"+dev"}) {
			t.Errorf("told %v, expected that dev is there", told)
		}
		told = nil
		test(t, k, h, index, w, &told)
		cancel()
		<-done
	})
}

func set(t *testing.T, h netlinkapi.Handle, index int, up bool) {
	t.Helper()
	if err := h.SetUp(index, up); err != nil {
		t.Fatal(err)
	}
}

// A link that is down for an instant is not told; one that stays down is.
func TestDownForAnInstant(t *testing.T) {
	watched(t, func(t *testing.T, _ *nlsim.Kernel, h netlinkapi.Handle, index int, _ *Watcher, told *[]string) {
		set(t, h, index, false)
		synctest.Wait()
		time.Sleep(downDelay / 2)
		set(t, h, index, true)
		time.Sleep(time.Minute)
		if len(*told) != 0 {
			t.Errorf("told %v, expected nothing", *told)
		}
		set(t, h, index, false)
		synctest.Wait()
		if len(*told) != 0 {
			t.Errorf("told %v at once", *told)
		}
		time.Sleep(2 * downDelay)
		if !slices.Equal(*told, []string{"-dev"}) {
			t.Errorf("told %v, expected that dev is down", *told)
		}
	})
}

// A link that is gone or has another name is told at once.
func TestGone(t *testing.T) {
	watched(t, func(t *testing.T, k *nlsim.Kernel, h netlinkapi.Handle, index int, _ *Watcher, told *[]string) {
		if err := h.Rename(index, "renamed"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if !slices.Equal(*told, []string{"-dev", "+renamed"}) {
			t.Errorf("told %v, expected the new name", *told)
		}
		*told = nil
		k.RemoveDevice("renamed")
		synctest.Wait()
		if !slices.Equal(*told, []string{"-renamed"}) {
			t.Errorf("told %v, expected that it is gone", *told)
		}
	})
}

// What the scheduler reads by itself may be overtaken by what it is told; so
// what changed since is told again.
func TestReadByScheduler(t *testing.T) {
	watched(t, func(t *testing.T, k *nlsim.Kernel, h netlinkapi.Handle, index int, w *Watcher, told *[]string) {
		set(t, h, index, false)
		time.Sleep(time.Second) // told as down
		set(t, h, index, true)
		if _, err := w.retrieve(nil); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if !slices.Equal(*told, []string{"-dev", "+dev"}) {
			t.Errorf("told %v, expected the last to be that dev is there", *told)
		}
		*told = nil
		index = k.AddDevice("brief")
		w.mu.Lock() // the watcher does not get to see it
		if err := h.SetUp(index, true); err != nil {
			t.Fatal(err)
		}
		w.read["brief-was-read"] = true
		k.RemoveDevice("brief")
		w.mu.Unlock()
		synctest.Wait()
		if !slices.Equal(*told, []string{"-brief-was-read"}) {
			t.Errorf("told %v, expected that what was read is gone", *told)
		}
	})
}

// Where events are lost or the state cannot be read, it is tried again.
func TestWatchFails(t *testing.T) {
	watched(t, func(t *testing.T, k *nlsim.Kernel, h netlinkapi.Handle, index int, _ *Watcher, told *[]string) {
		k.Overflow("")
		k.Fail("Links", netlinkapi.ErrIncomplete, 2)
		set(t, h, index, false)
		time.Sleep(time.Minute)
		if !slices.Equal(*told, []string{"-dev"}) {
			t.Errorf("told %v, expected that dev is down", *told)
		}
		if k.Watchers("") != 1 {
			t.Errorf("%d watches run", k.Watchers(""))
		}
	})
}
