package agent_test

import (
	"context"
	"testing"

	"github.com/tenuto-dev/tenuto/infra"
	"github.com/tenuto-dev/tenuto/infra/agent"
)

type hello struct {
	infra.PluginDeps
	calls []string
}

func (h *hello) Init() error      { h.calls = append(h.calls, "init"); h.Log.Info("x", "a", 1); return nil }
func (h *hello) AfterInit() error { h.calls = append(h.calls, "after"); return nil }
func (h *hello) Close() error     { h.calls = append(h.calls, "close"); return nil }

func TestSmoke(t *testing.T) {
	h := &hello{}
	h.SetName("hello")
	a := agent.NewAgent(agent.AllPlugins(h), agent.QuitSignals())
	if err := a.Start(context.Background()); err != nil {
		t.Fatal(err)
	}
	if err := a.Stop(); err != nil {
		t.Fatal(err)
	}
	t.Log(h.calls)
	b := agent.NewAgent(agent.AllPlugins(&hello{}), agent.Args("--graph"))
	t.Log(b.Run())
}
