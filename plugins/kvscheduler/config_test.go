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
	for _, key := range []string{"transaction-history-max-entries", "transaction-history-max-bytes"} {
		if err == nil || !strings.Contains(err.Error(), key) {
			t.Errorf("the error does not name %s: %v", key, err)
		}
	}
}
