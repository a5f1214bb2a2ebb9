package engine_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/engine"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/record"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest/model"
)

// worker makes descriptors whose operations take random times; some of them fail.
type worker struct {
	rng  *rand.Rand
	over atomic.Bool // nothing takes time from now on
}

func (w *worker) descriptor(name string, concurrency int, timeout time.Duration) *api.KVDescriptor {
	work := func(it *model.Item) error {
		if w.over.Load() {
			return nil
		}
		time.Sleep(time.Duration(it.GetValue()))
		if it.GetInvalid() {
			return errors.New("no")
		}
		return nil
	}
	return api.Adapt(&api.Descriptor[*model.Item, any]{
		Name: name, KeySelector: hasPrefix(name + "/"), NBKeyPrefix: name + "/", Concurrency: concurrency, Timeout: timeout,
		Dependencies: itemDeps,
		Create:       func(_ string, it *model.Item) (any, error) { return nil, work(it) },
		Update:       func(_ string, _, it *model.Item, _ any) (any, error) { return nil, work(it) },
		Delete:       func(_ string, it *model.Item, _ any) error { return work(&model.Item{Value: it.GetValue() / 2}) },
	})
}

func (w *worker) item(keys []string) *model.Item {
	it := &model.Item{Value: int64(time.Millisecond) + w.rng.Int64N(int64(time.Second)), Invalid: w.rng.IntN(12) == 0}
	for range w.rng.IntN(3) {
		it.Deps = append(it.Deps, keys[w.rng.IntN(len(keys))])
	}
	return it
}

// Every operation began when the execution did, or when the one ended that it is
// recorded to have waited for: nothing takes time here but operations.
func TestNoGapsInTheRecord(t *testing.T) {
	t.Parallel()
	for seed := range uint64(1000) {
		w := &worker{rng: rand.New(rand.NewPCG(seed, 0))}
		timeout := []time.Duration{0, time.Hour, 600 * time.Millisecond}[seed%3]
		ds := []*api.KVDescriptor{w.descriptor("serial", 0, timeout), w.descriptor("one", 1, 0), w.descriptor("two", 2, timeout), w.descriptor("many", 100, 0)}
		inBubble(t, ds, func(t *testing.T, c *engine.Engine) {
			var keys []string
			for _, d := range ds {
				for i := range 4 {
					keys = append(keys, fmt.Sprint(d.NBKeyPrefix, i))
				}
			}
			for range 4 {
				txn := c.StartNBTransaction()
				for _, key := range keys {
					switch w.rng.IntN(4) {
					case 0:
						txn.SetValue(key, nil)
					case 1, 2:
						txn.SetValue(key, w.item(keys))
					}
				}
				var opts []api.TxnOption
				if w.rng.IntN(3) == 0 {
					opts = append(opts, api.WithRevert())
				}
				_, _ = txn.Commit(t.Context(), opts...)
				time.Sleep(time.Hour)
			}
			w.over.Store(true)
			time.Sleep(time.Hour)
			synctest.Wait()
			for _, txn := range c.GetTransactionHistory(time.Time{}, time.Time{}) {
				if !txn.PreRecord && !noGaps(t, seed, txn) {
					break
				}
			}
		})
	}
}

func noGaps(t *testing.T, seed uint64, txn *api.RecordedTxn) bool {
	t.Helper()
	for i, op := range txn.Executed {
		if !op.HasRun() {
			continue
		}
		from := txn.Start
		if op.After > 0 {
			from = txn.Executed[op.After-1].End()
		}
		if !op.Start().Equal(from) || (op.After > 0) != (op.Waited != api.OpWaitNone) {
			t.Errorf("seed %d, transaction %d: operation %d (%v %s) began at %v, after %d (%v), %v later", seed, txn.SeqNum, i+1, op.Operation, op.Key,
				op.Start().Sub(txn.Start), op.After, op.Waited, op.Start().Sub(from))
			return false
		}
	}
	path := record.Critical(txn, 0)
	sum, executed := 0.0, 0.0
	for _, phase := range path.Phases {
		sum += phase.Took
		if phase.Name == "execute" {
			executed = phase.Took
		}
	}
	for _, step := range path.Steps {
		executed -= step.Waited + step.Ran
	}
	if math.Abs(sum-path.Total) > 1e-9 || len(path.Steps) > 0 && math.Abs(executed) > 1e-9 {
		t.Errorf("seed %d: phases take %v of %v, the steps leave %v of the execution unexplained", seed, sum, path.Total, executed)
	}
	return !t.Failed()
}
