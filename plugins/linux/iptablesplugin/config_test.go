package iptablesplugin_test

import (
	"testing"

	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/plugins/linux/iptablesplugin"
)

func TestConfig(t *testing.T) {
	t.Parallel()
	if err := config.Lint(iptablesplugin.DefaultConfig()); err != nil {
		t.Error(err)
	}
}
