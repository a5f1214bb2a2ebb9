package orchestrator_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator"
	pb "github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
)

// outcome is what became of a change that was pushed in the background.
type outcome struct{ err error }

// pushLater pushes in the background.
func (w *world) pushLater(ctx context.Context, source string, items ...orchestrator.KeyVal) <-chan outcome {
	done := make(chan outcome, 1)
	go func() {
		_, err := w.PushData(ctx, source, items)
		done <- outcome{err}
	}()
	return done
}

// hang makes the southbound hang with an interface, and returns what becomes of
// the change.
func (w *world) hang(name string) <-chan outcome {
	key := iface(name, 1).Key
	w.sb.Inject(kvstest.Fault{Op: pb.TxnOperation_CREATE, Key: key, Hang: true})
	w.t.Cleanup(w.sb.ReleaseAll)
	done := w.pushLater(w.t.Context(), orchestrator.LocalClient, iface(name, 1))
	w.sb.AwaitHang(key)
	return done
}

func (w *world) release(name string) { w.sb.Release(iface(name, 1).Key) }

// waiting waits until that many changes are queued.
func (w *world) waiting(n int) {
	w.t.Helper()
	until(w.t.(*testing.T), "changes wait", func() bool { return w.Changes().Waiting == n })
}

// Requests that wait while the southbound hangs are visible and limited in number, stores
// are never refused, and a refused request leaves no trace.
func TestQueueFull(t *testing.T) {
	t.Parallel()
	s := server{http.NewServeMux(), t}
	file := &fakeStore{name: "file"}
	w := start(t, nil, orchestrator.UseHTTP(s), orchestrator.UseWatchers(file),
		orchestrator.UseConf(orchestrator.Config{InitialSyncTimeout: patience, QueueCapacity: 2}))
	if err := <-file.resync(); err != nil {
		t.Fatal(err)
	}
	hanging := w.hang("hangs")
	first := w.pushLater(t.Context(), orchestrator.GRPC, iface("first", 1))
	w.waiting(1)
	second := w.pushLater(t.Context(), orchestrator.LocalClient, iface("second", 1))
	w.waiting(2)
	stored := make(chan error, 1)
	go func() { stored <- file.change(iface("stored", 1)) }()
	w.waiting(3)

	_, err := w.PushData(t.Context(), orchestrator.GRPC, []orchestrator.KeyVal{iface("refused", 1)})
	if !errors.Is(err, orchestrator.ErrQueueFull) || orchestrator.RetryAfter(err) < time.Second ||
		!strings.Contains(err.Error(), "the queue of changes is full: 2 of 2 requests are queued (queue-capacity in orchestrator.conf), 1 of them from grpc, the oldest waiting for ") ||
		!strings.Contains(err.Error(), "while change from localclient (localclient) has been running for ") {
		t.Errorf("error %v, retry after %v", err, orchestrator.RetryAfter(err))
	}
	for _, request := range []string{"PUT /configuration", "POST /scheduler/plan", "POST /scheduler/rollback?to=0"} {
		method, path, _ := strings.Cut(request, " ")
		answer := httptest.NewRecorder()
		s.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader("vppConfig: {interfaces: [{name: refused}]}")))
		if answer.Code != http.StatusServiceUnavailable || answer.Header().Get("Retry-After") == "" || !strings.Contains(answer.Body.String(), "queue-capacity in orchestrator.conf") {
			t.Errorf("%s: %d, Retry-After %q, %s", request, answer.Code, answer.Header().Get("Retry-After"), answer.Body)
		}
	}
	st := w.Changes()
	if st.Clients != 2 || st.Capacity != 2 || st.Refused != 4 || st.OldestAge <= 0 || st.Sources["file"] != 1 ||
		st.Running == nil || st.Running.Source != orchestrator.LocalClient || st.Running.What != "change from localclient" {
		t.Errorf("status %+v, %+v", st, st.Running)
	}
	w.release("hangs")
	for _, done := range []<-chan outcome{hanging, first, second} {
		if o := <-done; o.err != nil {
			t.Error(o.err)
		}
	}
	if err := <-stored; err != nil {
		t.Error(err)
	}
	if got := w.history(); !strings.HasSuffix(got, "change from localclient | change from grpc | change from localclient | change from file") {
		t.Errorf("order: %s", got)
	}
	w.wantMTU("refused", -1)
	if got := w.ListData(""); len(got) != 4 {
		t.Errorf("the sources want %v", got)
	}
	w.push(orchestrator.GRPC, iface("refused", 1)) // there is room again
}

// If the client of a queued change disconnects, or its timeout expires, the change is never
// executed, also not by later synchronisations.
func TestCanceledWhileWaiting(t *testing.T) {
	t.Parallel()
	w := start(t, nil)
	w.waitSynced()
	hanging := w.hang("hangs")
	gone, cancel := context.WithCancel(t.Context())
	first := w.pushLater(gone, orchestrator.GRPC, iface("gone", 1))
	w.waiting(1)
	late, end := context.WithCancelCause(t.Context())
	second := w.pushLater(late, orchestrator.GRPC, iface("late", 1))
	w.waiting(2)
	stays := w.pushLater(t.Context(), orchestrator.GRPC, iface("stays", 1))
	w.waiting(3)
	end(context.DeadlineExceeded)
	cancel()
	for _, o := range []outcome{<-first, <-second} {
		if !errors.Is(o.err, api.ErrTxnCanceled) || !strings.Contains(o.err.Error(), "nothing of it is executed") {
			t.Errorf("error %v", o.err)
		}
	}
	w.release("hangs")
	if err := errors.Join((<-hanging).err, (<-stays).err); err != nil {
		t.Fatal(err)
	}
	if _, err := w.PushData(t.Context(), orchestrator.LocalClient, nil, orchestrator.WithResync()); err != nil {
		t.Fatal(err)
	}
	w.wantMTU("gone", -1)
	w.wantMTU("late", -1)
	w.wantMTU("stays", 1)
	if got := w.Changes(); got.Waiting != 0 || got.Running != nil || got.Canceled != 2 {
		t.Errorf("status %+v", got)
	}
}

// The record of a transaction has the time that its change was queued.
func TestTurnIsRecorded(t *testing.T) {
	t.Parallel()
	w := start(t, nil)
	w.waitSynced()
	hanging := w.hang("hangs")
	before := time.Now()
	second := w.pushLater(t.Context(), orchestrator.GRPC, iface("second", 1))
	w.waiting(1)
	w.release("hangs")
	if err := errors.Join((<-hanging).err, (<-second).err); err != nil {
		t.Fatal(err)
	}
	history := w.scheduler.GetTransactionHistory(time.Time{}, time.Time{})
	first, last := history[len(history)-2], history[len(history)-1]
	times := []time.Time{before, last.Came, first.Stop, last.Turn, last.Queued, last.Taken, last.Prepared, last.Start, last.Begun, last.Stop}
	if !slices.IsSortedFunc(times, time.Time.Compare) {
		t.Errorf("times %v", times)
	}
}

// The same before the initial synchronisation, which executes the other changes.
func TestCanceledBeforeSynchronisation(t *testing.T) {
	t.Parallel()
	slow := &fakeStore{name: "slow"}
	w := start(t, nil, orchestrator.UseWatchers(slow), orchestrator.UseConf(orchestrator.Config{InitialSyncTimeout: 10 * patience}))
	gone, cancel := context.WithCancel(t.Context())
	first := w.pushLater(gone, orchestrator.GRPC, iface("gone", 1))
	second := w.pushLater(t.Context(), orchestrator.GRPC, iface("stays", 1))
	planned := make(chan error, 1)
	go func() {
		_, err := w.PlanData(t.Context(), orchestrator.GRPC, []orchestrator.KeyVal{iface("planned", 1)})
		planned <- err
	}()
	w.waiting(3)
	if !w.Changes().Closed {
		t.Error("the status does not name the awaited sources")
	}
	cancel()
	if o := <-first; !errors.Is(o.err, api.ErrTxnCanceled) {
		t.Errorf("error %v", o.err)
	}
	if err := <-slow.resync(); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join((<-second).err, <-planned); err != nil {
		t.Fatal(err)
	}
	w.wantMTU("gone", -1)
	w.wantMTU("stays", 1)
	if got := w.history(); got != "initial synchronisation" {
		t.Errorf("transactions: %s", got)
	}
}

// The stop of the agent does not wait for queued changes.
func TestWithdrawGoesFirst(t *testing.T) {
	t.Parallel()
	w := start(t, nil)
	w.waitSynced()
	hanging := w.hang("hangs")
	waits := w.pushLater(t.Context(), orchestrator.GRPC, iface("a", 1))
	w.waiting(1)
	withdrawn := make(chan error, 1)
	go func() { withdrawn <- w.Withdraw(t.Context()) }()
	w.waiting(2)
	w.release("hangs")
	if err := errors.Join((<-hanging).err, <-withdrawn); err != nil {
		t.Fatal(err)
	}
	if o := <-waits; !errors.Is(o.err, orchestrator.ErrWithdrawn) {
		t.Errorf("error %v", o.err)
	}
	w.wantMTU("hangs", -1)
	w.wantMTU("a", -1)
}

// A client that disconnects while its change is executed keeps exclusive access until the end:
// the others wait, and a change that is taken back then is no longer wanted.
func TestGoneWhileExecuting(t *testing.T) {
	t.Parallel()
	w := start(t, nil)
	w.waitSynced()
	hangs := iface("hangs", 1)
	w.sb.Inject(kvstest.Fault{Op: pb.TxnOperation_CREATE, Key: hangs.Key, Hang: true, Err: api.Permanent(errors.New("refused"))})
	t.Cleanup(w.sb.ReleaseAll)
	gone, cancel := context.WithCancel(t.Context())
	first := make(chan error, 1)
	go func() {
		_, err := w.PushData(gone, orchestrator.GRPC, []orchestrator.KeyVal{hangs}, orchestrator.WithRevert(), orchestrator.WithDescription("gone"))
		first <- err
	}()
	w.sb.AwaitHang(hangs.Key)
	cancel()
	if err := <-first; !errors.Is(err, api.ErrTxnWaitCanceled) || !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	second := w.pushLater(t.Context(), orchestrator.GRPC, iface("second", 1))
	w.waiting(1)
	if r := w.Changes().Running; r == nil || r.What != "gone" {
		t.Errorf("%+v is executed", r)
	}
	w.release("hangs")
	if o := <-second; o.err != nil {
		t.Fatal(o.err)
	}
	w.wantMTU("second", 1)
	if got := w.ListData(orchestrator.GRPC); len(got) != 1 || got[0].Key != iface("second", 1).Key {
		t.Errorf("the source wants %v", got)
	}
}
