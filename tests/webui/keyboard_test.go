package webui_test

import (
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// tabTo presses Tab until the element with the focus has a name or text, and counts the keys.
func (b *browser) tabTo(selector, name string) {
	b.t.Helper()
	for range 60 {
		b.keys(kb.Tab)
		if eval[bool](b, "document.activeElement === "+find(selector, name)) {
			return
		}
	}
	b.t.Fatalf("Tab does not lead to the %s %q", selector, name)
}

// TestKeyboardOnly makes and confirms a change, and looks at it, without a mouse.
func TestKeyboardOnly(t *testing.T) {
	t.Parallel()
	b := open(t)
	agent := start(t, small, nil).HTTP.URL()
	settled(t, agent)
	call(b, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true})
	b.goTo(agent + "/ui/")
	b.sees("#live", "live")
	b.tabTo("a", "Skip to the content")
	b.keys(kb.Enter)
	b.await("document.activeElement === document.querySelector('main')")
	b.do("document.activeElement.blur()")
	b.run(chromedp.Reload())
	b.sees("#live", "live")
	b.tabTo("nav a", "Plan")
	b.keys(kb.Enter)
	b.await("document.querySelector('textarea')")
	b.tabTo("textarea", "Configuration as YAML or JSON")
	b.keys("vppConfig: {interfaces: [{name: loop2, type: SOFTWARE_LOOPBACK}]}")
	b.run(chromedp.KeyEvent(kb.Enter, chromedp.KeyModifiers(2))) // Ctrl+Enter
	b.sees(".ops li", "loop2")
	b.tabTo("button", "Apply")
	if outline := eval[string](b, "getComputedStyle(document.activeElement).outlineStyle"); outline == "none" {
		t.Error("the button with the focus has no outline")
	}
	b.keys(kb.Enter)
	b.await("document.activeElement.textContent.startsWith('Confirm')")
	b.keys(kb.Enter)
	b.sees(".good", "The change is confirmed")
	b.await("document.activeElement.textContent.includes('is confirmed')")
	b.tabTo("a", "Transaction #")
	b.keys(kb.Enter)
	b.sees("h2", "Critical path")
	b.tabTo(".timeline a", "vpp.interfaces/loop2")
	b.keys(kb.Enter)
	b.sees("#panel dd", "ours")
	b.await("document.activeElement === document.querySelector('#panel h2')")
	b.keys(kb.Escape)
	b.await("document.querySelector('#panel').hidden && document.activeElement.textContent.includes('loop2')")
	b.clean()
}
