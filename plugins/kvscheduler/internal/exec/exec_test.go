package exec_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/exec"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/graph"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/plan"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/registry"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bench is an executor over an empty graph and a southbound of callbacks. The
// value of a key is text: the keys that it depends on.
type bench struct {
	t     *testing.T
	g     *graph.Graph
	reg   *registry.Registry
	x     *exec.Executor
	calls []string
}

var errBroken = errors.New("broken")

func newBench(t *testing.T, concurrency int, fail func(op, key string) error, change ...func(*api.KVDescriptor)) *bench {
	b := &bench{t: t, g: graph.New()}
	var mu sync.Mutex
	call := func(op, key string) error {
		mu.Lock()
		defer mu.Unlock()
		b.calls = append(b.calls, op+" "+key)
		return fail(op, key)
	}
	d := &api.KVDescriptor{
		Name: "item", Concurrency: concurrency, KeySelector: func(string) bool { return true },
		Create: func(key string, _ proto.Message) (api.Metadata, error) { return nil, call("create", key) },
		Delete: func(key string, _ proto.Message, _ api.Metadata) error { return call("delete", key) },
		Dependencies: func(_ string, v proto.Message) (deps []api.Dependency) {
			for _, key := range strings.Fields(v.(*wrapperspb.StringValue).Value) {
				deps = append(deps, api.DependsOn(key))
			}
			return deps
		},
	}
	if concurrency == inBatches {
		d.Create, d.CreateBatch = nil, each("create", call)
		d.Delete, d.DeleteBatch = nil, each("delete", call)
	}
	for _, f := range change {
		f(d)
	}
	reg, err := registry.New(nil).With([]*api.KVDescriptor{d})
	if err != nil {
		t.Fatal(err)
	}
	b.reg = reg
	b.x = &exec.Executor{Graph: b.g, Lock: &sync.Mutex{}, Now: time.Now, Crashes: exec.NewCrashes(), Overdue: exec.NewOverdue(exec.SystemClock{}, 0, func(exec.Call) {}), Refresh: func([]string) []string { return nil }}
	return b
}

// inBatches is the concurrency of a descriptor that takes batches.
const inBatches = 9

// each returns a callback for batches of one for a single value.
func each(op string, call func(op, key string) error) api.KVBatchFunc {
	return func(_ context.Context, values []api.KVBatchValue) (results []api.KVBatchResult) {
		for _, v := range values {
			results = append(results, api.KVBatchResult{Err: call(op, v.Key)})
		}
		return results
	}
}

// run executes a transaction; values are "key: dependencies", or "-key" to delete one.
func (b *bench) run(revert bool, values ...string) *exec.Result {
	req := plan.Request{}
	for _, v := range values {
		key, deps, _ := strings.Cut(v, ":")
		c := plan.Change{Key: strings.TrimPrefix(key, "-"), Desc: b.reg.ByName("item")}
		if c.Key == key {
			c.Want = b.reg.Wanted(key, c.Desc, wrapperspb.String(deps))
		}
		req.Changes = append(req.Changes, c)
	}
	b.calls = nil
	return b.x.Execute(&exec.Txn{Request: req, Plan: plan.Make(b.g, req), Revert: revert})
}

func (b *bench) expect(want ...string) {
	b.t.Helper()
	slices.Sort(b.calls)
	slices.Sort(want)
	if !slices.Equal(b.calls, want) {
		b.t.Errorf("called %q\nexpected %q", b.calls, want)
	}
}

func inSeries(t *testing.T, f func(t *testing.T, concurrency int)) {
	for _, n := range []int{0, 1, 8, inBatches} {
		t.Run(fmt.Sprintf("concurrency=%d", n), func(t *testing.T) {
			t.Parallel()
			f(t, n)
		})
	}
}

func TestWhatNeedsAFailedValueIsLeftOut(t *testing.T) {
	t.Parallel()
	inSeries(t, func(t *testing.T, concurrency int) {
		b := newBench(t, concurrency, func(_, key string) error {
			if key == "b" {
				return errBroken
			}
			return nil
		})
		res := b.run(false, "a:", "b:a", "c:b", "d:c", "e:a")
		b.expect("create a", "create b", "create e")
		if len(res.Failures) != 1 || res.Failures[0].Key != "b" || !errors.Is(res.Failures[0].Err, errBroken) {
			t.Errorf("failures: %+v", res.Failures)
		}
		for key, want := range map[string]string{"a": "CONFIGURED", "b": "FAILED", "c": "PENDING", "d": "PENDING", "e": "CONFIGURED"} {
			if got := plan.State(b.g.Node(key)).String(); got != want {
				t.Errorf("%s is %s, expected %s", key, got, want)
			}
		}
	})
}

func TestAPanicIsTheFailureOfTheValue(t *testing.T) {
	t.Parallel()
	inSeries(t, func(t *testing.T, concurrency int) {
		b := newBench(t, concurrency, func(_, key string) error {
			if key == "b" {
				panic("no such thing")
			}
			return nil
		})
		res := b.run(false, "a:", "b:a") // not in one batch
		var p *exec.PanicError
		if len(res.Failures) != 1 || !errors.As(res.Failures[0].Err, &p) || p.Descriptor != "item" {
			t.Fatalf("failures: %+v", res.Failures)
		}
		if res.Failures[0].Retry != nil {
			t.Error("a panic must not be retried")
		}
	})
}

func TestRevertLeavesNothing(t *testing.T) {
	t.Parallel()
	inSeries(t, func(t *testing.T, concurrency int) {
		b := newBench(t, concurrency, func(op, key string) error {
			if op == "create" && key == "c" {
				return errBroken
			}
			return nil
		})
		res := b.run(true, "a:", "b:a", "c:b", "d:c")
		b.expect("create a", "create b", "create c", "delete b", "delete a")
		if !res.Reverted || b.g.Len() != 0 || res.NotReverted != 0 {
			t.Errorf("reverted: %v but for %d, values left: %d", res.Reverted, res.NotReverted, b.g.Len())
		}
		if last := res.Executed[len(res.Executed)-1]; !last.IsRevert {
			t.Errorf("last operation: %+v", last)
		}
	})
}

func TestPartlyReverted(t *testing.T) {
	t.Parallel()
	inSeries(t, func(t *testing.T, concurrency int) {
		b := newBench(t, concurrency, func(op, key string) error {
			if op == "create" && key == "d" || op == "delete" && key == "b" {
				return errBroken
			}
			return nil
		})
		res := b.run(true, "a:", "b:a", "c:b", "d:c", "e:d")
		// b cannot be removed, so its provider a cannot be removed either.
		if !res.Reverted || res.NotReverted != 2 || res.ToRevert < 4 || b.g.Node("a").Have == nil || b.g.Node("b").Have == nil || b.g.Node("c") != nil {
			t.Errorf("reverted: %v, %d of %d could not be", res.Reverted, res.NotReverted, res.ToRevert)
		}
	})
}

func TestLimitOfAll(t *testing.T) {
	t.Parallel()
	running, most := 0, 0
	var mu sync.Mutex
	b := newBench(t, 8, func(string, string) error { return nil })
	d := b.reg.ByName("item")
	create := d.Create
	d.Create = func(ctx context.Context, values []api.KVBatchValue, results []api.KVBatchResult) []api.KVBatchResult {
		mu.Lock()
		running++
		most = max(most, running)
		mu.Unlock()
		defer func() { mu.Lock(); running--; mu.Unlock() }()
		return create(ctx, values, results)
	}
	b.x.Limit = 2
	var values []string
	for i := range 50 {
		values = append(values, fmt.Sprintf("v%02d:", i))
	}
	b.run(false, values...)
	if most > 2 || len(b.calls) != 50 {
		t.Errorf("%d at once, expected at most 2; %d of 50 created", most, len(b.calls))
	}
}
