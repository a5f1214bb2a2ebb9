package nftablesplugin_test

import (
	"testing"

	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/plugins/linux/nftablesplugin"
)

func TestConfig(t *testing.T) {
	t.Parallel()
	if err := config.Lint(nftablesplugin.DefaultConfig()); err != nil {
		t.Error(err)
	}
}
