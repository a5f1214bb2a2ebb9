package kvscheduler_test

import (
	"strings"
	"testing"

	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest/model"
)

// An error about a rule names its place and the expected value.
func TestOwnershipConfig(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"ownership: [{descriptor: tap, policy: adopt}]":                                                   "",
		"ownership: [{descriptor: tap, policy: own}]":                                                     `ownership[0].policy is "own": expected managed, adopt, observe or ignore`,
		"ownership: [{policy: adopt}]":                                                                    "ownership[0]: expected either descriptor or prefix",
		"ownership: [{prefix: a/, descriptor: tap, policy: adopt}]":                                       "ownership[0]: expected either descriptor or prefix",
		"ownership: [{prefix: a/, policy: adopt}, {prefix: a/, policy: ignore}]":                          "ownership[1]: the same as ownership[0]",
		"ownership: [{prefixx: a/, policy: adopt}]":                                                       "prefixx",
		"ownership: [{descriptor: tpa, policy: observe}, {prefix: tap/own/, policy: managed}]":            `ownership[0].descriptor is "tpa": expected the name of a descriptor of this agent; did you mean "tap"?`,
		"ownership: [{descriptor: tap, policy: observe}, {prefix: tap/own/, policy: managed}]":            "",
		"state-dir: /tmp/x\nownership: [{descriptor: 7up, policy: managed}, {prefix: x, policy: ignore}]": "7up",
	} {
		cfg := kvscheduler.DefaultConfig()
		err := config.Decode([]byte(text), "kvscheduler.conf", &cfg)
		if err == nil {
			err = cfg.Validate()
		}
		if err == nil {
			cfg.StateDir, cfg.PrintTxnSummary = "", kvscheduler.PrintNever
			var stop func()
			sb := kvstest.NewMockSB()
			_, stop, err = kvscheduler.New(t.Context(), []*api.KVDescriptor{sb.Descriptor("tap", "tap/"), sb.Descriptor("link", "link/")}, kvscheduler.UseConf(cfg))
			if err == nil {
				stop()
			}
		}
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, expected %q", text, err, want)
		}
	}
}

// The longest prefix wins, then the descriptor; the rest is managed.
func TestOwnershipRules(t *testing.T) {
	t.Parallel()
	sb := kvstest.NewMockSB()
	cfg := kvscheduler.DefaultConfig()
	cfg.PrintTxnSummary = kvscheduler.PrintNever
	cfg.Ownership = []kvscheduler.OwnershipRule{
		{Prefix: "tap/own/", Policy: kvscheduler.OwnershipManaged}, {Descriptor: "tap", Policy: kvscheduler.OwnershipObserve},
		{Prefix: "tap/own/not/", Policy: kvscheduler.OwnershipIgnore}, {Descriptor: "link", Policy: kvscheduler.OwnershipIgnore},
		{Prefix: "elsewhere/", Policy: kvscheduler.OwnershipObserve},
	}
	s, stop, err := kvscheduler.New(t.Context(), []*api.KVDescriptor{
		sb.Descriptor("tap", "tap/"), sb.Descriptor("link", "link/"), sb.Descriptor("other", "other/"),
	}, kvscheduler.UseConf(cfg))
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	txn := s.StartNBTransaction()
	keys := []string{"tap/1", "tap/own/1", "tap/own/not/1", "link/1", "other/1"}
	for _, key := range keys {
		txn.SetValue(key, &model.Item{})
	}
	if _, err := txn.Commit(t.Context(), api.WithResync(api.FullResync, false)); err == nil {
		t.Error("expected errors for ignored values")
	}
	var got []string
	for _, key := range keys {
		got = append(got, s.GetValueStatus(key).GetValue().GetState().String())
	}
	if want := "PENDING CONFIGURED INVALID INVALID CONFIGURED"; strings.Join(got, " ") != want {
		t.Errorf("%v, expected %s", got, want)
	}
	if calls := strings.Join(sb.TakeCalls(), ", "); calls != "retrieve other, retrieve tap, create other/1, create tap/own/1" {
		t.Errorf("calls: %s", calls)
	}
}
