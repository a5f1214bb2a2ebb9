// Command rest is an HTTP server that can be exposed: with TLS, and with accounts
// that may do different things.
//
// Without a configuration it listens on 127.0.0.1, for all users of this machine.
// Make a certificate (or use one that clients trust), and start it with http.conf:
//
//	openssl req -x509 -newkey rsa:2048 -nodes -days 30 -subj /CN=127.0.0.1 \
//	  -addext subjectAltName=IP:127.0.0.1 -keyout /tmp/key.pem -out /tmp/cert.pem
//	go run ./examples/servers/rest --http-config examples/servers/rest/http.conf
//
// and send requests without credentials, as the guest and as the owner:
//
//	curl --cacert /tmp/cert.pem https://127.0.0.1:9191/door                            # 401
//	curl --cacert /tmp/cert.pem -u guest:welcome https://127.0.0.1:9191/door           # 200
//	curl --cacert /tmp/cert.pem -u guest:welcome -X PUT https://127.0.0.1:9191/door/open  # 403
//	curl --cacert /tmp/cert.pem -u owner:'open sesame' -X PUT https://127.0.0.1:9191/door/open
//
// The plugin knows nothing of accounts: it says in which groups of permissions its
// endpoints are, and http.conf says who has which. There are no default accounts.
// In the file are hashes (htpasswd -nB NAME makes one), never passwords.
package main

import (
	"fmt"
	"net/http"
	"os"
	"sync/atomic"

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

func newAgent(server *rest.Plugin, opts ...agent.Option) *agent.Agent {
	d := &Door{}
	d.SetName("door")
	d.REST = server
	return agent.NewAgent(append(opts, agent.AllPlugins(d))...)
}

// Door is a plugin with something to protect.
type Door struct {
	Deps
	open atomic.Bool
}

// Deps is what Door needs.
type Deps struct {
	infra.PluginDeps
	REST rest.HTTPHandlers
}

// Init adds the endpoints. Each is in the group named after the plugin ("door"), and
// what changes nothing is in "read"; Groups adds to those.
func (d *Door) Init() error {
	return d.REST.Register(d.String(),
		rest.Endpoint{Path: "/door", Handler: d.show, Doc: "whether the door is open", Groups: []string{"house"}},
		rest.Endpoint{Path: "/door/{state}", Methods: []string{http.MethodPut}, Handler: d.move, Doc: "state is open or closed"},
	)
}

func (d *Door) show(w http.ResponseWriter, _ *http.Request) {
	rest.WriteJSON(w, http.StatusOK, map[string]bool{"open": d.open.Load()})
}

func (d *Door) move(w http.ResponseWriter, req *http.Request) {
	state := req.PathValue("state")
	if state != "open" && state != "closed" {
		rest.WriteError(w, http.StatusNotFound, fmt.Errorf("%q: expected open or closed", state))
		return
	}
	d.open.Store(state == "open")
	d.show(w, req)
}
