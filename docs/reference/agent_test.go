package reference

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	controller "github.com/tenuto-dev/tenuto/cmd/tenuto-controller/app"
	"github.com/tenuto-dev/tenuto/cmd/vpp-agent/app"
	"github.com/tenuto-dev/tenuto/infra"
	"github.com/tenuto-dev/tenuto/infra/agent"
	"github.com/tenuto-dev/tenuto/infra/agent/agenttest"
	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/infra/supervisor"
)

// program is a program made of plugins.
type program struct {
	name, about string
	plugins     func(t *testing.T) infra.Plugin
}

func programs() []program {
	return []program{
		{"vpp-agent", "the agent", func(t *testing.T) infra.Plugin { return newApp(t) }},
		{"vpp-agent-init", "starts VPP and the agent together", func(*testing.T) infra.Plugin { return supervisor.NewPlugin() }},
		{"tenuto-controller", "executes the rollouts of a fleet", func(*testing.T) infra.Plugin { return controller.New() }},
	}
}

func newApp(t *testing.T) *app.VPPAgent {
	t.Helper()
	plugins, err := app.New()
	if err != nil {
		t.Fatal(err)
	}
	return plugins
}

// wired is the agent of a program that does not run.
func (p program) wired(t *testing.T) *agent.Agent {
	t.Helper()
	return agent.NewAgent(agent.Name(p.name), agent.AllPlugins(p.plugins(t)), agent.Args(), agent.Environ(config.NoEnviron))
}

// writeFlags lists the flags of the programs, and all variables.
func writeFlags(t *testing.T, w *writer) {
	for _, p := range programs() {
		w.printf("\n## %s: %s\n", p.name, p.about)
		w.heading("flag", "variable", "default", "")
		flags := p.wired(t).Flags()
		flags.VisitAll(func(f *pflag.Flag) {
			if f.Hidden {
				return
			}
			if f.Usage == "" {
				t.Errorf("%s: flag --%s has no usage", p.name, f.Name)
			}
			value, usage := pflag.UnquoteUsage(f)
			if value != "" && f.NoOptDefVal != "" {
				value = "[=" + value + "]"
			} else if value != "" {
				value = " " + value
			}
			w.row(code("--"+f.Name+value), code(flags.Variable(f.Name)), code(f.DefValue), usage)
		})
	}
	w.printf("\n## Other environment variables\n")
	w.heading("variable", "")
	for _, v := range config.Variables() {
		w.row(code(v.Name), v.Doc)
	}
}

// writeConfigurations lists the keys of the configuration files.
func writeConfigurations(t *testing.T, w *writer) {
	for _, p := range programs() {
		w.printf("\n## %s\n", p.name)
		for _, c := range p.wired(t).Configurations() {
			file := strings.ToLower(c.Plugin)
			w.printf("\n### %s.conf\n\nNamed by `--%s-config` or `%s`.\n", file, file, config.EnvName(file+"-config"))
			writeKeys(t, w, file+".conf", c.Defaults)
		}
	}
}

// writeKeys lists the keys of a file with these defaults.
func writeKeys(t *testing.T, w *writer, file string, defaults any) {
	t.Helper()
	keys, err := config.Keys(defaults)
	if err != nil {
		t.Fatal(err)
	}
	w.heading("key", "type", "default", "")
	for _, k := range keys {
		doc := k.Doc
		if doc == "" {
			t.Errorf("%s: %s has no description", file, k.Name)
		}
		if k.Secret {
			doc += " (secret: never shown)"
		}
		w.row(code(k.Name), k.Type, code(k.Default), doc)
	}
}

// startAgentWith starts vpp-agent, far from everything that is on this machine, with one
// more plugin, if it is not nil. Without args the agent leaves Linux alone.
func startAgentWith(t *testing.T, more *bad, conf map[string]string, args ...string) *app.VPPAgent {
	t.Helper()
	plugins, dir := newApp(t), t.TempDir()
	all := []infra.Plugin{plugins}
	if more != nil {
		more.Scheduler = plugins.Scheduler
		all = append(all, more)
	}
	conf["kvscheduler"] = "print-txn-summary: false\nstate-dir: " + filepath.Join(dir, "state") + "\n"
	if len(args) == 0 {
		conf["linux-nsplugin"] = "disabled: true\n"
	}
	for name, text := range conf {
		if err := os.WriteFile(filepath.Join(dir, name+".conf"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	a := agenttest.New(t, agent.Name("vpp-agent"), agent.AllPlugins(all...), agent.Args(append(args, "--config-dir", dir, "--http-port", "0", "--grpc-port", "0")...))
	if err := a.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return plugins
}

// get asks the HTTP server of an agent.
func get(t *testing.T, plugins *app.VPPAgent, path string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, plugins.HTTP.URL()+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Close = true
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("GET %s: %s", path, resp.Status)
	}
	return resp
}
