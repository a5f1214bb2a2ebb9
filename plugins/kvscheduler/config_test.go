package kvscheduler_test

import (
	"strings"
	"testing"

	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler"
)

func TestConfig(t *testing.T) {
	t.Parallel()
	def := kvscheduler.DefaultConfig()
	if err := config.Lint(def); err != nil {
		t.Error(err)
	}
	if err := def.Validate(); err != nil {
		t.Errorf("the defaults are not valid: %v", err)
	}
	err := kvscheduler.Config{}.Validate()
	bad := kvscheduler.Config{
		CallbackTimeout: 1, QuarantineAfter: -1, CrashWindow: 1, DriftDetectionInterval: 1, DriftRepair: "always", DriftRepairFor: map[string]string{"tap": "fix"},
	}.Validate()
	for _, key := range []string{"callback-timeout is 1ns", "quarantine-after is -1", "crash-window is 1ns", "drift-detection-interval", `drift-repair is "always"`, `drift-repair-for.tap is "fix"`} {
		if bad == nil || !strings.Contains(bad.Error(), key) {
			t.Errorf("the error does not say %s: %v", key, bad)
		}
	}
	for _, key := range []string{"transaction-history-max-entries", "transaction-history-max-bytes", "queue-capacity", "queue-ageing"} {
		if err == nil || !strings.Contains(err.Error(), key) {
			t.Errorf("the error does not name %s: %v", key, err)
		}
	}
}
