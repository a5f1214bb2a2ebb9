package servicelabel_test

import (
	"strings"
	"testing"

	"github.com/tenuto-dev/tenuto/infra/agent"
	"github.com/tenuto-dev/tenuto/infra/agent/agenttest"
	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/infra/servicelabel"
)

func TestLabel(t *testing.T) {
	t.Parallel()
	env := agent.Environ(config.EnvMap(map[string]string{"MICROSERVICE_LABEL": "by-env"}))
	for name, test := range map[string]struct {
		opts []servicelabel.Option
		more agent.Option
		want string
	}{
		"default":     {nil, agent.Name("test"), "vpp1"},
		"option":      {[]servicelabel.Option{servicelabel.UseLabel("mine")}, agent.Name("test"), "mine"},
		"flag":        {[]servicelabel.Option{servicelabel.UseLabel("mine")}, agent.Args("-microservice-label=by-flag"), "by-flag"},
		"environment": {nil, env, "by-env"},
	} {
		p := servicelabel.NewPlugin(test.opts...)
		if err := agenttest.New(t, agent.AllPlugins(p), test.more).Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := p.GetAgentLabel(); got != test.want {
			t.Errorf("%s: got %q", name, got)
		}
		if got, want := p.GetAgentPrefix(), "/vnf-agent/"+test.want+"/"; got != want {
			t.Errorf("%s: got %q", name, got)
		}
	}
	p := servicelabel.NewPlugin()
	if p.GetAllAgentsPrefix() != "/vnf-agent/" || p.GetDifferentAgentPrefix("x") != "/vnf-agent/x/" {
		t.Error(p.GetAllAgentsPrefix(), p.GetDifferentAgentPrefix("x"))
	}
	err := agenttest.New(t, agent.AllPlugins(servicelabel.NewPlugin(servicelabel.UseLabel("a/b")))).Start(t.Context())
	if err == nil || !strings.Contains(err.Error(), `--microservice-label: "a/b": expected a label without slashes`) {
		t.Errorf("got %v", err)
	}
}
