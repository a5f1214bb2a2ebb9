package kvstest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/record"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest/model"
	pb "github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
)

// Meta is the metadata of values in a MockSB: a handle that the southbound
// gives out at creation and wants back for every change, as VPP does with
// interface indexes.
type Meta struct{ Handle int }

// MockSB is a southbound in memory. It refuses to create what exists, to
// change or delete what does not, handles that are stale, and items with an
// identity that another one has. All methods may be called concurrently.
type MockSB struct {
	mu     sync.Mutex
	values map[string]*held
	next   int // handle
	calls  []string
	faults faultList

	hanging map[string]chan struct{} // operations by key; see Release
	changed *sync.Cond               // hanging did
	refuse  []Rule
	pieces  []string // prefixes of derived values that are stored on their own

	bases map[string]string // of the keys of derived values: the base that named them last
}

// held is a value in the southbound.
type held struct {
	value   proto.Message
	handle  int
	foreign bool
}

// Rule forbids operations that the southbound would refuse; see Refuse.
type Rule func(op api.TxnOperation, key string, value proto.Message, exists func(key string) bool) error

// NewMockSB returns an empty southbound.
func NewMockSB() *MockSB {
	sb := &MockSB{values: map[string]*held{}, bases: map[string]string{}, next: 1, hanging: map[string]chan struct{}{}}
	sb.changed = sync.NewCond(&sb.mu)
	return sb
}

// Refuse adds a rule that is asked before every operation of a descriptor;
// exists returns what is in the southbound.
func (sb *MockSB) Refuse(rule Rule) {
	sb.mu.Lock()
	defer sb.mu.Unlock()
	sb.refuse = append(sb.refuse, rule)
}

// Create is the Create of a descriptor.
func (sb *MockSB) Create(key string, value proto.Message) (*Meta, error) {
	var meta *Meta
	err := sb.do(pb.TxnOperation_CREATE, key, value, func(h *held) error {
		if h != nil {
			return fmt.Errorf("%s exists already", key)
		}
		meta = sb.store(key, value, false)
		return nil
	})
	return meta, err
}

// TakeOver is the Create of a descriptor that takes over what is there, as the kernel's requests
// to replace do.
func (sb *MockSB) TakeOver(key string, value proto.Message) (*Meta, error) {
	var meta *Meta
	found := false
	err := sb.do(pb.TxnOperation_CREATE, key, value, func(h *held) error {
		if found = h != nil; found {
			h.value, meta = proto.Clone(value), &Meta{h.handle}
			return nil
		}
		meta = sb.store(key, value, false)
		return nil
	})
	if err == nil && found {
		err = api.ErrFound
	}
	return meta, err
}

// Update is the Update of a descriptor.
func (sb *MockSB) Update(key string, value proto.Message, meta *Meta) (*Meta, error) {
	err := sb.do(pb.TxnOperation_UPDATE, key, value, func(h *held) error {
		if err := h.check(key, meta); err != nil {
			return err
		}
		h.value = proto.Clone(value)
		return nil
	})
	return meta, err
}

// Delete is the Delete of a descriptor. Unlike a good descriptor it refuses to
// delete what is not there, so that a scheduler that does it is caught.
func (sb *MockSB) Delete(key string, meta *Meta) error {
	return sb.do(pb.TxnOperation_DELETE, key, nil, func(h *held) error {
		if err := h.check(key, meta); err != nil {
			return err
		}
		delete(sb.values, key)
		return nil
	})
}

// check refuses what does not exist and stale handles; without metadata the
// handle is not looked at.
func (h *held) check(key string, meta *Meta) error {
	switch {
	case h == nil:
		return fmt.Errorf("%s does not exist", key)
	case meta != nil && meta.Handle != h.handle:
		return fmt.Errorf("%s: handle %d is stale, it is %d", key, meta.Handle, h.handle)
	}
	return nil
}

// do runs one operation with the faults and rules that apply to it.
func (sb *MockSB) do(op api.TxnOperation, key string, value proto.Message, effect func(*held) error) error {
	sb.mu.Lock()
	defer sb.mu.Unlock()
	fault := sb.faults.take(op, key)
	sb.calls = append(sb.calls, strings.ToLower(op.String())+" "+key)
	if fault != nil && fault.Hang {
		sb.hang(key)
		if fault.Err != nil {
			return fault.Err
		}
		fault = nil
	}
	if fault != nil && fault.Crash != nil {
		clear(sb.values)
		sb.next = 1
		fault.Crash()
	}
	if fault != nil && fault.Lie {
		return nil
	}
	if fault != nil && !fault.After {
		return fault.strike(op, key)
	}
	if err := sb.checkIdentities(key, value); err != nil {
		return err
	}
	for _, rule := range sb.refuse {
		if err := rule(op, key, value, func(k string) bool { return sb.values[k] != nil }); err != nil {
			return err
		}
	}
	if err := effect(sb.values[key]); err != nil {
		return err
	}
	if fault != nil {
		return fault.strike(op, key)
	}
	return nil
}

// checkIdentities refuses an item with an identity that another one has.
func (sb *MockSB) checkIdentities(key string, value proto.Message) error {
	item, _ := value.(*model.Item)
	for _, id := range item.GetIdentities() {
		for other, h := range sb.values {
			if o, _ := h.value.(*model.Item); other != key && slices.Contains(o.GetIdentities(), id) {
				return fmt.Errorf("%s: %s has the identity %s already", key, other, id)
			}
		}
	}
	return nil
}

func (sb *MockSB) store(key string, value proto.Message, foreign bool) *Meta {
	h := &held{proto.Clone(value), sb.next, foreign}
	sb.next++
	sb.values[key] = h
	return &Meta{h.handle}
}

// Retrieve reads all values whose key is selected, sorted by key. name is that
// of the descriptor, for faults of the operation "retrieve".
func (sb *MockSB) Retrieve(name string, selected api.KeySelector) ([]api.KVWithMetadata, error) {
	sb.mu.Lock()
	defer sb.mu.Unlock()
	sb.calls = append(sb.calls, "retrieve "+name)
	hollow := ""
	switch fault := sb.faults.take(Retrieve, name); {
	case fault == nil:
	case fault.Hang:
		sb.hang(name)
	case fault.Hollow != "":
		hollow = fault.Hollow
	default:
		return nil, fault.strike(Retrieve, name)
	}
	var found []api.KVWithMetadata
	for _, key := range slices.Sorted(maps.Keys(sb.values)) {
		if h := sb.values[key]; selected(key) && key == hollow {
			found = append(found, api.KVWithMetadata{Key: key})
		} else if selected(key) {
			found = append(found, api.KVWithMetadata{Key: key, Value: proto.Clone(h.value), Metadata: &Meta{h.handle}})
		}
	}
	return found, nil
}

// Put edits the southbound behind the back of the scheduler: it creates or
// changes a value and returns its metadata.
func (sb *MockSB) Put(key string, value proto.Message) *Meta {
	sb.mu.Lock()
	defer sb.mu.Unlock()
	if h := sb.values[key]; h != nil {
		h.value, h.foreign = proto.Clone(value), true
		return &Meta{h.handle}
	}
	return sb.store(key, value, true)
}

// foreignUsers returns the keys of the values that others made and that depend on a key.
func (sb *MockSB) foreignUsers(key string) (users []string) {
	sb.mu.Lock()
	defer sb.mu.Unlock()
	for k, h := range sb.values {
		if h.foreign && slices.Contains(h.value.(*model.Item).GetDeps(), key) {
			users = append(users, k)
		}
	}
	slices.Sort(users)
	return users
}

// Remove deletes a value behind the back of the scheduler.
func (sb *MockSB) Remove(key string) {
	sb.mu.Lock()
	defer sb.mu.Unlock()
	delete(sb.values, key)
}

// Restart loses all values, as a southbound that crashed; handles start from 1.
func (sb *MockSB) Restart() {
	sb.mu.Lock()
	defer sb.mu.Unlock()
	clear(sb.values)
	sb.next = 1
}

// Get returns the value of a key; nil if it does not exist.
func (sb *MockSB) Get(key string) proto.Message {
	sb.mu.Lock()
	defer sb.mu.Unlock()
	if h := sb.values[key]; h != nil {
		return proto.Clone(h.value)
	}
	return nil
}

// Keys returns the keys of all values, sorted.
func (sb *MockSB) Keys() []string {
	sb.mu.Lock()
	defer sb.mu.Unlock()
	return slices.Sorted(maps.Keys(sb.values))
}

// TakeCalls returns the operations since the last call of TakeCalls, as in
// "create if/1", failed ones included.
func (sb *MockSB) TakeCalls() []string {
	sb.mu.Lock()
	defer sb.mu.Unlock()
	calls := sb.calls
	sb.calls = nil
	return calls
}

// String is the content, one value a line, sorted by key; equal content gives
// equal text. Values of foreign origin are marked.
func (sb *MockSB) String() string {
	sb.mu.Lock()
	defer sb.mu.Unlock()
	var b strings.Builder
	for _, key := range slices.Sorted(maps.Keys(sb.values)) {
		h := sb.values[key]
		fmt.Fprintf(&b, "%s %s", key, record.ValueText(h.value))
		if h.foreign {
			b.WriteString(" foreign")
		}
		b.WriteByte('\n')
	}
	return b.String()
}
