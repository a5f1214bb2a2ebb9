package webui_test

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// TestConfirmationTimer applies a change with a value that waits, so that the agent answers
// late. The timer is there in time, outlasts a reload of the page, and ends without an error.
func TestConfirmationTimer(t *testing.T) {
	t.Parallel()
	b := open(t)
	agent := start(t, small, nil).HTTP.URL()
	settled(t, agent)
	b.goTo(agent + "/ui/#/plan")
	const waits = "  routes:\n  - {dstNetwork: 10.9.0.0/24, nextHopAddr: 10.1.0.2, outgoingInterface: loop9}\n"
	apply := func(timeout string) {
		b.text(loop2 + waits)
		b.click("button", "Plan")
		b.sees("p", ", 1 waiting (")
		b.do(fmt.Sprintf("document.querySelector('select').add(new Option(%q, %q)); document.querySelector('select').value = %[2]q", timeout, timeout))
		b.click("button", "Apply")
		b.sees(".wait", "The agent reverts the change")
	}
	apply("2s")
	b.sees(".wait", "The agent has reverted it")
	b.await("!" + find("h2", "Applied"))

	apply("10m")
	b.await("document.querySelector('progress').max > 500000")
	b.run(chromedp.Reload())
	b.sees(".wait", "The agent reverts the change")
	b.await("document.querySelector('progress').value > 500000 && document.activeElement.textContent.startsWith('Confirm')")
	b.keys(kb.Enter)
	b.sees(".good", "The change is confirmed")
	b.run(chromedp.Reload())
	b.await("document.querySelector('textarea') && !" + find(".wait", ""))
	b.clean()
}
