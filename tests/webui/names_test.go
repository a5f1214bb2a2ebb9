package webui_test

import (
	"fmt"
	"testing"
)

// rawKeys is an expression for what the page says with keys instead of names. The panel has the key of
// its value, and tooltips have keys.
const rawKeys = `[document.querySelector('#main'), document.querySelector('#panel')].flatMap((part) => {
	const found = [], walker = document.createTreeWalker(part, NodeFilter.SHOW_ELEMENT | NodeFilter.SHOW_TEXT);
	for (let n = walker.nextNode(); n; n = walker.nextNode()) {
		const text = n.nodeType === Node.TEXT_NODE ? n.data : n.getAttribute('aria-label') ?? '';
		const tooltip = n.parentElement.closest('title'), key = n.parentElement.closest('dd')?.previousSibling?.textContent === 'Key';
		if (/\bconfig\//.test(text) && !tooltip && !key) found.push(text);
	}
	return found;
}).join('; ')`

// TestNames checks that every view has the names of items as agentctl has them, and their keys in links and
// tooltips.
func TestNames(t *testing.T) {
	t.Parallel()
	b := open(t)
	url := start(t, small, nil).HTTP.URL()
	settled(t, url)
	b.goTo(url + "/ui/#/values")
	b.sees("tr", routeName)
	b.sees("td.reason a", "vpp.interfaces/loop2")
	b.await(fmt.Sprintf("[...document.querySelectorAll('td.reason a')].some((a) => a.title === '%s' && a.hash.includes(encodeURIComponent(a.title)))", loop2Key))
	for text, want := range map[string]string{
		"waits for " + loop2Key + " (interface-exists)":        "waits for vpp.interfaces/loop2 (interface-exists)",
		loop1 + ", " + loop2Key + ": no":                       "vpp.interfaces/loop1, vpp.interfaces/loop2: no",
		"vpp/interface/loop1/address/static/10.1.0.1/24 waits": "vpp/interface/loop1/address/static/10.1.0.1/24 waits",
		"config/unknown/v1/things/a":                           "config/unknown/v1/things/a",
		"config/vpp/v2/route/":                                 "vpp.route/",
		"/vnf-agent/vpp1/" + loop2Key:                          "/vnf-agent/vpp1/" + loop2Key,
		"of config/vpp/nat/v2/nat44-global":                    "of vpp.nat.nat44-global",
		"config/vpp/nat/v2/nat44-global/more":                  "config/vpp/nat/v2/nat44-global/more",
	} {
		const call = `import('./names.js').then((names) => names.%s(%q))`
		if got := eval[string](b, fmt.Sprintf(call, "shortText", text)); got != want {
			t.Errorf("%q became %q, expected %q", text, got, want)
		}
	}
	const full = `import('./names.js').then((names) => names.fullKey(%q))`
	for name, want := range map[string]string{
		"vpp.interfaces/loop2": loop2Key, "vpp.interfaces": "config/vpp/v2/interfaces/", "vpp.nat.nat44-global": "config/vpp/nat/v2/nat44-global", "loop2": "loop2",
	} {
		if got := eval[string](b, fmt.Sprintf(full, name)); got != want {
			t.Errorf("%q became %q, expected %q", name, got, want)
		}
	}

	b.slash()
	b.keys("vpp.interfaces/loop")
	b.await("document.querySelectorAll('.values tbody tr').length === 1")
	made := "transactions/" + fmt.Sprint(eval[int](b, `fetch('../scheduler/txn-history?brief=1&items=1').then((r) => r.json()).then((list) => list.find((t) => t.ItemCounts).SeqNum)`))
	loaded := map[string][2]string{
		"network": {"td.reason", "not configured"}, "values": {"tr", routeName}, "transactions": {"td", "create"}, made: {"h2", "Operations"},
		"plan": {"button", "Plan"}, "drift": {"section", "was not compared yet"},
	}
	for view, last := range loaded {
		for _, key := range []string{"", "?key=" + route} {
			b.goTo(url + "/ui/#/" + view + key)
			b.sees("#main "+last[0], last[1])
			b.await("document.querySelector('#panel').hidden === " + fmt.Sprint(key == ""))
			if key != "" {
				b.sees("#panel .history", "PENDING")
			}
			if view == "plan" {
				b.text("vppConfig:\n  routes:\n  - {dstNetwork: 10.5.0.0/24, nextHopAddr: 10.4.0.2, outgoingInterface: loop2}\n")
				b.click("button", "Plan")
				b.sees(".ops .reason a", "vpp.interfaces/loop2")
			}
			if found := eval[string](b, rawKeys); found != "" {
				t.Errorf("%s%s says %s", view, key, found)
			}
		}
	}
	b.picture("names")
	b.clean()
}
