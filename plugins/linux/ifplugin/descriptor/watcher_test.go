package descriptor

import (
	"context"
	"slices"
	"strings"
	"sync"
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

func (o ownOnly) Open(context.Context, *namespace.NetNamespace) (netlinkapi.Handle, error) {
	return o.Kernel.Open("", netlinkapi.Gate{})
}
func (o ownOnly) Ensure(context.Context, *namespace.NetNamespace) (netlinkapi.Handle, error) {
	return o.Kernel.Open("", netlinkapi.Gate{})
}
func (o ownOnly) Peek(context.Context, *namespace.NetNamespace) (netlinkapi.Handle, error) {
	return o.Kernel.Open("", netlinkapi.Gate{})
}
func (o ownOnly) Named(context.Context) ([]*namespace.NetNamespace, error) { return nil, nil }

// record has the reports since the last look.
type record struct {
	mu          sync.Mutex
	told        []string
	transaction chan struct{} // closed when it has ended; nil: none was begun
}

// begin begins a transaction, which ends with ended.
func (r *record) begin() (ended func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.transaction = make(chan struct{})
	return func() { close(r.transaction) }
}

// settle waits for the transaction.
func (r *record) settle(context.Context) error {
	r.mu.Lock()
	running := r.transaction
	r.mu.Unlock()
	if running != nil {
		<-running
	}
	return nil
}

func (r *record) add(what string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.told = append(r.told, what)
}

func (r *record) expect(t *testing.T, want ...string) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if !slices.Equal(r.told, want) {
		t.Errorf("told %v, expected %v", r.told, want)
	}
	r.told = nil
}

// watched runs a watcher over a link "dev" and collects its reports.
func watched(t *testing.T, test func(t *testing.T, k *nlsim.Kernel, dev netlinkapi.Handle, index int, w *Watcher, told *record)) {
	synctest.Test(t, func(t *testing.T) {
		k := nlsim.New()
		index := k.AddDevice("dev")
		told := &record{}
		w := NewWatcher(Deps{Namespaces: ownOnly{k}, Log: logging.Nop()}, func(kvs ...api.KVWithMetadata) error {
			for _, kv := range kvs {
				sign := "+"
				if kv.Value == nil {
					sign = "-"
				}
				told.add(sign + strings.TrimPrefix(kv.Key, "linux/interface/host-name/"))
			}
			return nil
		})
		w.Settle(told.settle)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); w.Run(ctx) }()
		h, err := k.Open("", netlinkapi.Gate{})
		if err != nil {
			t.Fatal(err)
		}
		set(t, h, index, true)
		synctest.Wait()
		told.expect(t, "+dev")
		test(t, k, h, index, w, told)
		cancel()
		<-done
	})
}

// pass lets the fake time pass, and then everything happen that is due.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func set(t *testing.T, h netlinkapi.Handle, index int, up bool) {
	t.Helper()
	if err := h.SetUp(t.Context(), index, up); err != nil {
		t.Fatal(err)
	}
}

// A link that is down for an instant is not told; one that stays down is.
func TestDownForAnInstant(t *testing.T) {
	watched(t, func(t *testing.T, _ *nlsim.Kernel, h netlinkapi.Handle, index int, _ *Watcher, told *record) {
		set(t, h, index, false)
		synctest.Wait()
		pass(downDelay / 2)
		set(t, h, index, true)
		pass(time.Minute)
		told.expect(t)
		set(t, h, index, false)
		synctest.Wait()
		told.expect(t)
		pass(2 * downDelay)
		told.expect(t, "-dev")
	})
}

// A link that a transaction sets down for a while is not told, however long that takes: VPP sets the
// host interface of an AF_PACKET interface down when the agent creates it again.
func TestDownDuringTransaction(t *testing.T) {
	watched(t, func(t *testing.T, _ *nlsim.Kernel, h netlinkapi.Handle, index int, _ *Watcher, told *record) {
		ended := told.begin()
		set(t, h, index, false)
		synctest.Wait()
		pass(time.Minute)
		set(t, h, index, true)
		synctest.Wait()
		ended()
		pass(time.Minute)
		told.expect(t)
		set(t, h, index, false)
		synctest.Wait()
		pass(2 * downDelay)
		told.expect(t, "-dev")
	})
}

// A link that is gone or has another name is reported at once.
func TestGone(t *testing.T) {
	watched(t, func(t *testing.T, k *nlsim.Kernel, h netlinkapi.Handle, index int, _ *Watcher, told *record) {
		if err := h.Rename(t.Context(), index, "renamed"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		told.expect(t, "-dev", "+renamed")
		k.RemoveDevice("renamed")
		synctest.Wait()
		told.expect(t, "-renamed")
	})
}

// What the scheduler reads by itself may be overtaken by notifications; so
// what changed since is reported again.
func TestReadByScheduler(t *testing.T) {
	watched(t, func(t *testing.T, k *nlsim.Kernel, h netlinkapi.Handle, index int, w *Watcher, told *record) {
		set(t, h, index, false)
		pass(time.Second) // told as down
		set(t, h, index, true)
		if _, err := w.retrieve(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		told.expect(t, "-dev", "+dev")
		index = k.AddDevice("brief")
		w.mu.Lock() // the watcher does not get to see it
		if err := h.SetUp(t.Context(), index, true); err != nil {
			t.Fatal(err)
		}
		w.read["brief-was-read"] = true
		k.RemoveDevice("brief")
		w.mu.Unlock()
		synctest.Wait()
		told.expect(t, "-brief-was-read")
	})
}

// Where events are lost or the state cannot be read, it is tried again.
func TestWatchFails(t *testing.T) {
	watched(t, func(t *testing.T, k *nlsim.Kernel, h netlinkapi.Handle, index int, _ *Watcher, told *record) {
		k.Overflow("")
		k.Fail("Links", netlinkapi.ErrIncomplete, 2)
		set(t, h, index, false)
		pass(time.Minute)
		told.expect(t, "-dev")
		if k.Watchers("") != 1 {
			t.Errorf("%d watches run", k.Watchers(""))
		}
	})
}
