package api

import (
	"context"

	"google.golang.org/protobuf/proto"
)

// MaxBatch is the most values of a batch.
const MaxBatch = 64

// BatchFunc runs the same operation on several values. It returns one result per value, in
// the order of the values.
type BatchFunc[V proto.Message, M any] func(ctx context.Context, values []BatchValue[V, M]) []BatchResult[M]

// BatchValue is one value of a batch. A batch has no key twice.
type BatchValue[V proto.Message, M any] struct {
	Key string
	// Old is the actual value, and Metadata is its metadata; both are zero for CreateBatch.
	Old      V
	Metadata M
	// New is the desired value; zero for DeleteBatch.
	New V
}

// BatchResult is the outcome of the operation on one value of a batch.
type BatchResult[M any] struct {
	Metadata M // as Create and Update return it; zero for DeleteBatch
	Err      error
}

// KVBatchFunc is BatchFunc for any type of values.
type KVBatchFunc = BatchFunc[proto.Message, Metadata]

// KVBatchValue is BatchValue for any type of values.
type KVBatchValue = BatchValue[proto.Message, Metadata]

// KVBatchResult is BatchResult for any type of values.
type KVBatchResult = BatchResult[Metadata]

// Batches reports whether any callback of the descriptor takes batches.
func (d *Descriptor[V, M]) Batches() bool {
	return d.CreateBatch != nil || d.UpdateBatch != nil || d.DeleteBatch != nil
}

// adaptBatch adapts a callback that takes batches. Values of a wrong type get their error
// as result, and the callback receives the others.
func (a adapter[V, M]) adaptBatch(f BatchFunc[V, M]) KVBatchFunc {
	if f == nil {
		return nil
	}
	return func(ctx context.Context, values []KVBatchValue) []KVBatchResult {
		typed := make([]BatchValue[V, M], 0, len(values))
		failed := map[int]error{} // by index
		for i := range values {
			v, err := a.batchValue(&values[i])
			if err != nil {
				failed[i] = err
				continue
			}
			typed = append(typed, v)
		}
		var found []BatchResult[M]
		if len(typed) > 0 {
			found = f(ctx, typed)
		}
		out := make([]KVBatchResult, 0, len(values))
		for i := range values {
			if err := failed[i]; err != nil {
				out = append(out, KVBatchResult{Err: err})
			} else if len(found) > 0 {
				out = append(out, KVBatchResult{found[0].Metadata, found[0].Err})
				found = found[1:]
			} else {
				break
			}
		}
		for _, more := range found { // more than there are values: the scheduler reports it
			out = append(out, KVBatchResult{more.Metadata, more.Err})
		}
		return out
	}
}

func (a adapter[V, M]) batchValue(from *KVBatchValue) (to BatchValue[V, M], err error) {
	to.Key = from.Key
	if from.Old != nil {
		if to.Old, err = a.value(from.Key, from.Old); err != nil {
			return to, err
		}
	}
	if from.New != nil {
		if to.New, err = a.value(from.Key, from.New); err != nil {
			return to, err
		}
	}
	to.Metadata, err = a.metadata(from.Key, from.Metadata)
	return to, err
}
