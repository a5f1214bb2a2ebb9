package kvstest

import (
	"context"
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

// do runs an operation with the fault that applies to it.
func (f *Faults) do(op api.TxnOperation, key string, call func() error) error {
	f.mu.Lock()
	fault := f.list.take(op, key)
	f.calls = append(f.calls, opName(op)+" "+key)
	f.mu.Unlock()
	if fault != nil && !fault.After {
		return fault.strike(op, key)
	}
	if err := call(); err != nil {
		return err
	}
	if fault != nil {
		return fault.strike(op, key)
	}
	return nil
}

// Faulty returns a descriptor that does what d does, except for the faults:
// Create, Update, Delete, Retrieve and RetrieveValue fail (or panic) before or
// after they took effect. Several descriptors can share the faults. Callbacks
// that d does not have stay nil; those of the result take a context. d itself is not changed.
func Faulty(d *api.KVDescriptor, faults *Faults) *api.KVDescriptor {
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
	return &w
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
