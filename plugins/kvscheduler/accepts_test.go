package kvscheduler_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/infra/agent/agenttest"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest/model"
	pb "github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
)

// A value whose dependency exists but does not fit is INVALID: the plan says so, no callback is
// called, and it is created as soon as another value of the key fits.
func TestDependencyDoesNotFit(t *testing.T) {
	t.Parallel()
	s := kvscheduler.NewPlugin(kvscheduler.UseOutput(&bytes.Buffer{}))
	agenttest.Start(t, s)
	sb := kvstest.NewMockSB()
	arp := sb.Descriptor("arp", "arp/")
	dependencies := arp.Dependencies
	arp.Dependencies = func(key string, value proto.Message) []api.Dependency {
		deps := dependencies(key, value)
		for i := range deps {
			deps[i].Accepts = func(provider proto.Message) error {
				if provider.(*model.Item).Value < 10 {
					return api.NewInvalidValueError(errors.New("needs at least 10"), "interface")
				}
				return nil
			}
		}
		return deps
	}
	if err := s.RegisterKVDescriptor(sb.Descriptor("tap", "tap/", kvstest.WithoutUpdate()), arp, sb.Descriptor("route", "route/")); err != nil {
		t.Fatal(err)
	}
	const why = "interface: needs at least 10"
	values := map[string]*model.Item{"tap/1": {Value: 1}, "arp/1": {Deps: []string{"tap/1"}}, "route/1": {Deps: []string{"arp/1"}}}

	txn := s.StartNBTransaction()
	for key, v := range values {
		txn.SetValue(key, v)
	}
	plan, err := txn.Plan(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(plan.Reasons) == 0 || plan.Reasons[0].Key != "arp/1" || plan.Reasons[0].Reason != why {
		t.Errorf("the reasons of the plan are %+v, expected for arp/1: %s", plan.Reasons, why)
	}
	states := func(when string, want map[string]pb.ValueState) {
		t.Helper()
		for key, state := range want {
			if v := s.GetValueStatus(key).GetValue(); v.GetState() != state {
				t.Errorf("%s: %s is %s (%s), expected %s", when, key, v.GetState(), v.GetError(), state)
			}
		}
	}
	if err := commit(t, s, values, api.WithRevert()); err == nil || !strings.Contains(err.Error(), why) {
		t.Errorf("with revert: %v, expected %s", err, why)
	}
	states("with revert", map[string]pb.ValueState{"tap/1": pb.ValueState_NONEXISTENT, "arp/1": pb.ValueState_NONEXISTENT})

	if err := commit(t, s, values); err == nil || !strings.Contains(err.Error(), why) {
		t.Errorf("commit: %v, expected %s", err, why)
	}
	refused := map[string]pb.ValueState{"tap/1": pb.ValueState_CONFIGURED, "arp/1": pb.ValueState_INVALID, "route/1": pb.ValueState_PENDING}
	states("refused", refused)
	if v := s.GetValueStatus("arp/1").GetValue(); v.GetError() != why || len(v.GetDetails()) != 1 || v.GetDetails()[0] != "interface" {
		t.Errorf("arp/1: error %q, details %q", v.GetError(), v.GetDetails())
	}
	if _, err := s.StartNBTransaction().Commit(t.Context(), api.WithResync(api.DownstreamResync, false)); err == nil {
		t.Error("a resync has no error")
	}
	states("after a resync", refused)

	fits := map[string]pb.ValueState{"tap/1": pb.ValueState_CONFIGURED, "arp/1": pb.ValueState_CONFIGURED, "route/1": pb.ValueState_CONFIGURED}
	if err := commit(t, s, map[string]*model.Item{"tap/1": {Value: 10}}); err != nil {
		t.Errorf("tap/1 fits: %v", err)
	}
	states("fits", fits)
	if err := commit(t, s, map[string]*model.Item{"tap/1": {Value: 2}}); err == nil {
		t.Error("tap/1 does not fit any longer: no error")
	}
	states("does not fit any longer", refused)
	if err := commit(t, s, map[string]*model.Item{"tap/1": nil}); err != nil {
		t.Errorf("tap/1 is deleted: %v", err)
	}
	states("without provider", map[string]pb.ValueState{"arp/1": pb.ValueState_PENDING, "route/1": pb.ValueState_PENDING})
	if err := commit(t, s, map[string]*model.Item{"tap/1": {Value: 11}}); err != nil {
		t.Errorf("another tap/1: %v", err)
	}
	states("another one", fits)
	if got := sb.Get("arp/1"); got == nil {
		t.Error("the southbound has no arp/1")
	}
}
