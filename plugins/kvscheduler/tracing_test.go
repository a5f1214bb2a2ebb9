package kvscheduler_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest/model"
	pb "github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
)

// A transaction is a span with children: its phases and its operations.
func TestSpans(t *testing.T) {
	t.Parallel()
	spans := tracetest.NewSpanRecorder()
	sb := kvstest.NewMockSB()
	sb.Inject(kvstest.Fault{Op: pb.TxnOperation_CREATE, Key: "tap/bad"})
	s, stop, err := kvscheduler.New(t.Context(), []*api.KVDescriptor{sb.Descriptor("tap", "tap/")},
		kvscheduler.UseTracer(sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans))))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	values := map[string]*model.Item{"tap/1": {Value: 1}, "tap/2": {Deps: []string{"no"}}, "tap/bad": {}}
	if err := commit(t, s, values, api.WithDescription("three taps")); err == nil {
		t.Fatal("nothing failed")
	}
	txn := s.GetRecordedTransaction(0)
	var got []string
	ended := spans.Ended()
	root := ended[len(ended)-1]
	for _, span := range ended {
		text := fmt.Sprintf("%s %v", span.Name(), span.Status().Code)
		for _, a := range span.Attributes() {
			if slices.Contains([]string{"op.key", "txn.operations", "txn.failed", "txn.description"}, string(a.Key)) {
				text += " " + a.Value.String()
			}
		}
		got = append(got, text)
		if span != root && span.Parent().SpanID() != root.SpanContext().SpanID() {
			t.Errorf("%s is no child of the transaction", span.Name())
		}
		if strings.HasPrefix(span.Name(), "CREATE") && !slices.ContainsFunc(txn.Executed, func(op api.RecordedTxnOp) bool {
			return op.Start().Equal(span.StartTime()) && op.End().Equal(span.EndTime())
		}) {
			t.Errorf("%s has other times than the record", span.Name())
		}
	}
	want := []string{"queue Unset", "refresh Unset", "plan Unset", "record Unset", "CREATE tap Unset tap/1", "CREATE tap Error tap/bad", "transaction Error three taps 3 1"}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if !root.StartTime().Equal(txn.Queued) || !root.EndTime().Equal(txn.Stop) {
		t.Errorf("the transaction lasts from %v to %v", root.StartTime(), root.EndTime())
	}
}
