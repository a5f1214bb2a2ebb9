package agent_test

import (
	"slices"
	"testing"

	"github.com/tenuto-dev/tenuto/infra"
	"github.com/tenuto-dev/tenuto/infra/agent"
	"github.com/tenuto-dev/tenuto/infra/config"
)

// explained is a plugin with a configuration.
type explained struct{ infra.PluginDeps }

type itsConfig struct {
	Size int `json:"size" desc:"how large"`
}

func (*explained) Init() error     { return nil }
func (*explained) ConfigSpec() any { return itsConfig{Size: 7} }

func TestDescription(t *testing.T) {
	t.Parallel()
	p := &explained{}
	p.SetName("box")
	a := agent.NewAgent(agent.AllPlugins(p), agent.Args(), agent.Environ(config.NoEnviron))
	if got, want := a.Configurations(), []agent.Configuration{{Plugin: "box", Defaults: itsConfig{7}}}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if f := a.Flags().Lookup("box-config"); f == nil || f.DefValue != "box.conf" {
		t.Errorf("flag box-config is %v", f)
	}
}
