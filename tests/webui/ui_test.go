package webui_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim"
	"github.com/tenuto-dev/tenuto/plugins/telemetry/statseg"
	"github.com/tenuto-dev/tenuto/plugins/telemetry/statseg/statsegtest"
	"github.com/tenuto-dev/tenuto/plugins/vpp/ifplugin/vppcalls"
)

const (
	loop1 = "config/vpp/v2/interfaces/loop1"
	route = "config/vpp/v2/route/if/loop2/vrf/0/dst/10.3.0.0/24/gw/10.4.0.2"

	loop1Name = "vpp.interfaces/loop1"
	routeName = "vpp.route/if/loop2/vrf/0/dst/10.3.0.0/24/gw/10.4.0.2"

	loop2Key = "config/vpp/v2/interfaces/loop2"
	loop2    = "vppConfig:\n  interfaces:\n  - {name: loop2, type: SOFTWARE_LOOPBACK, enabled: true}\n"
)

// settled waits until the values of a small configuration are there.
func settled(t *testing.T, url string) {
	t.Helper()
	if status, body := request(t, http.MethodGet, url+"/scheduler/wait?key="+loop1+"&timeout=5m", "", nil); status != http.StatusOK {
		t.Fatalf("wait: %d %s", status, body)
	}
}

// TestValues opens the graph, the list and the panel, filters, and follows changes.
func TestValues(t *testing.T) {
	t.Parallel()
	b := open(t)
	url := start(t, small, nil).HTTP.URL()
	settled(t, url)
	b.goTo(url + "/ui/#/values")
	b.sees("tr", loop1Name)
	b.sees("#live", "live")
	b.sees("svg [role=button]", routeName+", vpp-route, PENDING")
	b.named("values")

	// The filters, by the keyboard.
	b.slash()
	b.keys("ROUTE")
	b.await("location.hash.includes('q=ROUTE') && document.querySelectorAll('.values tbody tr').length === 2")
	b.click("button.option", "PENDING")
	b.await("document.querySelectorAll('.values tbody tr').length === 1")
	b.click("a", "Remove the filter “ROUTE”")
	b.await("document.querySelectorAll('.values tbody tr').length === 2")
	b.click("button.option", "vpp.route")
	b.await("document.querySelectorAll('.values tbody tr').length === 1 && document.querySelectorAll('svg .node').length === 2")

	// The panel of a value that waits.
	b.do("document.querySelector('.values tbody tr').focus()")
	b.keys(kb.Enter)
	b.sees("#panel h2", routeName)
	b.sees("#panel .tree", "vpp.interfaces/loop2")
	b.sees("#panel .tree", "not configured")
	b.sees("#panel pre", "dstNetwork: 10.3.0.0/24")
	b.sees("#panel li", "filedb in effect")
	b.sees("#panel .history", "PENDING")
	b.named("panel")
	b.keys(kb.Escape)
	b.await("document.querySelector('#panel').hidden && document.activeElement.closest('tr')")

	// The list and the graph, by arrow keys.
	b.goTo(url + "/ui/#/values")
	b.await("document.querySelectorAll('.values tbody tr').length > 9")
	b.do("document.querySelector('.values tbody tr').focus()")
	b.keys(kb.ArrowDown + kb.ArrowDown + kb.ArrowUp)
	b.await("document.activeElement === document.querySelectorAll('.values tbody tr')[1]")
	b.do(find("svg [role=button]", loop1Name+", vpp-interface") + ".focus()")
	b.keys(kb.ArrowRight)
	b.await("document.activeElement.getAttribute('aria-label').includes('vpp/interface/loop1/')")
	b.click("svg [role=button]", loop1Name+", vpp-interface, CONFIGURED")
	b.sees("#panel dd", "ours")
	b.sees("#panel li", "vpp/interface/loop1/address/static/10.1.0.1/24")
	b.await("document.querySelector('svg').getAttribute('aria-label').includes('neighbours')")
	b.keys(kb.Escape)

	// A change from elsewhere.
	if status, body := request(t, http.MethodPut, url+"/configuration", loop2, nil); status != http.StatusOK {
		t.Fatalf("PUT: %d %s", status, body)
	}
	b.sees("svg [role=button]", routeName+", vpp-route, CONFIGURED")
	b.await("!" + find(".badge", "PENDING"))
	b.clean()
}

// TestThemes checks that the pages follow the system and that the button overrides it.
func TestThemes(t *testing.T) {
	t.Parallel()
	b := open(t)
	url := start(t, small, nil).HTTP.URL()
	background := func() string { return eval[string](b, "getComputedStyle(document.body).backgroundColor") }
	b.prefer("dark")
	b.goTo(url + "/ui/")
	b.await("document.documentElement.dataset.theme === 'dark'")
	dark := background()
	b.click("#theme", "Use the light theme")
	b.await("document.documentElement.dataset.theme === 'light'")
	light := background()
	if dark == light {
		t.Errorf("both themes have the background %s", dark)
	}
	b.goTo(url + "/ui/#/plan")
	b.run(chromedp.Reload())
	b.await("document.documentElement.dataset.theme === 'light'")
	b.clean()
}

// TestTransactions opens the list and a transaction.
func TestTransactions(t *testing.T) {
	t.Parallel()
	b := open(t)
	url := start(t, small, nil).HTTP.URL()
	settled(t, url)
	if status, body := request(t, http.MethodPut, url+"/configuration?wait=5m", loop2, nil); status != http.StatusOK {
		t.Fatalf("PUT: %d %s", status, body)
	}
	b.goTo(url + "/ui/#/transactions")
	b.sees("tr", "PUT /configuration")
	b.named("transactions")
	b.do(find("tr", "PUT /configuration") + ".focus()")
	b.keys(kb.Enter)
	b.sees(".timeline .track", "CREATE vpp.interfaces/loop2")
	for _, phase := range []string{"queue", "prepare", "plan", "record", "execute", "finish"} {
		b.sees(".timeline .track", phase)
	}
	within := eval[bool](b, `[...document.querySelectorAll('.lane span')].every((e) => { const a = e.getBoundingClientRect(), l = e.parentElement.getBoundingClientRect(); return a.left >= l.left - 1 && a.right <= l.right + 3; })`)
	if !within {
		t.Error("a part of the timeline is outside of its lane")
	}
	b.sees("tr", "SOFTWARE_LOOPBACK")
	b.sees(".ops li", "CREATEvpp.interfaces/loop2")
	b.sees("dd", " created, 1 updated (")
	b.named("transaction")
	b.click(".timeline a", "vpp.interfaces/loop2")
	b.sees("#panel h2", "vpp.interfaces/loop2")
	b.clean()
}

// text puts a configuration into the view of plans.
func (b *browser) text(yaml string) {
	b.t.Helper()
	quoted, _ := json.Marshal(yaml)
	b.await("document.querySelector('textarea')")
	b.do(`(() => { const t = document.querySelector('textarea'); t.value = ` + string(quoted) + `; t.dispatchEvent(new Event('input')); })()`)
}

// TestPlan plans, applies, confirms, and lets a change be reverted.
func TestPlan(t *testing.T) {
	t.Parallel()
	b := open(t)
	agent := start(t, small, nil)
	url := agent.HTTP.URL()
	settled(t, url)
	b.goTo(url + "/ui/#/plan")

	b.text("vppConfig:\n  interfaces:\n  - {name: loop1, mtuu: 1}\n")
	b.click("button", "Plan")
	b.sees(".error li", "mtuu")
	b.click(".error button", "line 3")
	b.await("document.activeElement.selectionStart === 'vppConfig:\\n  interfaces:\\n'.length")

	b.text("vppConfig:\n  interfaces:\n  - {name: loop1, type: SOFTWARE_LOOPBACK, enabled: true, mtu: 1400, ipAddresses: [10.1.0.1/24]}\n  - {name: loop2, type: SOFTWARE_LOOPBACK}\n")
	b.click("button", "Plan")
	b.sees("li.changed", "mtu: 0 → 1400")
	b.sees("li.changed", "phys_address: ")
	b.sees(".ops li", "CREATEvpp.interfaces/loop2")
	b.sees(".wait li", "vpp.interfaces/loop1 will override the item of filedb, ")
	b.sees("p", " to create, ")
	b.named("plan")
	b.click("button", "Apply")
	b.sees(".wait", "The agent reverts the change")
	b.named("confirmation")
	b.click("button", "Confirm: keep the change")
	b.sees(".good", "The change is confirmed")
	if _, body := request(t, http.MethodGet, url+"/scheduler/status?key=config/vpp/v2/interfaces/loop2", "", nil); !strings.Contains(body, "CONFIGURED") {
		t.Errorf("after the confirmation: %s", body)
	}

	// A plan of a former state.
	b.text("vppConfig:\n  interfaces:\n  - {name: loop3, type: SOFTWARE_LOOPBACK}\n")
	b.click("button", "Plan")
	b.sees(".ops li", "loop3")
	if status, body := request(t, http.MethodPut, url+"/configuration", "vppConfig:\n  interfaces:\n  - {name: loop3, type: SOFTWARE_LOOPBACK, enabled: true}\n", nil); status != http.StatusOK {
		t.Fatalf("PUT: %d %s", status, body)
	}
	b.click("button", "Apply")
	b.sees(".error", "Not applied")
	b.click("button", "Plan again")
	b.sees("li", "enabled")

	// A change that is not confirmed.
	b.do("document.querySelector('select').add(new Option('1 s', '1s')); document.querySelector('select').value = '1s'")
	b.click("button", "Apply")
	b.sees(".wait", "The agent has reverted it")
	if status, body := request(t, http.MethodGet, url+"/scheduler/wait?key=config/vpp/v2/interfaces/loop3&timeout=5m", "", nil); status != http.StatusOK {
		t.Fatalf("wait: %d %s", status, body)
	}
	b.clean()
}

// TestDrift detects and repairs drift, and looks at orphans.
func TestDrift(t *testing.T) {
	t.Parallel()
	b := open(t)
	agent := start(t, strings.Replace(small, "physAddress", "mtu: 1400, physAddress", 1), nil)
	url := agent.HTTP.URL()
	settled(t, url)
	b.goTo(url + "/ui/#/drift")
	b.sees("section", "The southbound was not compared yet")
	b.sees("summary", "of other processes")
	index, ok := agent.VPPIfPlugin.Interfaces().LookupByName("loop1")
	if !ok {
		t.Fatal("loop1 has no index")
	}
	if err := vppcalls.New(agent.VPPIfPlugin.Southbound()).SetPacketMTU(t.Context(), index.SwIfIndex, 1300); err != nil {
		t.Fatal(err)
	}
	b.click("button", "Detect now")
	b.sees("tr", loop1Name)
	b.sees("tr", "configured 1400, found 1300")
	b.named("drift")
	b.click("button", "Repair")
	b.sees("dialog", "Repair the drift?")
	b.click("dialog button", "Repair")
	b.sees("section", "none differs")
	b.clean()
}

// TestCounters shows counters of a stats segment, and says why there are none.
func TestCounters(t *testing.T) {
	t.Parallel()
	b := open(t)
	vpp := vppsim.New(vppsim.Options{})
	socket := t.TempDir() + "/api.sock"
	if err := vpp.ListenUnix(socket); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = vpp.Close() })
	segment := new(statsegtest.Builder).
		Names("/if/names", "local0", "loop0").Combined("/if/rx", []statseg.Count{{}, {Packets: 1234567, Bytes: 60}}).
		Simple("/if/drops", []uint64{0, 42}).Scalar("/sys/num_worker_threads", 3).
		Simple("/node/errors", []uint64{99}).Symlink("/err/ip4-input/bad checksum", "/node/errors", 0)
	url := start(t, small, map[string]string{
		"govpp":          "binapi-socket-path: " + socket + "\nstats-socket-path: " + statsegtest.Serve(t, segment.Bytes()).Socket + "\n",
		"linux-nsplugin": "disabled: true\n",
	}, "--simulate=none").HTTP.URL()
	settled(t, url)
	b.goTo(url + "/ui/#/counters")
	b.sees("tr", "1,234,567")
	b.sees("tr", "bad checksum")
	b.sees("section", "The last hour")
	b.sees(".tile", "workers")
	b.named("counters")
	b.picture("counters")
	b.slash()
	b.keys("loop")
	b.await("document.querySelectorAll('tbody tr').length === 1")
	b.clean()

	simulated := start(t, small, nil).HTTP.URL()
	b.goTo(simulated + "/ui/#/counters")
	b.sees("p", "VPP offers no counters now")
}

// logFirstView opens a page with an empty and with a warm cache, and logs the time of its first view.
func (b *browser) logFirstView(url, what string) {
	b.t.Helper()
	for _, cache := range []string{"empty", "warm"} {
		b.goTo("about:blank")
		b.goTo(url)
		b.await("performance.getEntriesByName('first-view').length === 1")
		took := eval[float64](b, "performance.getEntriesByName('first-view')[0].startTime")
		b.t.Logf("first view of %s, cache %s: %.0f ms", what, cache, took)
	}
}

// TestManyValues shows 100,000 values in groups and pages, and logs the time of the first
// view.
func TestManyValues(t *testing.T) {
	t.Parallel()
	b := open(t)
	url := start(t, large(), nil).HTTP.URL()
	if status, body := request(t, http.MethodGet, url+"/scheduler/wait?prefix=config/vpp/v2/route/&state=CONFIGURED,PENDING&timeout=9m", "", nil); status != http.StatusOK {
		t.Fatalf("wait: %d %s", status, body)
	}
	b.logFirstView(url+"/ui/#/values", "100,000 values")
	b.sees(".crumbs", "in groups")
	b.sees("svg [role=button]", "vpp-route: 100,000 values")
	b.named("many values")

	// From the model to a prefix, from there to few values.
	b.click("svg [role=button]", "vpp-route: 100,000 values")
	b.sees(".crumbs", "100,000 values, in groups")
	b.click("svg [role=button]", "100 values of vpp-route")
	b.await("location.hash.includes('prefix=')")
	b.sees(".crumbs", "100 values")
	b.await("[...document.querySelectorAll('.values tbody tr')].filter((r) => r.dataset.key.includes('/if/loop2/')).length === 100")
	b.await("!" + find("button", "Show 100 more"))

	b.goTo(url + "/ui/#/values")
	b.await("document.querySelectorAll('.values tbody tr').length === 100")
	b.click("button", "Show 100 more")
	b.await("document.querySelectorAll('.values tbody tr').length === 200")
	b.slash()
	b.keys("20.1.7.77/")
	b.await("document.querySelectorAll('.values tbody tr').length === 1")

	// An interface with very many dependents.
	b.goTo(url + "/ui/#/values?key=config/vpp/v2/interfaces/loop0")
	b.sees("#panel a", "50,000 of vpp-route")
	b.sees("#panel .history", "CONFIGURED")
	b.goTo(url + "/ui/#/transactions")
	b.sees("tr", "create")
	b.clean()
}

const users = `
password-hash-cost: 4
users:
- {name: viewer, password: v, permissions: [read]}
- {name: looker, password: l, permissions: [webui, info, dump, nbConfigRead, stats]}
- {name: admin, password: a, permissions: [all]}
- {name: guest, password: g}
`

// TestReadOnly logs in with the form, as users who may not change anything and as one who
// may.
func TestReadOnly(t *testing.T) {
	t.Parallel()
	url := start(t, small, map[string]string{"http": users + "enable-token-auth: true\n"}).HTTP.URL()
	logIn := func(user string) *browser {
		b := open(t)
		b.goTo(url + "/ui/#/plan")
		b.sees("button", "Log in")
		b.do(fmt.Sprintf("document.querySelector('[name=username]').value = %q; document.querySelector('[name=password]').value = %q", user, user[:1]))
		b.run(chromedp.Submit("form"))
		b.sees("#user", user)
		b.do("location.hash = '#/plan'")
		b.text(loop2)
		return b
	}
	apply := `fetch('../scheduler/apply', { method: 'POST', body: '' }).then((r) => r.status)`

	b := logIn("looker")
	b.sees(".wait", "You may not plan changes")
	b.await(find("button", "Plan") + ".disabled")
	b.clean()

	b = logIn("viewer")
	b.click("button", "Plan")
	b.sees(".ops li", "loop2")
	b.sees(".wait", "but not apply")
	b.await("!" + find("button", "Apply"))
	if status := eval[int](b, apply); status != http.StatusForbidden {
		t.Errorf("the viewer applies: status %d", status)
	}
	b.do("location.hash = '#/drift'")
	b.click("button", "Detect now")
	b.sees("section", "values compared")
	b.await("!" + find("button", "Repair"))
	b.clean()

	b.click("button", "Log out")
	b.arrives("/auth/login")
	b.sees("h1", "Log in to the agent")
	b.do("document.querySelector('[name=username]').value = 'viewer'; document.querySelector('[name=password]').value = 'x'")
	b.run(chromedp.Submit("form"))
	b.sees("[role=alert]", "Unknown user or wrong password")
	b.do("document.querySelector('[name=username]').value = 'viewer'; document.querySelector('[name=password]').value = 'v'")
	b.run(chromedp.Submit("form"))
	b.sees("#user", "viewer")
	b.clean()

	b = logIn("admin")
	b.click("button", "Plan")
	b.click("button", "Apply")
	b.click("button", "Confirm: keep the change")
	b.sees(".good", "The change is confirmed")
	call(b, network.ClearBrowserCookies, cdp.Empty{})
	b.click("button", "Plan")
	b.sees("#notice", "The session has ended")
	b.sees("#notice a", "Log in")
	b.clean()
}

// TestBasicAuthentication uses the question of the browser for a password.
func TestBasicAuthentication(t *testing.T) {
	t.Parallel()
	url := start(t, small, map[string]string{"http": users}).HTTP.URL()
	if status, _ := request(t, http.MethodGet, url+"/ui/", "", nil); status != http.StatusUnauthorized {
		t.Errorf("without a password: status %d", status)
	}
	guest := func(r *http.Request) { r.SetBasicAuth("guest", "g") }
	if status, _ := request(t, http.MethodGet, url+"/ui/app.js", "", guest); status != http.StatusForbidden {
		t.Errorf("without a permission: status %d", status)
	}
	b := open(t)
	b.logIn("viewer", "v")
	b.goTo(url + "/ui/")
	b.sees("#user", "viewer")
	b.sees("tr", "vpp.interfaces/loop1")
	b.sees("#live", "live")
	b.clean()
}

// TestOtherOrigin checks that a page of another server neither changes anything through the
// browser of a user of the agent, nor reads answers, nor shows the pages in a frame.
func TestOtherOrigin(t *testing.T) {
	t.Parallel()
	url := start(t, small, nil).HTTP.URL()
	settled(t, url)
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, `<!DOCTYPE html><title>other</title><iframe src="%s/ui/"></iframe><iframe name="target"></iframe>
<form method="post" action="%s/scheduler/confirm" target="target"></form>`, url, url)
	}))
	t.Cleanup(other.Close)
	b := open(t)
	b.goTo(url + "/ui/")
	b.sees("tr", "vpp.interfaces/loop1")
	const read = `fetch(%q, { credentials: 'include' }).then((r) => r.text(), () => 'refused')`
	if version := eval[string](b, fmt.Sprintf(read, url+"/info/version")); !strings.Contains(version, "vpp-agent") {
		t.Errorf("the page of the agent reads %q", version)
	}
	b.clean()

	b.goTo(other.URL)
	if version := eval[string](b, fmt.Sprintf(read, url+"/info/version")); version != "refused" {
		t.Errorf("a page of another server reads %q", version)
	}
	plan, _ := json.Marshal(loop2)
	send := func(method, path, mode string) {
		eval[bool](b, fmt.Sprintf(`fetch(%q, { method: %q, mode: %q, credentials: 'include', body: %s }).then(() => true, () => true)`, url+path, method, mode, plan))
	}
	send("POST", "/scheduler/plan", "no-cors")
	send("POST", "/scheduler/downstream-resync", "no-cors")
	send("POST", "/tenuto.v1.AgentService/Apply", "no-cors")
	send("PUT", "/configuration", "cors")
	b.run(chromedp.Submit("form"))
	for _, path := range []string{"POST /scheduler/plan", "POST /scheduler/downstream-resync", "POST /tenuto.v1.AgentService/Apply", "POST /scheduler/confirm"} {
		for b.status(path) == 0 {
			eval[bool](b, "new Promise((done) => setTimeout(() => done(true), 20))")
		}
		if status := b.status(path); status != http.StatusForbidden {
			t.Errorf("%s from another origin: status %d", path, status)
		}
	}
	if status := b.status("PUT /configuration"); status != 0 && status != http.StatusForbidden {
		t.Errorf("PUT /configuration from another origin: status %d", status)
	}
	if _, body := request(t, http.MethodGet, url+"/scheduler/status?key=config/vpp/v2/interfaces/loop2", "", nil); strings.Contains(body, "CONFIGURED") {
		t.Errorf("the other page configured an interface: %s", body)
	}
	framed := eval[bool](b, `(() => { try { return Boolean(document.querySelector('iframe').contentDocument?.querySelector('#main')); } catch { return true; } })()`)
	blocked := false
	for _, p := range b.reported() {
		blocked = blocked || strings.Contains(p, "in a frame")
	}
	if framed || !blocked {
		t.Errorf("the pages are shown in a frame of another page: %v; the browser reported %q", framed, b.reported())
	}
}
