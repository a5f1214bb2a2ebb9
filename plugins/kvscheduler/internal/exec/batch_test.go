package exec_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/exec"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/plan"
)

// TestBatchTakesWhatIsReady: a batch has the ready values of one kind of operation, within
// the limits; dependents and removals keep their order.
func TestBatchTakesWhatIsReady(t *testing.T) {
	t.Parallel()
	const limit = 100
	running, most := 0, 0
	var batches []string
	var mu sync.Mutex
	watched := func(op string) api.KVBatchFunc {
		return func(_ context.Context, values []api.KVBatchValue) []api.KVBatchResult {
			mu.Lock()
			running += len(values)
			most = max(most, running)
			batches = append(batches, fmt.Sprintf("%s %d", op, len(values)))
			mu.Unlock()
			runtime.Gosched()
			mu.Lock()
			defer mu.Unlock()
			running -= len(values)
			return make([]api.KVBatchResult, len(values))
		}
	}
	b := newBench(t, limit, func(string, string) error { return nil }, func(d *api.KVDescriptor) {
		d.Create, d.CreateBatch = nil, watched("create")
		d.Delete, d.DeleteBatch = nil, watched("delete")
	})
	run := func(want []string, values ...string) {
		t.Helper()
		batches = batches[:0]
		if res := b.run(false, values...); len(res.Failures) > 0 {
			t.Fatalf("failures: %+v", res.Failures)
		}
		if slices.Sort(batches); !slices.Equal(batches, want) {
			t.Errorf("batches %q, expected %q", batches, want)
		}
	}
	dependents := func(prefix string, n int) (values []string) {
		for i := range n {
			values = append(values, fmt.Sprintf("%s%03d:hub", prefix, i))
		}
		return values
	}
	run([]string{"create 1"}, "hub:")
	run([]string{"create 36", "create 64"}, dependents("v", limit)...)
	b.run(false, dependents("u", 5*limit)...)
	if most > limit {
		t.Errorf("%d at once, expected at most %d", most, limit)
	}
	var replaced []string
	for i := range 3 {
		replaced = append(replaced, fmt.Sprintf("w%d:hub", i), fmt.Sprintf("-v%03d", i))
	}
	run([]string{"create 3", "delete 3"}, replaced...)
	b.x.Limit = 1
	run([]string{"create 1", "create 1"}, "x:hub", "y:hub")
}

// TestBatchResults: a value fails by its own result, or if it has none; the others of its
// batch succeed, and what depends on a failed value is not created.
func TestBatchResults(t *testing.T) {
	t.Parallel()
	results := func(n int, errs ...error) []api.KVBatchResult {
		out := make([]api.KVBatchResult, n)
		for i, err := range errs {
			out[i].Err = err
		}
		return out
	}
	for name, test := range map[string]struct {
		answer func() []api.KVBatchResult
		failed string
		cause  string
	}{
		"all":             {func() []api.KVBatchResult { return results(3) }, "", ""},
		"partial failure": {func() []api.KVBatchResult { return results(3, nil, errBroken) }, "b", "broken"},
		"too few":         {func() []api.KVBatchResult { return results(2) }, "c", `descriptor "item": CreateBatch returned 2 results for 3 values`},
		"none":            {func() []api.KVBatchResult { return nil }, "a b c", `descriptor "item": CreateBatch returned 0 results for 3 values`},
		"too many":        {func() []api.KVBatchResult { return results(4) }, "a b c", `descriptor "item": CreateBatch returned 4 results for 3 values`},
		"panic":           {func() []api.KVBatchResult { panic("no such thing") }, "a b c", `descriptor "item" panicked: no such thing`},
		"goexit":          {func() []api.KVBatchResult { runtime.Goexit(); return nil }, "a b c", `descriptor "item": Create called runtime.Goexit`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, 8, func(string, string) error { return nil }, func(d *api.KVDescriptor) {
				d.Create, d.CreateBatch = nil, func(_ context.Context, values []api.KVBatchValue) []api.KVBatchResult {
					if strings.HasPrefix(values[0].Key, "after ") {
						return results(len(values))
					}
					return test.answer()
				}
			})
			res := b.run(false, "a:", "b:", "c:", "after a:a", "after b:b", "after c:c")
			var failed []string
			for _, f := range res.Failures {
				failed = append(failed, f.Key)
				if !strings.Contains(f.Err.Error(), test.cause) {
					t.Errorf("%s failed with %q, expected %q", f.Key, f.Err, test.cause)
				}
				if panicked := (*exec.PanicError)(nil); (name == "panic") != (errors.As(f.Err, &panicked) && panicked.Value != nil) {
					t.Errorf("%s failed with %T", f.Key, f.Err)
				}
			}
			if got := strings.Join(failed, " "); got != test.failed {
				t.Errorf("failed: %q, expected %q", got, test.failed)
			}
			for _, key := range []string{"a", "b", "c"} {
				want := "CONFIGURED"
				if slices.Contains(failed, key) {
					want = "PENDING"
				}
				if got := plan.State(b.g.Node("after " + key)).String(); got != want {
					t.Errorf("the dependent of %s is %s, expected %s", key, got, want)
				}
			}
		})
	}
}

// TestBatchChecksContracts: with CheckContracts a value of a batch fails whose message the
// callback modified.
func TestBatchChecksContracts(t *testing.T) {
	t.Parallel()
	b := newBench(t, 8, func(string, string) error { return nil }, func(d *api.KVDescriptor) {
		d.Create, d.CreateBatch = nil, func(_ context.Context, values []api.KVBatchValue) []api.KVBatchResult {
			values[1].New.(*wrapperspb.StringValue).Value = "x"
			return make([]api.KVBatchResult, len(values))
		}
	})
	b.x.CheckContracts = true
	res := b.run(false, "a:", "b:x", "c:")
	if len(res.Failures) != 1 || res.Failures[0].Key != "c" || !errors.Is(res.Failures[0].Err, api.ErrPermanent) {
		t.Errorf("failures: %+v", res.Failures)
	}
}
