package webui_test

import (
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp/kb"
)

// width changes the width of the window.
func (b *browser) width(pixels int64) {
	b.t.Helper()
	call(b, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: pixels, Height: 800, DeviceScaleFactor: 1})
}

// TestNarrowWindow opens the pages in a window as narrow as that of a phone.
func TestNarrowWindow(t *testing.T) {
	t.Parallel()
	b := open(t)
	agent := start(t, small, nil).HTTP.URL()
	settled(t, agent)
	b.width(400)
	const within = `((e) => { const r = e.getBoundingClientRect(); return r.width > 0 && r.left >= 0 && r.right <= innerWidth; })`
	for _, scheme := range []string{"light", "dark"} {
		b.prefer(scheme)
		for _, view := range []string{"network", "values", "transactions", "transactions/2", "plan", "drift", "counters"} {
			b.goTo("about:blank")
			b.goTo(agent + "/ui/#/" + view)
			b.sees("#live", "live")
			b.await("document.querySelectorAll('nav a').length === 6 && document.querySelector('main').textContent !== ''")
			if outside := eval[string](b, `[...document.querySelectorAll('nav a')].filter((e) => !`+within+`(e)).map((e) => e.textContent).join()`); outside != "" {
				t.Errorf("%s: outside of the window: %s", view, outside)
			}
			switch view {
			case "network":
				b.await("document.querySelector('.net-box') && " + within + "(document.querySelector('svg.graph'))")
			case "values":
				b.await("document.querySelector('.values .badge') && " + within + "(document.querySelector('.values .badge'))")
				b.await("!" + find("button.option", ""))
				b.do("document.querySelector('.facets summary').focus()")
				b.keys(kb.Enter)
				b.sees("button.option", "vpp.route")
			case "transactions/2":
				b.await("document.querySelector('.lane')?.getBoundingClientRect().width > 200")
			}
			b.picture("narrow-" + scheme + "-" + strings.ReplaceAll(view, "/", "-"))
		}
	}

	// A node of the graph that gets the focus by a key moves into the view.
	call(b, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true})
	b.goTo(agent + "/ui/#/values")
	b.sees("svg [role=button]", loop1Name+", vpp-interface")
	const hidden = `[...document.querySelectorAll('svg .node')].filter((n) => { const r = n.querySelector('.body').getBoundingClientRect(), s = n.ownerSVGElement.getBoundingClientRect();
		return r.left < s.left - 1 || r.right > s.right + 1 || r.top < s.top - 1 || r.bottom > s.bottom + 1; })`
	b.await(hidden + ".length > 0")
	b.do("document.querySelector('svg .node').focus()")
	b.keys(strings.Repeat(kb.ArrowRight, 8))
	b.await("document.activeElement.matches('.node') && !" + hidden + ".includes(document.activeElement) && Number(document.activeElement.ownerSVGElement.getAttribute('viewBox').split(' ')[0]) > 0")
	b.clean()
}
