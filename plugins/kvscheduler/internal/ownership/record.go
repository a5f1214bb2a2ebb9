// Package ownership keeps, beyond the life of the process, what the scheduler
// made in the southbound, what it must not touch there (the quarantine), and
// what the northbound asked for.
//
// # What is written when
//
// A transaction costs at most two writes. Before its first operation the values
// that it is about to create or change are written as they shall be, together
// with the number of the transaction, which is written for removals as well; after the
// last one, what became of them
// otherwise, what was removed, and that the transaction is over. What is about
// to be deleted is on record already; a value that is removed to be created again is on
// record as it was and as it shall be. So at every moment everything in the
// southbound that is the scheduler's own work is on record, and after a crash
// the next process finds out, by Retrieve, what of it there really is. A
// transaction that executes nothing writes nothing.
//
// # Testing with it
//
// Memory is a journal that outlives a scheduler: give the same one to the next.
// A crash is that from some moment on nothing of what the scheduler does has any
// effect, neither in the southbound nor in its journal:
//
//	journal := ownership.NewMemory()
//	c := engine.New(engine.Options{Journal: journal})
//	...                // in a callback, before or after its effect:
//	journal.Freeze()   // and let the fake southbound ignore all that follows
//	...                // stop c, whatever it believes
//	journal.Thaw()
//	c = engine.New(engine.Options{Journal: journal})
//
// Fail makes writes fail, as a full disk does. In a process of its own, use
// state-dir in kvscheduler.conf and kill -9.
package ownership

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
)

// Record is one value that the scheduler made.
type Record struct {
	Key        string
	Descriptor string
	Southbound string // the session it lives in; empty: none
	// Txn is the transaction that made the value what it is, by the count of the
	// process of that time; Time is when that was.
	Txn  uint64
	Time time.Time
	// Value is the value as it was to be; nil if it is still encoded, see Message.
	Value proto.Message

	typ  string
	wire []byte
}

// Message returns the value, decoded again if it is encoded; nil if its type is
// not known to this program (any more), or for a nil record.
func (r *Record) Message() proto.Message {
	if r == nil {
		return nil
	}
	if r.Value == nil && r.typ != "" {
		return decodeMessage(r.typ, r.wire)
	}
	return r.Value
}

// ValueType is the full name of the type of the value, also of one that is not
// known.
func (r *Record) ValueType() string {
	if r.typ == "" && r.Value != nil {
		return string(r.Value.ProtoReflect().Descriptor().FullName())
	}
	return r.typ
}

func decodeMessage(typ string, wire []byte) proto.Message {
	mt, err := protoregistry.GlobalTypes.FindMessageByName(protoreflect.FullName(typ))
	if err != nil {
		return nil
	}
	m := mt.New().Interface()
	if proto.Unmarshal(wire, m) != nil {
		return nil
	}
	return m
}

// Batch is one write: all of it takes effect or nothing.
type Batch struct {
	// Txn is the transaction that writes; Running reports whether it is about to be
	// executed, else it is over.
	Txn     uint64
	Running bool
	// All: what is not in Put is not on record any more.
	All bool
	// Delete are keys to be taken off the record, before those in Put are added.
	Delete []string
	Put    []Record
	// Former are values that the transaction replaces, as they were: the records in Put
	// say what they shall be, and until the outcome is known either may exist. A running
	// transaction adds to those on record, one that is over replaces them.
	Former []Record
}

// FormerState is the name that the former values are kept under; see LoadState.
const FormerState = "former"

// encodeFormer encodes the former values, by key.
func (b *Batch) encodeFormer() (map[string][]byte, error) {
	if len(b.Former) == 0 {
		return nil, nil
	}
	all := make(map[string][]byte, len(b.Former))
	for i := range b.Former {
		data, err := b.Former[i].encode(nil)
		if err != nil {
			return nil, err
		}
		all[b.Former[i].Key] = data
	}
	return all, nil
}

// DecodeFormer reads what LoadState returned for FormerState.
func DecodeFormer(state map[string][]byte) (all []Record, err error) {
	known := names{}
	for _, key := range slices.Sorted(maps.Keys(state)) {
		rec, err := decode(key, state[key], known)
		if err != nil {
			return nil, err
		}
		all = append(all, rec)
	}
	return all, nil
}

// Interrupted is the transaction during which the last process ended.
type Interrupted struct {
	Txn  uint64
	Time time.Time // when it was begun
}

var errRecord = errors.New("the record is damaged")

// encode appends the record, without its key, to b.
func (r *Record) encode(b []byte) ([]byte, error) {
	typ, wire := r.typ, r.wire
	if r.Value != nil {
		var err error
		typ = r.ValueType()
		if wire, err = (proto.MarshalOptions{Deterministic: true}).Marshal(r.Value); err != nil {
			return nil, fmt.Errorf("encode %s: %w", r.Key, err)
		}
	}
	b = binary.AppendUvarint(b, r.Txn)
	b = binary.AppendVarint(b, r.Time.UnixNano())
	for _, text := range [...]string{r.Descriptor, r.Southbound, typ} {
		b = binary.AppendUvarint(b, uint64(len(text)))
		b = append(b, text...)
	}
	return append(b, wire...), nil
}

// names keeps one copy of each of the few names that all records have in common.
type names map[string]string

func (n names) of(text []byte) string {
	name, ok := n[string(text)]
	if !ok {
		name = string(text)
		n[name] = name
	}
	return name
}

// decode reads what encode wrote. The record keeps nothing of data.
func decode(key string, data []byte, known names) (Record, error) {
	r := Record{Key: key}
	fail := func() (Record, error) { return r, fmt.Errorf("%w: key %q", errRecord, key) }
	var n int
	if r.Txn, n = binary.Uvarint(data); n <= 0 {
		return fail()
	}
	data = data[n:]
	nanos, n := binary.Varint(data)
	if n <= 0 {
		return fail()
	}
	r.Time, data = time.Unix(0, nanos), data[n:]
	for _, text := range [...]*string{&r.Descriptor, &r.Southbound, &r.typ} {
		size, n := binary.Uvarint(data)
		if n <= 0 || size > uint64(len(data)-n) {
			return fail()
		}
		*text, data = known.of(data[n:n+int(size)]), data[n+int(size):]
	}
	r.wire = append([]byte(nil), data...)
	return r, nil
}
