package ifplugin_test

import (
	"testing"

	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/plugins/linux/ifplugin"
)

func TestConfig(t *testing.T) {
	t.Parallel()
	if err := config.Lint(ifplugin.DefaultConfig()); err != nil {
		t.Error(err)
	}
	if err := (ifplugin.Config{}).Validate(); err == nil {
		t.Error("no goroutines were accepted")
	}
}
