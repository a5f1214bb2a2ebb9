package puntplugin_test

import (
	"testing"

	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/plugins/linux/puntplugin"
)

func TestConfig(t *testing.T) {
	t.Parallel()
	if err := config.Lint(puntplugin.DefaultConfig()); err != nil {
		t.Error(err)
	}
}
