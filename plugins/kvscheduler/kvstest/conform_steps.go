package kvstest

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	pb "github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
)

func (w *conforming) life() error {
	for _, key := range w.keys {
		for i, v := range w.lives[key] {
			what := fmt.Sprintf("create of %s", key)
			if i > 0 {
				what = fmt.Sprintf("change %d of %s", i, key)
			}
			if err := w.to(what, key, v); err != nil {
				return err
			}
		}
	}
	for _, key := range slices.Backward(w.keys) {
		if err := w.to("delete of "+key, key, nil); err != nil {
			return err
		}
	}
	return nil
}

func (w *conforming) idempotent() error {
	if err := w.createAll(); err != nil {
		return err
	}
	w.injected.TakeCalls()
	for _, key := range w.keys {
		if err := w.to("the same again for "+key, key, w.now[key]); err != nil {
			return err
		}
	}
	if changes := w.changes(); len(changes) > 0 {
		return fmt.Errorf("asked again for what exists, the scheduler has to: %s", strings.Join(changes, ", "))
	}
	changes, err := w.resync()
	if err != nil {
		return fmt.Errorf("resync: %w", err)
	}
	if len(changes) > 0 {
		return fmt.Errorf("a resync right after has to: %s; the values that Retrieve finds do not equal the created values",
			strings.Join(changes, ", "))
	}
	for _, key := range slices.Backward(w.keys) {
		if err := w.to("delete of "+key, key, nil); err != nil {
			return err
		}
		if err := w.injected.removeAgain(key); err != nil {
			return fmt.Errorf("delete of %s, which is gone already: %w; that must be a success, "+
				"because the value is gone", key, err)
		}
	}
	return nil
}

func (w *conforming) restart() error {
	if err := w.createAll(); err != nil {
		return err
	}
	w.injected.TakeCalls()
	err := w.start()
	if changes := w.changes(); len(changes) > 0 {
		return errors.Join(fmt.Errorf("after a restart the scheduler has to: %s; Retrieve must find everything as it was asked for, "+
			"with what it is given in correlate and without memory of its own", strings.Join(changes, ", ")), err)
	}
	if err != nil {
		return fmt.Errorf("restart: %w", err)
	}
	for _, key := range w.keys {
		if err := errors.Join(w.configured(key), w.agrees("after a restart", key)); err != nil {
			return err
		}
	}
	for _, key := range slices.Backward(w.keys) { // with the metadata that was retrieved
		if err := w.to("delete of "+key+" after a restart", key, nil); err != nil {
			return err
		}
	}
	return nil
}

func (w *conforming) lost() error {
	if err := w.createAll(); err != nil {
		return err
	}
	remove := w.d.WithContexts().DeleteContext
	for _, key := range w.keys {
		if remove == nil || len(w.scheduler.GetValueStatus(key).DerivedValues) > 0 {
			continue // its derived values would stay behind
		}
		v, meta := w.believed(key)
		if err := remove(w.t.Context(), key, v, meta); err != nil {
			// Something stands on it: then it cannot get lost either.
			w.t.Logf("%s cannot be removed behind the scheduler's back: %v", key, err)
			continue
		}
		if _, err := w.resync(); err != nil {
			return fmt.Errorf("resync after the loss of %s: %w", key, err)
		}
		if err := errors.Join(w.configured(key), w.agrees("after a loss and a resync", key)); err != nil {
			return err
		}
	}
	return nil
}

// believed is the value and the metadata that the scheduler has of a key.
func (w *conforming) believed(key string) (proto.Message, api.Metadata) {
	kvs, _ := w.scheduler.DumpValuesByDescriptor(w.d.Name, api.CachedView) // the descriptor is registered
	for _, kv := range kvs {
		if kv.Key == key {
			return kv.Value, kv.Metadata
		}
	}
	return w.now[key], nil
}

func (w *conforming) faults() error {
	for _, after := range []bool{false, true} {
		for _, key := range w.keys {
			life := w.lives[key]
			if err := w.faulty(pb.TxnOperation_CREATE, key, life[0], after); err != nil {
				return err
			}
			for _, next := range life[1:] {
				if err := w.faulty(pb.TxnOperation_UPDATE, key, next, after); err != nil {
					return err
				}
			}
			if len(life) > 1 {
				if err := w.faulty(pb.TxnOperation_CREATE, key, life[0], after); err != nil { // of a re-creation
					return err
				}
			}
		}
		for _, key := range slices.Backward(w.keys) {
			if err := w.faulty(pb.TxnOperation_DELETE, key, nil, after); err != nil {
				return err
			}
		}
	}
	return nil
}

// faulty sets a value while an operation fails, and then asks again.
func (w *conforming) faulty(op api.TxnOperation, key string, v proto.Message, after bool) error {
	w.injected.Inject(Fault{Op: op, Key: key, Times: 1, After: after})
	err := w.set(key, v)
	w.injected.Heal()
	if err != nil && !errors.Is(err, ErrInjected) {
		return fmt.Errorf("%s of %s, made to fail: %w", opName(op), key, err)
	}
	when := "before"
	if after {
		when = "after"
	}
	return w.to(fmt.Sprintf("asking again, as %s of %s failed %s it took effect", opName(op), key, when), key, v)
}

func (w *conforming) revert() error {
	first, last := w.keys[0], w.keys[len(w.keys)-1]
	if first == last && len(w.lives[first]) == 1 {
		return w.revertCreate(first)
	}
	if err := w.createAll(); err != nil {
		return err
	}
	// A change of the first value and the deletion of the last, which fails
	// after it took effect.
	txn := w.scheduler.StartNBTransaction()
	if life := w.lives[first]; len(life) > 1 {
		txn.SetValue(first, proto.Clone(life[1]))
	}
	if first != last {
		txn.SetValue(last, nil)
		w.injected.Inject(Fault{Op: pb.TxnOperation_DELETE, Key: last, Times: 1, After: true})
	} else {
		w.injected.Inject(Fault{Op: pb.TxnOperation_UPDATE, Key: first, Times: 1, After: true})
	}
	return w.reverted(txn)
}

func (w *conforming) revertCreate(key string) error {
	w.injected.Inject(Fault{Op: pb.TxnOperation_CREATE, Key: key, Times: 1, After: true})
	return w.reverted(w.scheduler.StartNBTransaction().SetValue(key, proto.Clone(w.lives[key][0])))
}

// reverted commits what fails and looks whether everything is as before.
func (w *conforming) reverted(txn api.Txn) error {
	_, err := txn.Commit(w.t.Context(), api.WithRevert())
	w.injected.Heal()
	if err == nil { // the fault did not strike: a change by re-creation
		return nil
	}
	if !errors.Is(err, ErrInjected) {
		return fmt.Errorf("a transaction made to fail: %w", err)
	}
	for _, key := range w.keys {
		if err := w.agrees("after a transaction that was reverted", key); err != nil {
			return err
		}
	}
	return nil
}

// together creates, changes and deletes all values in one transaction while the operation on
// one of them fails, and then again without the fault. The others must not be affected,
// which matters for batches.
func (w *conforming) together() error {
	for _, after := range []bool{false, true} {
		for _, failing := range w.keys {
			for _, stage := range []struct {
				op   api.TxnOperation
				want func(key string) proto.Message
			}{
				{pb.TxnOperation_CREATE, func(key string) proto.Message { return w.lives[key][0] }},
				{pb.TxnOperation_UPDATE, func(key string) proto.Message { return w.lives[key][min(1, len(w.lives[key])-1)] }},
				{pb.TxnOperation_DELETE, func(string) proto.Message { return nil }},
			} {
				w.injected.Inject(Fault{Op: stage.op, Key: failing, Times: 1, After: after})
				err := w.all(stage.want)
				w.injected.Heal()
				if err != nil && !errors.Is(err, ErrInjected) {
					return fmt.Errorf("%s of all values, with a failure of %s: %w", opName(stage.op), failing, err)
				}
				if err := w.all(stage.want); err != nil {
					return fmt.Errorf("%s of all values again, after a failure of %s: %w", opName(stage.op), failing, err)
				}
				for _, key := range w.keys {
					if err := w.agrees(fmt.Sprintf("after %s of all values, with a failure of %s", opName(stage.op), failing), key); err != nil {
						return err
					}
				}
			}
		}
	}
	return nil
}

// all asks for all keys at once.
func (w *conforming) all(want func(key string) proto.Message) error {
	txn := w.scheduler.StartNBTransaction()
	for _, key := range w.keys {
		v := want(key)
		if w.now[key] = v; v == nil {
			delete(w.now, key)
			txn.SetValue(key, nil)
		} else {
			txn.SetValue(key, proto.Clone(v))
		}
	}
	_, err := txn.Commit(w.t.Context())
	return err
}
