// Command 03_rest-handler is a plugin with an HTTP endpoint of its own.
//
// Run it from the root of the repository and stop it with Ctrl-C:
//
//	go run ./examples/tutorials/03_rest-handler
//
// While it runs, be greeted from elsewhere:
//
//	curl -X POST -d '{"name": "Ada"}' http://127.0.0.1:9191/greeting
//	{
//	  "greeting": "Hello Ada!"
//	}
//
// The plugin needs the HTTP server, which is a plugin like any other: the field
// REST says so, AllPlugins finds it there and starts it first. Where the server
// listens, with TLS or not, who may use it and how large a request may be is in
// the server's http.conf ("config print http" shows all of it) and no business
// of this plugin. A taken port is no drama: --http-port 9292.
//
// Open http://127.0.0.1:9191/ in a browser: the endpoint is on the index page
// under the name of its plugin, and in /openapi.json. examples/servers/rest adds
// TLS and accounts.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"

	"github.com/tenuto-dev/tenuto/infra"
	"github.com/tenuto-dev/tenuto/infra/agent"
	"github.com/tenuto-dev/tenuto/infra/rest"
)

func main() {
	if err := newAgent(rest.NewPlugin()).Run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func newAgent(server rest.HTTPHandlers, opts ...agent.Option) *agent.Agent {
	p := &HelloWorld{}
	p.SetName("helloworld")
	p.REST = server
	return agent.NewAgent(append(opts, agent.AllPlugins(p))...)
}

// HelloWorld is a plugin that greets over HTTP.
type HelloWorld struct {
	Deps
}

// Deps is what HelloWorld needs: a name, a logger, and a place for its endpoint.
// It is an interface, so a test may put something else there.
type Deps struct {
	infra.PluginDeps
	REST rest.HTTPHandlers
}

// Init adds the endpoint. The server begins to listen when all plugins are
// initialised, so no request reaches a half-started agent.
//
// RegisterHTTPHandler is for code that was written for cn-infra; with Register the
// endpoint has a heading and says what it is for.
func (p *HelloWorld) Init() error {
	return p.REST.Register(p.String(), rest.Endpoint{
		Path:    "/greeting",
		Methods: []string{http.MethodPost},
		Doc:     `greets whom the body names: {"name": "Ada"}`,
		Handler: p.greetingHandler,
	})
}

// greetingHandler is called for every request, by many goroutines at once. The
// server has bounded the body already; a panic here would be an answer with
// status 500, not the end of the agent.
func (p *HelloWorld) greetingHandler(w http.ResponseWriter, req *http.Request) {
	var who struct {
		Name string `json:"name"`
	}
	if err := json.NewDecoder(req.Body).Decode(&who); err != nil {
		rest.WriteError(w, http.StatusBadRequest, fmt.Errorf("read the name: %w", err))
		return
	}
	if who.Name == "" {
		rest.WriteError(w, http.StatusBadRequest, errors.New(`expected a name, as in {"name": "Ada"}`))
		return
	}
	p.Log.Info("greeting", "name", who.Name)
	rest.WriteJSON(w, http.StatusOK, map[string]string{"greeting": "Hello " + who.Name + "!"})
}
