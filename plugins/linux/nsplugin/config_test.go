package nsplugin_test

import (
	"testing"

	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/plugins/linux/nsplugin"
)

func TestConfig(t *testing.T) {
	t.Parallel()
	if err := config.Lint(nsplugin.DefaultConfig()); err != nil {
		t.Error(err)
	}
	if err := (nsplugin.Config{}).Validate(); err == nil {
		t.Error("no goroutines were accepted")
	}
}
