package webui_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/tenuto-dev/tenuto/cmd/vpp-agent/app"
	"github.com/tenuto-dev/tenuto/examples/tutorials/101_custom-agent/hosts"
	"github.com/tenuto-dev/tenuto/examples/tutorials/101_custom-agent/hosts/model"
	"github.com/tenuto-dev/tenuto/infra"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api/response"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/vppcalls"
	interfaces "go.fd.io/govpp/binapi/interface"
)

// TestCustomModel searches, plans and applies items of a model that is not one of vpp-agent.
func TestCustomModel(t *testing.T) {
	t.Parallel()
	b := open(t)
	custom := []app.Option{app.WithModels(model.HostModel), app.WithPlugins(func(a *app.VPPAgent) infra.Plugin {
		return hosts.NewPlugin(hosts.UseDeps(func(d *hosts.Deps) { d.Scheduler = a.Scheduler }))
	})}
	address := startCustom(t, custom, small+"tutorialConfig:\n  HostList:\n  - {name: gateway, address: 10.1.0.2, interface: loop1}\n",
		map[string]string{"hosts": "path: " + filepath.Join(t.TempDir(), "hosts") + "\n"}).HTTP.URL()
	settled(t, address)
	const gateway, printer = "tutorial.hosts/gateway", "config/tutorial/v1/hosts/printer"
	b.goTo(address + "/ui/#/values")
	b.sees("tr", gateway)
	b.click("button.option", "tutorial.hosts")
	b.await("document.querySelectorAll('.values tbody tr').length === 1")
	b.click("svg [role=button]", gateway+", tutorial-host, CONFIGURED")
	b.sees("#panel pre", "address: 10.1.0.2")
	b.sees("#panel li", loop1Name)

	b.goTo(address + "/ui/#/plan")
	b.text("tutorialConfig:\n  HostList:\n  - {name: printer, adress: 10.1.0.3}\n")
	b.click("button", "Plan")
	b.sees(".error li", "did you mean address?")
	b.text("tutorialConfig:\n  HostList:\n  - {name: printer, address: 10.1.0.3, interface: loop1}\n")
	b.click("button", "Plan")
	b.sees(".ops li", "CREATEtutorial.hosts/printer")
	b.click("button", "Apply")
	b.click("button", "Confirm: keep the change")
	b.sees(".good", "The change is confirmed")
	if _, body := request(t, http.MethodGet, address+"/scheduler/status?key="+printer, "", nil); !strings.Contains(body, "CONFIGURED") {
		t.Errorf("after the confirmation: %s", body)
	}
	b.clean()
}

// TestOrphans removes an interface that an agent made and that is not configured.
func TestOrphans(t *testing.T) {
	t.Parallel()
	b := open(t)
	agent := start(t, small, nil)
	address := agent.HTTP.URL()
	settled(t, address)
	vpp, created := agent.VPPIfPlugin.Southbound(), &interfaces.CreateLoopbackReply{}
	err := vpp.Call(t.Context(), &interfaces.CreateLoopback{MacAddress: vppcalls.MAC{2, 0, 0, 0, 0, 9}}, created)
	if err == nil {
		err = vppcalls.New(vpp).SetTag(t.Context(), uint32(created.SwIfIndex), "left")
	}
	if err != nil {
		t.Fatal(err)
	}
	if status, body := request(t, http.MethodPost, address+"/scheduler/downstream-resync", "", nil); status != http.StatusOK {
		t.Fatalf("resync: %d %s", status, body)
	}
	const left, name = "config/vpp/v2/interfaces/left", "vpp.interfaces/left"
	b.goTo(address + "/ui/#/drift")
	b.sees("tr", name)
	b.await("!" + find("button", "Remove the selected") + " || " + find("button", "Remove the selected") + ".disabled")
	b.do(find("input", "Select "+name) + ".click()")
	b.named("orphans")
	b.picture("orphans")
	b.click("button", "Remove the selected")
	b.sees("dialog", name)
	b.click("dialog button", "Remove")
	b.sees("section", "Every value that the agent made is configured.")
	if _, body := request(t, http.MethodGet, address+"/scheduler/orphans", "", nil); strings.Contains(body, left) {
		t.Errorf("after the removal: %s", body)
	}
	b.clean()
}

// TestQuarantine releases a value. A proxy before the agent has the quarantine, since the
// simulated VPP does not crash.
func TestQuarantine(t *testing.T) {
	t.Parallel()
	agent, err := url.Parse(start(t, small, nil).HTTP.URL())
	if err != nil {
		t.Fatal(err)
	}
	settled(t, agent.String())
	var mu sync.Mutex
	suspects := []api.Suspect{{Key: loop1, Southbound: "vpp", Quarantined: true}, {Key: route, Southbound: "vpp"}}
	mux := http.NewServeMux()
	mux.Handle("/", &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(agent) }})
	mux.HandleFunc("/scheduler/quarantine", func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if q := r.URL.Query(); r.Method == http.MethodPost && q.Get("release") == "1" && q.Get("key") == loop1 {
			suspects = suspects[1:]
		}
		_ = json.NewEncoder(w).Encode(response.Quarantine{Suspects: suspects})
	})
	proxy := httptest.NewServer(mux)
	t.Cleanup(proxy.Close)
	b := open(t)
	b.goTo(proxy.URL + "/ui/#/drift")
	b.sees("tr", "in quarantine")
	b.sees("tr", "under suspicion")
	b.await("document.querySelectorAll('section[aria-label=Quarantine] button').length === 1")
	b.named("quarantine")
	b.click("button", "Release "+loop1Name)
	b.sees("dialog", "It may go down again.")
	b.click("dialog button", "Release")
	b.await("!" + find("tr", "in quarantine"))
	b.sees("tr", "under suspicion")
	b.clean()
}
