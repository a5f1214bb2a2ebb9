package orchestrator

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

// The history keeps the first transactions and the last. The desired states
// between them, and before the first, are unknown.
func TestRollbackOverGap(t *testing.T) {
	t.Parallel()
	var history []*api.RecordedTxn
	for seq, key := range map[uint64]string{0: "a", 1: "b", 2: "a", 7: "b", 8: "c"} {
		history = append(history, &api.RecordedTxn{SeqNum: seq, TxnType: api.NBTransaction, Values: []api.RecordedKVPair{
			{Key: key, Value: &interfaces.Interface{Mtu: uint32(seq)}},
		}})
	}
	slices.SortFunc(history, func(a, b *api.RecordedTxn) int { return int(a.SeqNum) - int(b.SeqNum) })
	for _, c := range []struct {
		to            uint64
		values        map[string]uint32
		complete, all bool
		err           string
	}{
		{to: 1, values: map[string]uint32{"a": 0, "b": 1}, complete: true, all: true},
		{to: 2, values: map[string]uint32{"a": 2, "b": 1}, complete: true, all: true},
		{to: 3, err: "no longer in the history"},
		{to: 6, err: "no longer in the history"},
		{to: 7, values: map[string]uint32{"b": 7}},
		{to: 8, values: map[string]uint32{"b": 7, "c": 8}},
		{to: 9, err: "which has 0 to 8"},
	} {
		then, err := wantedAfter(history, c.to)
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("to %d: %v, expected: %s", c.to, err, c.err)
			}
			continue
		}
		if err != nil {
			t.Errorf("to %d: %v", c.to, err)
			continue
		}
		same := func(got proto.Message, mtu uint32) bool { return got.(*interfaces.Interface).Mtu == mtu }
		if !maps.EqualFunc(then.values, c.values, same) || then.complete != c.complete || then.all != c.all {
			t.Errorf("to %d: %+v, expected %+v", c.to, then, c)
		}
	}
}
