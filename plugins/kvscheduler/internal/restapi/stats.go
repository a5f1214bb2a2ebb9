package restapi

import (
	"net/http"
	"time"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/record"
	pb "github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
)

// jsonTiming is one method in the statistics; times are in seconds.
type jsonTiming struct {
	Name  string  `json:"name"`
	Count uint64  `json:"count"`
	Total float64 `json:"total,omitempty"`
	Avg   float64 `json:"avg,omitempty"`
	Min   float64 `json:"min,omitempty"`
	Max   float64 `json:"max,omitempty"`
}

func timing(name string, t record.Timing) jsonTiming {
	sec := time.Duration.Seconds
	return jsonTiming{name, t.Count, sec(t.Total), sec(t.Average()), sec(t.Min), sec(t.Max)}
}

type jsonStats struct {
	TxnStats struct {
		TotalProcessed  uint64
		OperationCount  map[string]uint64
		ValueStateCount map[string]uint64
		ErrorCount      uint64
		Methods         []jsonTiming
	}
	GraphMethods   []jsonTiming
	AllDescriptors []jsonTiming
	Descriptors    map[string][]jsonTiming
}

func (s *server) stats(*http.Request, arguments) (answer, error) {
	return asJSON(s.statistics()), nil
}

// statistics of all transactions; those of single descriptors are counted from
// the history.
func (s *server) statistics() jsonStats {
	history := s.Scheduler.GetTransactionHistory(time.Time{}, time.Time{})
	var totals record.Stats
	if s.Stats != nil {
		totals = s.Stats()
	} else {
		totals = record.StatsOf(history)
	}
	var j jsonStats
	txn := &j.TxnStats
	txn.TotalProcessed, txn.ErrorCount = totals.Transactions, totals.Errors
	txn.OperationCount, txn.ValueStateCount = map[string]uint64{}, map[string]uint64{}
	for _, op := range callbacks() {
		txn.OperationCount[op.String()] = totals.Operations[op]
	}
	for number, name := range pb.ValueState_name {
		txn.ValueStateCount[name] = totals.States[pb.ValueState(number)]
	}
	txn.Methods = []jsonTiming{timing("executeTransaction", totals.Executing)}
	j.GraphMethods = []jsonTiming{}
	j.AllDescriptors = timings(totals.Calls)
	j.Descriptors = s.byDescriptor(history)
	return j
}

func callbacks() []api.TxnOperation {
	return []api.TxnOperation{pb.TxnOperation_CREATE, pb.TxnOperation_UPDATE, pb.TxnOperation_DELETE}
}

func timings(calls map[api.TxnOperation]record.Timing) []jsonTiming {
	names := map[api.TxnOperation]string{
		pb.TxnOperation_CREATE: "Create", pb.TxnOperation_UPDATE: "Update", pb.TxnOperation_DELETE: "Delete"}
	list := []jsonTiming{}
	for _, op := range callbacks() {
		if t := calls[op]; t.Count > 0 {
			list = append(list, timing(names[op], t))
		}
	}
	return list
}

func (s *server) byDescriptor(history []*api.RecordedTxn) map[string][]jsonTiming {
	descriptors := s.Scheduler.ListDescriptors()
	parts := map[string]*api.RecordedTxn{}
	owners := map[string]string{}
	for _, txn := range history {
		for i := range txn.Executed {
			op := txn.Executed[i]
			name, known := owners[op.Key]
			if !known {
				name = ownerOf(descriptors, op.Key)
				owners[op.Key] = name
			}
			if parts[name] == nil {
				parts[name] = &api.RecordedTxn{}
			}
			parts[name].Executed = append(parts[name].Executed, op)
		}
	}
	byName := map[string][]jsonTiming{}
	for _, d := range descriptors {
		byName[d.Name] = []jsonTiming{}
		if part := parts[d.Name]; part != nil {
			byName[d.Name] = timings(record.StatsOf([]*api.RecordedTxn{part}).Calls)
		}
	}
	return byName
}

func ownerOf(descriptors []*api.KVDescriptor, key string) string {
	for _, d := range descriptors {
		if d.KeySelector(key) {
			return d.Name
		}
	}
	return ""
}
