package itemplugin_test

import (
	"testing"

	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/plugins/linux/iptablesplugin"
	"github.com/tenuto-dev/tenuto/plugins/linux/itemplugin"
	"github.com/tenuto-dev/tenuto/plugins/linux/nftablesplugin"
)

func TestConfigurations(t *testing.T) {
	t.Parallel()
	for _, p := range []*itemplugin.Plugin{iptablesplugin.NewPlugin(), nftablesplugin.NewPlugin()} {
		if err := config.Lint(p.ConfigSpec()); err != nil {
			t.Errorf("%s: %v", p, err)
		}
	}
}
