package api_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
)

// A southbound that takes several requests at once gets all values that are ready, and
// each value has its own result.
func ExampleDescriptor_batches() {
	books := &api.Descriptor[*wrapperspb.StringValue, int]{
		Name: "book", WithMetadata: true, Concurrency: 100,
		CreateBatch: func(_ context.Context, values []api.BatchValue[*wrapperspb.StringValue, int]) []api.BatchResult[int] {
			results := make([]api.BatchResult[int], len(values))
			for i, v := range values { // a real one sends all requests, then reads all replies
				if v.New.GetValue() == "" {
					results[i].Err = errors.New("without an author")
					continue
				}
				results[i].Metadata = 100 + i
			}
			return results
		},
	}
	for i, r := range api.Adapt(books).CreateBatch(context.Background(), []api.KVBatchValue{
		{Key: "book/emma", New: wrapperspb.String("austen")},
		{Key: "book/beowulf", New: wrapperspb.String("")},
	}) {
		fmt.Println(i, r.Metadata, r.Err)
	}
	// Output:
	// 0 100 <nil>
	// 1 0 without an author
}

// A value or metadata of a wrong type fails alone, wherever it is in the batch.
func TestBatchWrongType(t *testing.T) {
	t.Parallel()
	type value = api.BatchValue[*wrapperspb.StringValue, int]
	d := &api.Descriptor[*wrapperspb.StringValue, int]{
		UpdateBatch: func(_ context.Context, values []value) (results []api.BatchResult[int]) {
			for _, v := range values {
				results = append(results, api.BatchResult[int]{Metadata: v.Metadata + len(v.Old.GetValue()) + len(v.New.GetValue())})
			}
			return results
		},
	}
	a, empty := wrapperspb.String("a"), &emptypb.Empty{}
	values := []api.KVBatchValue{
		{Key: "wrong old", Old: empty, New: a, Metadata: 1},
		{Key: "first", Old: a, New: wrapperspb.String("bb"), Metadata: 10},
		{Key: "wrong new", Old: a, New: empty, Metadata: 1},
		{Key: "wrong metadata", Old: a, New: a, Metadata: "x"},
		{Key: "last", Old: a, New: a},
	}
	check := func(values []api.KVBatchValue, want map[string]int) {
		t.Helper()
		results := api.Adapt(d).UpdateBatch(t.Context(), values)
		if len(results) != len(values) {
			t.Fatalf("%d results for %d values", len(results), len(values))
		}
		for i, r := range results {
			if meta, right := want[values[i].Key]; right != (r.Err == nil) || right && r.Metadata != meta {
				t.Errorf("%s: metadata %v, %v", values[i].Key, r.Metadata, r.Err)
			}
		}
	}
	check(values, map[string]int{"first": 13, "last": 2})
	check(values[:1], nil)
	check(values[1:2], map[string]int{"first": 13})
}

// WithContexts makes batches of one value.
func TestBatchOfOne(t *testing.T) {
	t.Parallel()
	var got []api.BatchValue[*wrapperspb.StringValue, int]
	var answer []api.BatchResult[int]
	batch := func(_ context.Context, values []api.BatchValue[*wrapperspb.StringValue, int]) []api.BatchResult[int] {
		got = append(got, values...)
		return answer
	}
	d := (&api.Descriptor[*wrapperspb.StringValue, int]{Name: "book", CreateBatch: batch, UpdateBatch: batch, DeleteBatch: batch}).WithContexts()
	a, b := wrapperspb.String("a"), wrapperspb.String("b")
	answer = []api.BatchResult[int]{{Metadata: 7}}
	if meta, err := d.CreateContext(t.Context(), "k", a); meta != 7 || err != nil {
		t.Errorf("create: %v, %v", meta, err)
	}
	if meta, err := d.UpdateContext(t.Context(), "k", a, b, 6); meta != 7 || err != nil {
		t.Errorf("update: %v, %v", meta, err)
	}
	answer = nil
	if err := d.DeleteContext(t.Context(), "k", b, 7); err == nil || err.Error() != `descriptor "book": DeleteBatch returned 0 results for 1 value` {
		t.Errorf("delete without a result: %v", err)
	}
	want := []api.BatchValue[*wrapperspb.StringValue, int]{
		{Key: "k", New: a}, {Key: "k", Old: a, New: b, Metadata: 6}, {Key: "k", Old: b, Metadata: 7},
	}
	for i := range want {
		if i >= len(got) || got[i] != want[i] {
			t.Errorf("called with %v, expected %v", got, want)
			break
		}
	}
}
