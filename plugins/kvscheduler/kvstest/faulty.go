package kvstest

import (
	"context"
	"errors"
	"strings"
	"sync"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	pb "github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
)

// Faults are the faults to come of a southbound that is not a MockSB, and a
// record of what it was asked; see Faulty. The zero value injects nothing. All
// methods may be called concurrently.
type Faults struct {
	mu    sync.Mutex
	list  faultList
	calls []string
	gone  map[string]func() error // by key: repeats the last deletion
}

// Inject adds a fault.
func (f *Faults) Inject(fault Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.list.add(fault)
}

// Heal removes all faults.
func (f *Faults) Heal() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.list = nil
}

// TakeCalls returns the operations since the last call of TakeCalls, as in
// "create if/1" and "retrieve interface", failed ones included.
func (f *Faults) TakeCalls() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	calls := f.calls
	f.calls = nil
	return calls
}

// opName names operations in faults and calls.
func opName(op api.TxnOperation) string {
	if op == Retrieve {
		return "retrieve"
	}
	return strings.ToLower(op.String())
}

// take records an operation and returns the fault that applies to it, or nil.
func (f *Faults) take(op api.TxnOperation, key string) *Fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, opName(op)+" "+key)
	return f.list.take(op, key)
}

// do runs an operation with the fault that applies to it.
func (f *Faults) do(op api.TxnOperation, key string, call func() error) error {
	fault := f.take(op, key)
	if fault != nil && !fault.After {
		return fault.strike(op, key)
	}
	err := call()
	if fault != nil && succeeded(err) {
		return fault.strike(op, key)
	}
	return err
}

// succeeded reports whether a callback had its effect.
func succeeded(err error) bool { return err == nil || errors.Is(err, api.ErrFound) }

// Faulty returns a descriptor that does what d does, except for the faults:
// Create, Update, Delete, Retrieve and RetrieveValue fail (or panic) before or
// after they took effect. Several descriptors can share the faults. Callbacks
// that d does not have stay nil; callbacks of the result take a context, or batches if
// the callbacks of d do. d itself is not changed.
func Faulty(d *api.KVDescriptor, faults *Faults) *api.KVDescriptor {
	given := d
	d = d.WithContexts()
	w := *d
	if d.CreateContext != nil {
		w.CreateContext = func(ctx context.Context, key string, value proto.Message) (meta api.Metadata, err error) {
			err = faults.do(pb.TxnOperation_CREATE, key, func() (err error) {
				meta, err = d.CreateContext(ctx, key, value)
				return err
			})
			return meta, err
		}
	}
	if d.UpdateContext != nil {
		w.UpdateContext = func(ctx context.Context, key string, from, to proto.Message, old api.Metadata) (meta api.Metadata, err error) {
			meta = old
			err = faults.do(pb.TxnOperation_UPDATE, key, func() (err error) {
				meta, err = d.UpdateContext(ctx, key, from, to, old)
				return err
			})
			return meta, err
		}
	}
	if d.DeleteContext != nil {
		w.DeleteContext = func(ctx context.Context, key string, value proto.Message, meta api.Metadata) error {
			faults.remember(key, func() error { return d.DeleteContext(context.Background(), key, value, meta) })
			return faults.do(pb.TxnOperation_DELETE, key, func() error { return d.DeleteContext(ctx, key, value, meta) })
		}
	}
	faults.wrapRetrieve(d, &w)
	faults.wrapBatches(given, &w)
	return &w
}

// wrapBatches replaces the callbacks of w by those for batches that d has.
func (f *Faults) wrapBatches(d, w *api.KVDescriptor) {
	if d.CreateBatch != nil {
		w.CreateContext, w.CreateBatch = nil, f.batch(pb.TxnOperation_CREATE, d.CreateBatch)
	}
	if d.UpdateBatch != nil {
		w.UpdateContext, w.UpdateBatch = nil, f.batch(pb.TxnOperation_UPDATE, d.UpdateBatch)
	}
	if d.DeleteBatch != nil {
		w.DeleteContext, w.DeleteBatch = nil, f.batch(pb.TxnOperation_DELETE, d.DeleteBatch)
	}
}

// batch returns a callback that fails for the values with a fault, and calls another one
// with the values that have none or a fault after their effect.
func (f *Faults) batch(op api.TxnOperation, call api.KVBatchFunc) api.KVBatchFunc {
	return func(ctx context.Context, values []api.KVBatchValue) []api.KVBatchResult {
		results := make([]api.KVBatchResult, len(values))
		faults := make([]*Fault, len(values))
		var rest []api.KVBatchValue
		for i, v := range values {
			if faults[i] = f.take(op, v.Key); faults[i] == nil || faults[i].After {
				rest = append(rest, v)
			}
			if op == pb.TxnOperation_DELETE {
				f.remember(v.Key, func() error { return call(context.Background(), []api.KVBatchValue{v})[0].Err })
			}
		}
		var found []api.KVBatchResult
		if len(rest) > 0 {
			if found = call(ctx, rest); len(found) != len(rest) {
				return found // the scheduler reports it
			}
		}
		for i, v := range values {
			if fault := faults[i]; fault == nil || fault.After {
				results[i], found = found[0], found[1:]
			}
			if fault := faults[i]; fault != nil && succeeded(results[i].Err) {
				results[i] = api.KVBatchResult{Metadata: v.Metadata, Err: fault.strike(op, v.Key)}
			}
		}
		return results
	}
}

func (f *Faults) wrapRetrieve(d, w *api.KVDescriptor) {
	if d.RetrieveContext != nil {
		w.RetrieveContext = func(ctx context.Context, correlate []api.KVWithMetadata) (found []api.KVWithMetadata, err error) {
			err = f.do(Retrieve, d.Name, func() (err error) {
				found, err = d.RetrieveContext(ctx, correlate)
				return err
			})
			return found, err
		}
	}
	if d.RetrieveValueContext != nil {
		w.RetrieveValueContext = func(ctx context.Context, key string, last proto.Message, old api.Metadata) (v proto.Message, meta api.Metadata, exists bool, err error) {
			err = f.do(Retrieve, d.Name, func() (err error) {
				v, meta, exists, err = d.RetrieveValueContext(ctx, key, last, old)
				return err
			})
			return v, meta, exists, err
		}
	}
}

func (f *Faults) remember(key string, remove func() error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.gone == nil {
		f.gone = map[string]func() error{}
	}
	f.gone[key] = remove
}

// removeAgain repeats the last deletion of a key, faults aside.
func (f *Faults) removeAgain(key string) error {
	f.mu.Lock()
	remove := f.gone[key]
	f.mu.Unlock()
	if remove == nil {
		return nil
	}
	return remove()
}
