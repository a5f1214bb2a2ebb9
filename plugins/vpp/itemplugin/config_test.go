package itemplugin_test

import (
	"testing"

	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/plugins/vpp/vppplugins"
)

func TestConfigurations(t *testing.T) {
	t.Parallel()
	linted := 0
	for _, p := range vppplugins.New() {
		defaults := p.ConfigSpec()
		if defaults == nil {
			continue
		}
		linted++
		if err := config.Lint(defaults); err != nil {
			t.Errorf("%s: %v", p.Spec().Name, err)
		}
	}
	if linted == 0 {
		t.Error("no plugin has a configuration")
	}
}
