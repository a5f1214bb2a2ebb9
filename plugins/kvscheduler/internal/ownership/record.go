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
// value that will be deleted already has a record; a value that will be re-created has
// a record of its old and of its new value. So all values that the scheduler created in
// the southbound are on record at any time, and after a crash the next process calls
// Retrieve to find those that exist. A transaction without operations writes nothing.
//
// # Testing with it
//
// Memory is a journal that outlives a scheduler: pass the same one to the next. To
// simulate a crash, make all further actions of the scheduler ineffective, in the
// southbound and in its journal:
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

// Record is one value that the scheduler created.
type Record struct {
	Key        string
	Descriptor string
	Southbound string // empty: none
	// Txn is the last transaction that changed the value, as numbered by its process;
	// Time is the time of that change.
	Txn  uint64
	Time time.Time
	// Value is the value as it was to be; nil if it is still encoded, see Message.
	Value proto.Message

	typ  string
	wire string
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

// Interrupted is the transaction that was in execution when the last process ended.
type Interrupted struct {
	Txn  uint64
	Time time.Time // when it was begun
}

var errRecord = errors.New("the record is damaged")

// encode appends the record, without its key, to b.
func (r *Record) encode(b []byte) ([]byte, error) {
	b = binary.AppendUvarint(b, r.Txn)
	b = binary.AppendVarint(b, r.Time.UnixNano())
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
	r.wire = string(data)
	return r, nil
}
