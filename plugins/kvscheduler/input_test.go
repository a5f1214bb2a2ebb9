package kvscheduler_test

import (
	"errors"
	"strings"
	"testing"

	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest/model"
	pb "github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
)

// Bad input is an error of that value, and the rest is applied.
func TestOddInput(t *testing.T) {
	t.Parallel()
	sb := kvstest.NewMockSB()
	s, _ := kvstest.NewScheduler(t, nil)
	if err := s.RegisterKVDescriptor(sb.Descriptor("tap", "tap/")); err != nil {
		t.Fatal(err)
	}
	var typedNil *model.Item
	_, err := s.StartNBTransaction().
		SetValue("", &model.Item{}).
		SetValue("tap/wrong", wrapperspb.String("not an item")).
		SetValue("tap/never-there", nil).
		SetValue("tap/nil", typedNil).
		SetValue("tap/good", &model.Item{Value: 1}).
		SetValue("tap/good", &model.Item{Value: 2}). // the last call wins
		Commit(t.Context())
	var txnErr *api.TransactionError
	if !errors.As(err, &txnErr) || len(txnErr.GetKVErrors()) != 2 {
		t.Fatalf("got %v, want two failed values", err)
	}
	for _, want := range []string{"empty key", "tap/wrong", "*wrapperspb.StringValue"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error lacks %q: %v", want, err)
		}
	}
	if got := s.GetValueStatus("tap/wrong").GetValue().GetState(); got != pb.ValueState_INVALID {
		t.Errorf("a value of the wrong type is %v", got)
	}
	if got := sb.String(); got != "tap/good { value:2 }\n" {
		t.Errorf("southbound:\n%s", got)
	}
}

// A transaction with revert does nothing at all if a part of it is refused.
func TestRevertOfRefused(t *testing.T) {
	t.Parallel()
	sb := kvstest.NewMockSB()
	s, _ := kvstest.NewScheduler(t, nil)
	if err := s.RegisterKVDescriptor(sb.Descriptor("tap", "tap/"), sb.Descriptor("piece", "piece/", kvstest.Derived())); err != nil {
		t.Fatal(err)
	}
	base := &model.Item{Derived: []*model.Derived{{Key: "piece/1"}}}
	if err := commit(t, s, map[string]*model.Item{"tap/1": base}); err != nil {
		t.Fatal(err)
	}
	for name, bad := range map[string]map[string]*model.Item{
		"invalid": {"tap/2": {Invalid: true}}, "derived": {"piece/1": {}}, "no key": {"": {}},
		"invalid piece": {"tap/3": {Derived: []*model.Derived{{Key: "piece/3", Item: &model.Item{Invalid: true}}}}},
	} {
		bad["tap/4"] = &model.Item{}
		err := commit(t, s, bad, api.WithRevert())
		var txnErr *api.TransactionError
		if !errors.As(err, &txnErr) || !txnErr.Reverted() {
			t.Errorf("%s: got %v, want a reverted transaction", name, err)
		}
		if sb.Get("tap/4") != nil {
			t.Errorf("%s: a part of the transaction was executed", name)
		}
	}
	if n := len(s.ListValueStatus("")); n != 1 {
		t.Errorf("%d values are known, want tap/1 only", n)
	}
}
