package l3plugin_test

import (
	"testing"

	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/plugins/linux/l3plugin"
)

func TestConfig(t *testing.T) {
	t.Parallel()
	if err := config.Lint(l3plugin.DefaultConfig()); err != nil {
		t.Error(err)
	}
	if err := (l3plugin.Config{}).Validate(); err == nil {
		t.Error("no goroutines were accepted")
	}
}
