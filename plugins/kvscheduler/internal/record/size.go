package record

import (
	"unsafe"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
)

const (
	// sampled is how many values of a transaction are measured at most; the
	// size of the others is taken from their average.
	sampled = 32
	// heapPerWireByte is a rule of thumb: a message in memory compared with its
	// encoding.
	heapPerWireByte = 4
	// heapPerMessage is the fixed cost of a message in memory, in bytes.
	heapPerMessage = 64
)

// sizeOf estimates the heap that a record keeps alive. Keys and messages are
// counted once, although the graph usually shares them, so that the bound
// holds even if it does not.
func sizeOf(txn *api.RecordedTxn) int64 {
	var s sampler
	s.step = max(1, (len(txn.Values)+len(txn.Executed)+len(txn.Planned))/sampled)
	for i := range txn.Values {
		s.add(i, txn.Values[i].Key, txn.Values[i].Value)
	}
	for _, ops := range [][]api.RecordedTxnOp{txn.Planned, txn.Executed} {
		for i := range ops {
			s.add(i, ops[i].Key, ops[i].PrevValue)
			s.fixed += int64(len(ops[i].NewErrMsg) + len(ops[i].PrevErrMsg))
		}
	}
	const op, kv = int64(unsafe.Sizeof(api.RecordedTxnOp{})), int64(unsafe.Sizeof(api.RecordedKVPair{}))
	fixed := int64(unsafe.Sizeof(*txn)) + int64(len(txn.Description)) + s.fixed +
		op*int64(len(txn.Planned)+len(txn.Executed)) + kv*int64(len(txn.Values))
	return fixed + s.total()
}

// sampler measures every step-th value.
type sampler struct {
	step     int
	count    int64 // values seen
	measured int64 // values measured
	bytes    int64 // of those measured
	fixed    int64
}

func (s *sampler) add(i int, key string, value proto.Message) {
	s.count++
	if i%s.step != 0 {
		return
	}
	s.measured++
	s.bytes += int64(len(key))
	if value != nil {
		s.bytes += heapPerMessage + heapPerWireByte*int64(proto.Size(value))
	}
}

func (s *sampler) total() int64 {
	if s.measured == 0 {
		return 0
	}
	return s.bytes * s.count / s.measured
}
