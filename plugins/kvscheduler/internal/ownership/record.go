// Package ownership is the journal: it stores, beyond the life of the process, the
// values that the scheduler created in the southbound, the values in quarantine, and
// the configuration of the northbound.
//
// # What is written when
//
// A transaction costs at most two writes. The first one precedes its first operation. It
// has the desired values that the transaction will create or change, and the number of the
// transaction; for removals only the number. The second one follows the last operation. It
// has the values with another outcome and the removed values, and ends the transaction. A
// value that will be deleted already has a record; a value that will be changed or re-created
// has a record of its old and of its new value. So all values that the scheduler created in
// the southbound are on record at any time, and after a crash the next process calls
// Retrieve to find those that exist. A transaction without operations writes nothing.
//
// Tests use kvstest.Journal, or state-dir in kvscheduler.conf and kill -9 in a process of its own.
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

// Record is one value that the scheduler created.
type Record struct {
	Key string
	*Kind
	// Txn is the last transaction that changed the value, as numbered by its process;
	// At is the time of that change, in nanoseconds since 1970; 0: unknown.
	Txn uint64
	At  int64
	// Value is the value as it was to be; nil if it is still encoded, see Message.
	Value proto.Message

	wire string
}

// Kind is what many records have in common. They share it, because after a restart there
// may be a million of them.
type Kind struct {
	Descriptor string
	Southbound string // empty: none
	Type       string // the full name of the type of a value that is still encoded
}

// Time is the time of the last change; zero if it is unknown.
func (r *Record) Time() time.Time {
	if r.At == 0 {
		return time.Time{}
	}
	return time.Unix(0, r.At)
}

// Message returns the value, decoded again if it is encoded; nil if this program does not
// know its type, or for a nil record.
func (r *Record) Message() proto.Message {
	if r == nil {
		return nil
	}
	if r.Value == nil && r.Type != "" {
		return decodeMessage(r.Type, r.wire)
	}
	return r.Value
}

// ValueType is the full name of the type of the value, also of one that is not
// known.
func (r *Record) ValueType() string {
	if r.Type == "" && r.Value != nil {
		return string(r.Value.ProtoReflect().Descriptor().FullName())
	}
	return r.Type
}

func decodeMessage(typ, wire string) proto.Message {
	mt, err := protoregistry.GlobalTypes.FindMessageByName(protoreflect.FullName(typ))
	if err != nil {
		return nil
	}
	m := mt.New().Interface()
	if proto.Unmarshal([]byte(wire), m) != nil {
		return nil
	}
	return m
}

// Batch is one atomic write.
type Batch struct {
	// Txn is the transaction that writes; Running reports whether its execution follows.
	// Otherwise it has ended.
	Txn     uint64
	Running bool
	// All deletes all records that are not in Put.
	All bool
	// Delete lists the keys whose records are deleted, before those in Put are added.
	Delete []string
	Put    []Record
	// Former holds the old values that the transaction replaces. Put has the new ones;
	// until the outcome is known either may exist. A running transaction adds to the
	// former values on record, a transaction that has ended replaces them.
	Former []Record
}

// FormerState is the name under which the former values are stored; see LoadState.
const FormerState = "former"

// Encode encodes records, by key.
func Encode(records []Record) (map[string][]byte, error) {
	if len(records) == 0 {
		return nil, nil
	}
	all := make(map[string][]byte, len(records))
	for i := range records {
		data, err := records[i].encode(nil)
		if err != nil {
			return nil, err
		}
		all[records[i].Key] = data
	}
	return all, nil
}

// Decode reads what Encode returned, in the order of the keys.
func Decode(state map[string][]byte) (all []Record, err error) {
	known := kinds{}
	for _, key := range slices.Sorted(maps.Keys(state)) {
		rec, err := decode(key, state[key], known)
		if err != nil {
			return nil, err
		}
		all = append(all, rec)
	}
	return all, nil
}

// Interrupted is the transaction that was in execution when the last process ended.
type Interrupted struct {
	Txn  uint64
	Time time.Time // when it was begun
}

var errRecord = errors.New("the record is damaged")

// encode appends the record, without its key, to b.
func (r *Record) encode(b []byte) ([]byte, error) {
	b = binary.AppendUvarint(b, r.Txn)
	b = binary.AppendVarint(b, r.At)
	for _, text := range [...]string{r.Descriptor, r.Southbound, r.ValueType()} {
		b = binary.AppendUvarint(b, uint64(len(text)))
		b = append(b, text...)
	}
	if r.Value == nil {
		return append(b, r.wire...), nil
	}
	b, err := (proto.MarshalOptions{Deterministic: true}).MarshalAppend(b, r.Value)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", r.Key, err)
	}
	return b, nil
}

// kinds has the kinds of the records that were read, by their encoded form.
type kinds map[string]*Kind

// take reads a kind from the beginning of data, and returns the rest; nil if it is damaged.
func (all kinds) take(data []byte) (k *Kind, rest []byte) {
	var texts [3][]byte
	rest = data
	for i := range texts {
		size, n := binary.Uvarint(rest)
		if n <= 0 || size > uint64(len(rest)-n) {
			return nil, nil
		}
		texts[i], rest = rest[n:n+int(size)], rest[n+int(size):]
	}
	encoded := data[:len(data)-len(rest)]
	if k = all[string(encoded)]; k == nil {
		k = &Kind{string(texts[0]), string(texts[1]), string(texts[2])}
		all[string(encoded)] = k
	}
	return k, rest
}

// decode reads what encode wrote. The record keeps nothing of data.
func decode(key string, data []byte, known kinds) (Record, error) {
	r := Record{Key: key}
	fail := func() (Record, error) { return r, fmt.Errorf("%w: key %q", errRecord, key) }
	var n int
	if r.Txn, n = binary.Uvarint(data); n <= 0 {
		return fail()
	}
	data = data[n:]
	if r.At, n = binary.Varint(data); n <= 0 {
		return fail()
	}
	kind, data := known.take(data[n:])
	if kind == nil {
		return fail()
	}
	r.Kind, r.wire = kind, string(data)
	return r, nil
}
