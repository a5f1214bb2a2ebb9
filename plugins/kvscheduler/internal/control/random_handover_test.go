package control_test

import (
	"slices"
	"strings"
	"time"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest/model"
	"github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
)

// mended tells that what failed in the last transaction was tried once more,
// after something was removed that may have been in its way.
func (s *simulation) mended() bool {
	history := s.c.GetTransactionHistory(time.Time{}, time.Time{})
	ops := history[len(history)-1].Executed
	at := slices.IndexFunc(ops, func(op api.RecordedTxnOp) bool { return op.NewErrMsg != "" })
	if at < 0 || ops[at].Operation == kvscheduler.TxnOperation_DELETE {
		return false
	}
	rest := ops[at+1:]
	again := slices.IndexFunc(rest, func(op api.RecordedTxnOp) bool { return op.Key == ops[at].Key && op.NewErrMsg == "" })
	return again > 0 && slices.ContainsFunc(rest[:again], func(op api.RecordedTxnOp) bool { return op.Operation == kvscheduler.TxnOperation_DELETE })
}

// hitless checks a transaction during which nothing failed: who stays with one
// of several that can be there twice does not go down because the last of them
// goes, if one comes that needs nothing.
func (s *simulation) hitless(values map[string]*model.Item, ops []string) {
	for key := range s.o.wanted {
		it := s.o.wanted[key]
		if _, named := values[key]; named || !bounced(key, ops) || len(it.AnyOf) == 0 || !sideBySide(it.AnyOf[0]) {
			continue
		}
		if slices.ContainsFunc(it.Deps, func(dep string) bool { return wentDown(dep, ops) }) {
			continue
		}
		for other, comes := range values {
			if comes != nil && strings.HasPrefix(other, it.AnyOf[0]) && slices.Contains(ops, "create "+other) && !wentDown(other, ops) &&
				len(comes.Deps)+len(comes.AnyOf) == 0 {
				s.fatal("%s went down although %s came: %q", key, other, ops)
			}
		}
	}
}

func bounced(key string, ops []string) bool {
	return slices.Contains(ops, "delete "+key) && slices.Contains(ops, "create "+key)
}

// wentDown tells whether a value or, if it is a property, its base was removed.
func wentDown(key string, ops []string) bool {
	if base, ok := baseOfProperty(key); ok {
		key = base
	}
	return slices.Contains(ops, "delete "+key)
}
