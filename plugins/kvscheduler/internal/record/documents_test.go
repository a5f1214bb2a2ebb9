package record_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/record"
	pb "github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
	l3 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l3"
	nat "github.com/tenuto-dev/tenuto/proto/ligato/vpp/nat"
)

// TestLogOfTheDocuments writes the transaction that the predecessor's document on the
// KV Scheduler shows. The text is the one of the document, but for what migrating.md
// lists: CREATE and UPDATE, which the other documents have as well, instead of ADD and
// MODIFY; values in the text format of today's protobuf; no monotonic clock.
func TestLogOfTheDocuments(t *testing.T) {
	t.Parallel()
	const dnatKey, neighKey = "vpp/config/v2/nat44/dnat/default/kubernetes", "vpp/config/v2/ipneigh"
	dnat := &nat.DNat44{Label: "default/kubernetes", StMappings: []*nat.DNat44_StaticMapping{{
		ExternalPort: 443, TwiceNat: nat.DNat44_StaticMapping_SELF,
		LocalIps: []*nat.DNat44_StaticMapping_LocalIP{{LocalPort: 6443}},
	}}}
	neigh := &l3.IPScanNeighbor{Mode: l3.IPScanNeighbor_IPV4, ScanInterval: 1, StaleThreshold: 4}
	was := &l3.IPScanNeighbor{ScanInterval: 1, MaxProcTime: 20, MaxUpdate: 10, ScanIntDelay: 1, StaleThreshold: 4}
	ops := []api.RecordedTxnOp{
		{Operation: pb.TxnOperation_CREATE, Key: dnatKey, NewValue: dnat, NewState: pb.ValueState_CONFIGURED},
		{Operation: pb.TxnOperation_UPDATE, Key: neighKey, PrevValue: was, NewValue: neigh, PrevState: pb.ValueState_CONFIGURED, NewState: pb.ValueState_CONFIGURED},
	}
	txn := &api.RecordedTxn{
		SeqNum: 5, TxnType: api.NBTransaction, Description: "example transaction",
		Start:   time.Date(2019, 1, 21, 11, 29, 27, 794325984, time.UTC),
		Stop:    time.Date(2019, 1, 21, 11, 29, 27, 797588466, time.UTC),
		Values:  []api.RecordedKVPair{{Key: dnatKey, Value: dnat}, {Key: neighKey, Value: neigh}},
		Planned: ops, Executed: ops,
	}
	var b bytes.Buffer
	if err := record.Format(&b, txn, record.FormatOptions{Box: true, Planned: true}); err != nil {
		t.Fatal(err)
	}
	golden(t, "documents.txt", b.Bytes())
}
