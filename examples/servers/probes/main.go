// Command probes is a plugin that reports its health, and the agent that answers
// with it on request (of Kubernetes, an operator, Prometheus).
//
// Run it from the root of the repository and stop it with Ctrl-C:
//
//	go run ./examples/servers/probes
//
// While it runs, break the pump and ask:
//
//	curl -X POST http://127.0.0.1:9191/pump/leaking    # DEGRADED: still works
//	curl -i http://127.0.0.1:9191/readiness            # 503, with the reason
//	curl -i http://127.0.0.1:9191/liveness             # 200: no restart needed
//	curl -X POST http://127.0.0.1:9191/pump/broken     # ERROR: an operator has to act
//	curl -i http://127.0.0.1:9191/liveness             # 503
//	curl -X POST http://127.0.0.1:9191/pump/repaired
//	curl http://127.0.0.1:9191/health                  # gauges for Prometheus
//
// The state of the agent is the worst state of its plugins, and the state of a plugin
// is the worst state of its parts. A plugin that depends on one in trouble is named
// as its effect, not as another cause. probe.conf ("config print probe") says which
// plugins do not count.
package main

import (
	"errors"
	"fmt"
	"net/http"
	"os"

	"github.com/tenuto-dev/tenuto/infra"
	"github.com/tenuto-dev/tenuto/infra/agent"
	"github.com/tenuto-dev/tenuto/infra/health"
	"github.com/tenuto-dev/tenuto/infra/health/probe"
	"github.com/tenuto-dev/tenuto/infra/rest"
)

func main() {
	if err := newAgent(rest.NewPlugin()).Run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func newAgent(server *rest.Plugin, opts ...agent.Option) *agent.Agent {
	pump := &Pump{}
	pump.SetName("pump")
	pump.REST = server
	probes := probe.NewPlugin(probe.UseDeps(func(d *probe.Deps) { d.HTTP = server }))
	return agent.NewAgent(append(opts, agent.AllPlugins(pump, probes))...)
}

// Pump is a plugin that can be broken.
type Pump struct {
	Deps
	seal health.Reporter
}

// Deps is what Pump needs. Health, in PluginDeps, is where it reports to.
type Deps struct {
	infra.PluginDeps
	REST rest.HTTPHandlers
}

// Init adds the endpoint. A plugin that reports nothing is OK once it has started;
// parts have states of their own.
func (p *Pump) Init() error {
	p.seal = p.Health.Scope("seal")
	return p.REST.Register(p.String(), rest.Endpoint{
		Path: "/pump/{state}", Methods: []string{http.MethodPost}, Handler: p.set, Doc: "state is leaking, broken or repaired",
	})
}

func (p *Pump) set(w http.ResponseWriter, req *http.Request) {
	switch state := req.PathValue("state"); state {
	case "leaking": // works in part, and expects to recover
		p.seal.Degraded("the seal leaks", errors.New("2 drops a minute"))
	case "broken": // cannot work until someone acts
		p.Health.Failed("the pump stands still", errors.New("motor: no current"))
	case "repaired":
		p.seal.OK("")
		p.Health.OK("pumping")
	default:
		rest.WriteError(w, http.StatusNotFound, fmt.Errorf("%q: expected leaking, broken or repaired", state))
		return
	}
	w.WriteHeader(http.StatusNoContent)
}
