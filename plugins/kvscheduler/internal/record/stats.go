package record

import (
	"maps"
	"time"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
)

// Stats counts what completed transactions did.
type Stats struct {
	// Transactions is the number of completed transactions.
	Transactions uint64
	// Errors is the number of executed operations that failed.
	Errors uint64
	// Operations counts the executed operations by kind.
	Operations map[api.TxnOperation]uint64
	// States counts the states that executed operations left behind.
	States map[api.ValueState]uint64
	// Executing is the time between start and stop of transactions.
	Executing Timing
	// Calls is the time spent in descriptors, by kind of operation.
	Calls map[api.TxnOperation]Timing
}

// Timing sums up durations.
type Timing struct {
	Count           uint64
	Total, Min, Max time.Duration
}

// Average is the mean duration; 0 if there was none.
func (t Timing) Average() time.Duration {
	if t.Count == 0 {
		return 0
	}
	return t.Total / time.Duration(t.Count)
}

func (t Timing) plus(d time.Duration) Timing {
	if t.Count == 0 || d < t.Min {
		t.Min = d
	}
	t.Max = max(t.Max, d)
	t.Total += d
	t.Count++
	return t
}

func newStats() Stats {
	return Stats{
		Operations: map[api.TxnOperation]uint64{},
		States:     map[api.ValueState]uint64{},
		Calls:      map[api.TxnOperation]Timing{},
	}
}

func (s *Stats) add(txn *api.RecordedTxn) {
	s.Transactions++
	s.Executing = s.Executing.plus(txn.Stop.Sub(txn.Start))
	for i := range txn.Executed {
		op := &txn.Executed[i]
		s.Operations[op.Operation]++
		s.States[op.NewState]++
		if op.NewErrMsg != "" {
			s.Errors++
		}
		if !op.NOOP && op.HasRun() {
			s.Calls[op.Operation] = s.Calls[op.Operation].plus(op.Took())
		}
	}
}

func (s *Stats) clone() Stats {
	c := *s
	c.Operations = maps.Clone(s.Operations)
	c.States = maps.Clone(s.States)
	c.Calls = maps.Clone(s.Calls)
	return c
}

// StatsOf counts what the given transactions did.
func StatsOf(txns []*api.RecordedTxn) Stats {
	s := newStats()
	for _, txn := range txns {
		s.add(txn)
	}
	return s
}
