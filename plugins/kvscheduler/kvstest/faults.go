package kvstest

import (
	"errors"
	"fmt"
	"strings"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	pb "github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
)

// Retrieve stands for the operation "retrieve" in faults; its key is the name
// of the descriptor.
const Retrieve = pb.TxnOperation_VALIDATE

// ErrInjected is the error of every fault that has none of its own.
var ErrInjected = errors.New("injected failure")

// Fault makes an operation of a southbound fail: of a MockSB, or of any other
// behind a descriptor; see Faulty.
type Fault struct {
	// Op is the operation: CREATE, UPDATE, DELETE or Retrieve.
	Op api.TxnOperation
	// Key is the key of the value, or the name of the descriptor for Retrieve. A
	// key that ends in "*" stands for all keys with the prefix.
	Key string
	// After makes it fail after it took effect, as a reply that is lost.
	After bool
	// Times is how often it fails; 0 is always.
	Times int
	// Err is the error; default: ErrInjected with operation and key.
	Err error
	// Hollow is the key of a value that Retrieve of a MockSB returns without its
	// content, instead of failing.
	Hollow string
	// Lie makes an operation of a MockSB have no effect, and return no error.
	Lie bool
	// Panic makes the callback panic instead.
	Panic bool
	// Crash, if not nil, is called: the southbound goes down with this operation,
	// and loses everything.
	Crash func()
	// Hang makes the callback of a MockSB hang until Release, before it takes
	// effect. Then it fails if Err is set, and is successful otherwise.
	Hang bool

	left int
}

// faultList are the faults of a southbound, the first that applies counts.
type faultList []*Fault

func (l *faultList) add(f Fault) {
	f.left = f.Times
	*l = append(*l, &f)
}

// take returns the first fault that applies and counts it.
func (l *faultList) take(op api.TxnOperation, key string) *Fault {
	for i, f := range *l {
		if f.Op != op || !f.matches(key) {
			continue
		}
		if f.Times > 0 {
			if f.left--; f.left == 0 {
				*l = append((*l)[:i:i], (*l)[i+1:]...)
			}
		}
		return f
	}
	return nil
}

// Inject adds a fault.
func (sb *MockSB) Inject(f Fault) {
	sb.mu.Lock()
	defer sb.mu.Unlock()
	sb.faults.add(f)
}

// hang keeps an operation waiting for Release; sb.mu is held before and after.
func (sb *MockSB) hang(key string) {
	until := make(chan struct{})
	sb.hanging[key] = until
	sb.changed.Broadcast()
	sb.mu.Unlock()
	<-until
	sb.mu.Lock()
}

// AwaitHang waits until an operation on the key hangs; of Retrieve the key is
// the name of the descriptor.
func (sb *MockSB) AwaitHang(key string) {
	sb.mu.Lock()
	defer sb.mu.Unlock()
	for sb.hanging[key] == nil {
		sb.changed.Wait()
	}
}

// Release lets the operation on the key that hangs continue; false if there is
// none.
func (sb *MockSB) Release(key string) bool {
	sb.mu.Lock()
	defer sb.mu.Unlock()
	until := sb.hanging[key]
	if until == nil {
		return false
	}
	delete(sb.hanging, key)
	close(until)
	return true
}

// ReleaseAll lets everything that hangs continue, for the end of a test.
func (sb *MockSB) ReleaseAll() {
	sb.mu.Lock()
	defer sb.mu.Unlock()
	for _, until := range sb.hanging {
		close(until)
	}
	clear(sb.hanging)
}

// Heal removes all faults.
func (sb *MockSB) Heal() {
	sb.mu.Lock()
	defer sb.mu.Unlock()
	sb.faults = nil
}

func (f *Fault) matches(key string) bool {
	if prefix, ok := strings.CutSuffix(f.Key, "*"); ok {
		return strings.HasPrefix(key, prefix)
	}
	return f.Key == key
}

func (f *Fault) strike(op api.TxnOperation, key string) error {
	err := f.Err
	if err == nil {
		err = fmt.Errorf("%w of %s %s", ErrInjected, opName(op), key)
	}
	if f.Panic {
		panic(err.Error())
	}
	return err
}
