package engine_test

import (
	"context"
	"sync"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest/model"
)

type (
	batchValue  = api.BatchValue[*model.Item, any]
	batchResult = api.BatchResult[any]
)

// The callbacks of the descriptors "a", "c" and "d" that take batches; see world.batches.
const (
	createBatches = 1 << iota
	updateBatches
	deleteBatches
)

// inBatches replaces callbacks of a descriptor by those that take batches.
func (w *world) inBatches(d *api.Descriptor[*model.Item, any]) {
	create, update, remove := d.CreateContext, d.UpdateContext, d.DeleteContext
	if w.batches&createBatches != 0 {
		d.CreateContext, d.CreateBatch = nil, w.batch("create", func(ctx context.Context, v batchValue) (any, error) {
			return create(ctx, v.Key, v.New)
		})
	}
	if w.batches&updateBatches != 0 && update != nil {
		d.UpdateContext, d.UpdateBatch = nil, w.batch("update", func(ctx context.Context, v batchValue) (any, error) {
			return update(ctx, v.Key, v.Old, v.New, v.Metadata)
		})
	}
	if w.batches&deleteBatches != 0 {
		d.DeleteContext, d.DeleteBatch = nil, w.batch("delete", func(ctx context.Context, v batchValue) (any, error) {
			return nil, remove(ctx, v.Key, v.Old, v.Metadata)
		})
	}
}

// batch returns a callback that does one with all values of a batch at once, each with its
// own faults. It returns when the last one ends.
func (w *world) batch(op string, one func(context.Context, batchValue) (any, error)) api.BatchFunc[*model.Item, any] {
	return func(ctx context.Context, values []batchValue) []batchResult {
		defer w.claimBatch(op, values)()
		results := make([]batchResult, len(values))
		panics := make(chan any, len(values))
		var wg sync.WaitGroup
		for i, v := range values {
			wg.Go(func() {
				defer func() {
					if p := recover(); p != nil {
						panics <- p
					}
				}()
				results[i].Metadata, results[i].Err = one(ctx, v)
			})
		}
		wg.Wait()
		if len(panics) > 0 {
			panic(<-panics)
		}
		return results[:w.answered(len(results))]
	}
}

// claimBatch is claim for all keys of a batch, until all of its operations have ended.
func (w *world) claimBatch(op string, values []batchValue) (release func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.dead {
		return func() {}
	}
	if len(values) > 1 {
		w.faults["batch of several values"]++
	}
	var keys []string
	var releases []func()
	for _, v := range values {
		keys = append(keys, v.Key)
		releases = append(releases, w.claim(op, v.Key))
	}
	for _, key := range keys {
		w.inBatch[key] = keys
	}
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		for i, key := range keys {
			delete(w.inBatch, key)
			releases[i]()
		}
	}
}

// answered returns how many results a batch of n values returns.
func (w *world) answered(n int) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.dead || !w.short() {
		return n
	}
	w.faults["batch without a result"]++
	return n - 1
}
