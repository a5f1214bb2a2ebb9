package kvscheduler_test

import (
	"bytes"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenuto-dev/tenuto/infra/agent/agenttest"
	"github.com/tenuto-dev/tenuto/infra/rest"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest/model"
	pb "github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
)

// Drift is found without being asked for, and repaired where the policy says
// so: a key prefix before a descriptor before the general policy.
func TestPeriodicDriftDetection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sb := kvstest.NewMockSB()
		cfg := kvscheduler.DefaultConfig()
		cfg.PrintTxnSummary = kvscheduler.PrintNever
		cfg.DriftDetectionInterval = time.Minute
		cfg.DriftRepairFor = map[string]string{"tap": "repair", "tap/keep/": "report", "tap/keep/not/": "repair"}
		s, stop, err := kvscheduler.New(t.Context(), []*api.KVDescriptor{sb.Descriptor("tap", "tap/"), sb.Descriptor("link", "link/")},
			kvscheduler.UseConf(cfg))
		if err != nil {
			t.Fatal(err)
		}
		defer stop()
		all := []string{"link/1", "tap/1", "tap/keep/1", "tap/keep/not/1"}
		values := map[string]*model.Item{}
		for _, key := range all {
			values[key] = &model.Item{Value: 1}
		}
		if err := commit(t, s, values); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(sb.Keys(), all) || s.LastDrift() != nil {
			t.Fatal(sb.Keys(), s.LastDrift())
		}
		for _, key := range all {
			sb.Remove(key)
		}
		time.Sleep(time.Minute + time.Second)
		if got, want := sb.Keys(), []string{"tap/1", "tap/keep/not/1"}; !slices.Equal(got, want) {
			t.Errorf("after the first detection: %v, expected %v", got, want)
		}
		if n := s.LastDrift().Count(api.DriftMissing); n != 4 {
			t.Errorf("%d values are reported", n)
		}
		time.Sleep(time.Minute)
		if n := len(s.LastDrift().Drifts); n != 2 {
			t.Errorf("%d values are reported next", n)
		}
	})
}

// A value that another process changes again and again is repaired more and more
// seldom, and at once when that has ended.
func TestRepeatedDriftIsPaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sb := kvstest.NewMockSB()
		cfg := kvscheduler.DefaultConfig()
		cfg.PrintTxnSummary, cfg.DriftDetectionInterval, cfg.DriftRepair = kvscheduler.PrintNever, time.Minute, kvscheduler.DriftRepair
		s, stop, err := kvscheduler.New(t.Context(), []*api.KVDescriptor{sb.Descriptor("tap", "tap/")}, kvscheduler.UseConf(cfg))
		if err != nil {
			t.Fatal(err)
		}
		defer stop()
		if err := commit(t, s, map[string]*model.Item{"tap/1": {Value: 1}}); err != nil {
			t.Fatal(err)
		}
		round := func(meddle bool) string {
			if meddle {
				sb.Remove("tap/1")
			}
			time.Sleep(time.Minute)
			if len(sb.Keys()) == 0 {
				return "-"
			}
			return "R"
		}
		time.Sleep(time.Second)
		got := ""
		for range 12 {
			got += round(true)
		}
		if want := "RR-R---R----"; got != want {
			t.Errorf("repairs %s, expected %s", got, want)
		}
		sb.Put("tap/1", &model.Item{Value: 1})
		if got := round(false) + round(true); got != "RR" {
			t.Errorf("after a detection without drift: %s", got)
		}
	})
}

// Drift over HTTP: looked at, and repaired.
func TestDriftOverHTTP(t *testing.T) {
	t.Parallel()
	conf := rest.DefaultConfig()
	conf.Endpoint = "127.0.0.1:0"
	server := rest.NewPlugin(rest.UseConf(conf))
	s := kvscheduler.NewPlugin(kvscheduler.UseOutput(&bytes.Buffer{}), kvscheduler.UseDeps(func(d *kvscheduler.Deps) { d.HTTP = server }))
	agenttest.Start(t, s)
	sb := kvstest.NewMockSB()
	if err := s.RegisterKVDescriptor(sb.Descriptor("tap", "tap/")); err != nil {
		t.Fatal(err)
	}
	if err := commit(t, s, map[string]*model.Item{"tap/1": {Value: 1}}); err != nil {
		t.Fatal(err)
	}
	sb.Put("tap/1", &model.Item{Value: 2})
	for _, tc := range []struct{ method, query, want string }{
		{"GET", "", "404"},
		{"GET", "?detect=maybe", "400"},
		{"GET", "?detect=1", `"Field": "value"`},
		{"GET", "", `"Kind": "differs"`},
		{"POST", "", "400"},
		{"POST", "?repair=1&retry=x", "400"},
		{"POST", "?repair=1&retry=1", `"Repairs": [`},
		{"GET", "?detect=1", `"Values": 1`},
	} {
		if got := ask(t, tc.method, server.URL()+"/scheduler/drift"+tc.query); !strings.Contains(got, tc.want) {
			t.Errorf("%s %s: %q is not in\n%s", tc.method, tc.query, tc.want, got)
		}
	}
	if v := sb.Get("tap/1").(*model.Item).Value; v != 1 {
		t.Errorf("not repaired: %d", v)
	}
	sb.Put("tap/1", &model.Item{Value: 3})
	sb.Inject(kvstest.Fault{Op: pb.TxnOperation_UPDATE, Key: "tap/1", Times: 1})
	if got := ask(t, "POST", server.URL()+"/scheduler/drift?repair=1"); !strings.Contains(got, `"Errors": [`) {
		t.Errorf("a repair that failed: %s", got)
	}
	http.DefaultClient.CloseIdleConnections()
}

// What stands on a derived value that went away goes with the repair of its
// base, also where the base is not desired.
func TestRepairFollowsDerivedValues(t *testing.T) {
	t.Parallel()
	s := kvscheduler.NewPlugin(kvscheduler.UseOutput(&bytes.Buffer{}))
	agenttest.Start(t, s)
	sb := kvstest.NewMockSB()
	err := s.RegisterKVDescriptor(sb.Descriptor("tap", "tap/", kvstest.WithOrigin(api.FromNB)), sb.Descriptor("route", "route/"),
		sb.Descriptor("up", "up/", kvstest.Property()))
	if err != nil {
		t.Fatal(err)
	}
	sb.Put("tap/1", &model.Item{Value: 1, Derived: []*model.Derived{{Key: "up/1"}}})
	if _, err := s.StartNBTransaction().Commit(t.Context(), api.WithResync(api.DownstreamResync, false)); err != nil {
		t.Fatal(err)
	}
	if err := commit(t, s, map[string]*model.Item{"route/1": {Deps: []string{"up/1"}}}); err != nil {
		t.Fatal(err)
	}
	sb.Put("tap/1", &model.Item{Value: 2})
	if _, err := s.RepairDrift(t.Context(), []api.Drift{{Key: "tap/1", Descriptor: "tap", Kind: api.DriftDiffers}}); err != nil {
		t.Fatal(err)
	}
	if got := s.GetValueStatus("route/1").GetValue().GetState(); got != pb.ValueState_PENDING {
		t.Errorf("route/1 is %v, expected PENDING", got)
	}
}
