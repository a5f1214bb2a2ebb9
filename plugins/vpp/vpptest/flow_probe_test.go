package vpptest_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"go.fd.io/govpp/api"
	"google.golang.org/protobuf/proto"

	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/vpptest"
	"github.com/tenuto-dev/tenuto/plugins/vpp/vpptest/catalogue"
	ipfix "github.com/tenuto-dev/tenuto/proto/ligato/vpp/ipfix"
)

// measured is two measured interfaces with their parameters.
func measured() (all values, params string, features []string) {
	a, b := &ipfix.FlowProbeFeature{Interface: "a", Ip4: true}, &ipfix.FlowProbeFeature{Interface: "b", L2: true}
	p := catalogue.FlowProbeParams()
	return of(loop("a"), loop("b"), a, b, p), catalogue.Key(p), []string{catalogue.Key(a), catalogue.Key(b)}
}

func otherParams() *ipfix.FlowProbeParams {
	p := catalogue.FlowProbeParams()
	p.ActiveTimer, p.RecordL2 = 30, true
	return p
}

// VPP changes parameters only while nothing is measured: measurements end, and begin again.
func TestFlowProbeParamsWhileMeasuring(t *testing.T) {
	vpptest.OnBoth(t, func(t *testing.T, target vpptest.Target) {
		b := vpptest.Start(t, target)
		all, params, features := measured()
		b.Must(all)
		allConfigured(t, b, all)
		all[params] = otherParams()
		ops := b.Change(values{params: all[params]})
		at := func(op string) int { return slices.Index(ops, op) }
		for _, f := range features {
			if at("delete "+f) < 0 || at("delete "+f) > at("delete "+params) || at("create "+params) > at("create "+f) {
				t.Errorf("a change of the parameters takes %q", ops)
			}
		}
		allConfigured(t, b, all)
		b.InSync()
		b.Must(deleted(all))
	})
}

// If VPP refuses new parameters, the features stay PENDING until VPP accepts them. If the
// transaction is reverted, the features are configured with the old parameters again.
func TestFlowProbeParamsRefused(t *testing.T) {
	t.Parallel()
	target := vpptest.Simulator(t, simOptions())
	b := vpptest.Start(t, target)
	all, params, features := measured()
	b.Must(all)
	before := vpptest.Canonical(target.Sim.Dump())
	changed := values{params: otherParams()}
	// The first request deletes the old parameters.
	refuse := func() {
		if err := target.Sim.Fail("flowprobe_set_params", api.UNSPECIFIED, 2); err != nil {
			t.Fatal(err)
		}
	}
	refuse()
	if err := b.Commit(changed, kvs.WithRevert()); err == nil {
		t.Error("no error")
	}
	target.Sim.Heal()
	b.Resync()
	allConfigured(t, b, all)
	if diff := vpptest.Difference(vpptest.Canonical(target.Sim.Dump()), before); diff != "" {
		t.Errorf("reverted, but the simulator differs:\n%s", diff)
	}
	refuse()
	_ = b.Commit(changed, kvs.WithRetry(kvs.RetryOpts{Period: time.Millisecond}))
	for _, key := range append(features, params) {
		b.Await(key, configured)
	}
	b.Scheduler.TransactionBarrier()
	all[params] = otherParams()
	allConfigured(t, b, all)
	b.InSync()
}

// VPP would crash at the next packet if the active timer was switched off or on after an
// interface was measured. The agent refuses that, also when parameters were deleted before.
func TestFlowProbeTimerCannotBeSwitched(t *testing.T) {
	vpptest.OnBoth(t, func(t *testing.T, target vpptest.Target) {
		b := vpptest.Start(t, target)
		all, params, features := measured()
		b.Must(all)
		off := proto.Clone(all[params]).(*ipfix.FlowProbeParams)
		off.ActiveTimer = 0
		refused := func() {
			t.Helper()
			if err := b.Commit(values{params: off}); err == nil || !strings.Contains(err.Error(), "active_timer: 0, VPP had 20: VPP crashes") {
				t.Errorf("error %v", err)
			}
			for _, f := range features {
				b.Want(states{f: pending})
			}
		}
		refused()
		b.Must(values{params: all[params]})
		allConfigured(t, b, all)
		b.Must(values{params: nil})
		refused()
		b.Must(values{params: all[params]})
		allConfigured(t, b, all)
		b.Must(deleted(all))
	})
}
