package restapi

import (
	"errors"
	"math"
	"net/http"
	"time"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api/response"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/record"
	pb "github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
)

func timing(name string, t record.Timing) response.Timing {
	sec := time.Duration.Seconds
	return response.Timing{Name: name, Count: t.Count, Total: sec(t.Total), Avg: sec(t.Average()), Min: sec(t.Min), Max: sec(t.Max)}
}

func (s *server) queue(*http.Request, arguments) (answer, error) {
	return asJSON(s.Scheduler.Queue()), nil
}

func (s *server) stats(*http.Request, arguments) (answer, error) {
	return asJSON(s.statistics()), nil
}

// statistics of all transactions; for single descriptors they are counted from
// the history.
func (s *server) statistics() response.Stats {
	totals := s.Scheduler.Stats()
	var j response.Stats
	txn := &j.TxnStats
	txn.TotalProcessed, txn.ErrorCount = totals.Transactions, totals.Errors
	txn.OperationCount, txn.ValueStateCount = map[string]uint64{}, map[string]uint64{}
	for _, op := range callbacks() {
		txn.OperationCount[op.String()] = totals.Operations[op]
	}
	for number, name := range pb.ValueState_name {
		txn.ValueStateCount[name] = totals.States[pb.ValueState(number)]
	}
	txn.Methods = []response.Timing{timing("executeTransaction", totals.Executing)}
	j.GraphMethods = []response.Timing{}
	j.AllDescriptors = timings(totals.Calls)
	j.Descriptors = s.byDescriptor(s.Scheduler.GetTransactionHistory(time.Time{}, time.Time{}))
	return j
}

func callbacks() []api.TxnOperation {
	return []api.TxnOperation{pb.TxnOperation_CREATE, pb.TxnOperation_UPDATE, pb.TxnOperation_DELETE}
}

func timings(calls map[api.TxnOperation]record.Timing) []response.Timing {
	names := map[api.TxnOperation]string{
		pb.TxnOperation_CREATE: "Create", pb.TxnOperation_UPDATE: "Update", pb.TxnOperation_DELETE: "Delete"}
	list := []response.Timing{}
	for _, op := range callbacks() {
		if t := calls[op]; t.Count > 0 {
			list = append(list, timing(names[op], t))
		}
	}
	return list
}

func (s *server) byDescriptor(history []*api.RecordedTxn) map[string][]response.Timing {
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
	byName := map[string][]response.Timing{}
	for _, d := range descriptors {
		byName[d.Name] = []response.Timing{}
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

// troublesShown is the default number of items that a summary names.
const troublesShown = 3

// summary counts the values and items by state and names the worst.
func (s *server) summary(_ *http.Request, args arguments) (answer, error) {
	limit, given, err1 := args.number("limit")
	groups, err2 := args.flag("groups")
	filter, _, err3 := args.filter("key-prefix")
	if err := errors.Join(err1, err2, err3); err != nil {
		return nil, err
	}
	if !given {
		limit = troublesShown
	}
	states := s.Scheduler.SummarizeValues(filter, int(min(limit, math.MaxInt32)))
	sum := response.Summary{States: statesByName(states.Counts), Items: statesByName(states.Items), Troubles: []response.Trouble{}, Omitted: states.Troubles - len(states.Worst)}
	for _, n := range sum.States {
		sum.Values += n
	}
	for _, v := range states.Worst {
		sum.Troubles = append(sum.Troubles, response.Trouble{Key: v.GetKey(), State: v.GetState().String(), Reason: api.Reason(v)})
	}
	if groups {
		sum.Groups = s.groups(states.Groups)
	}
	return asJSON(sum), nil
}

func statesByName(counts map[api.ValueState]int) map[string]int {
	out := make(map[string]int, len(counts))
	for state, n := range counts {
		out[state.String()] = n
	}
	return out
}

// groups returns groups of values with the prefixes of their keys.
func (s *server) groups(groups []api.ValueGroup) []response.Group {
	prefixes := map[string]string{}
	for _, d := range s.Scheduler.ListDescriptors() {
		prefixes[d.Name] = d.NBKeyPrefix
	}
	list := make([]response.Group, len(groups))
	for i, g := range groups {
		list[i] = response.Group{Descriptor: g.Descriptor, KeyPrefix: prefixes[g.Descriptor], States: statesByName(g.Counts)}
		for _, n := range g.Counts {
			list[i].Values += n
		}
	}
	return list
}
