package webui_test

import (
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// link is a connection to an agent that can be interrupted.
type link struct {
	t      *testing.T
	to     *url.URL
	addr   string
	server *http.Server
}

func newLink(t *testing.T, to string) *link {
	t.Helper()
	u, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	l := &link{t: t, to: u, addr: "127.0.0.1:0"}
	l.up()
	t.Cleanup(l.down)
	return l
}

// up opens the link, at the same address as before.
func (l *link) up() {
	l.t.Helper()
	ln, err := net.Listen("tcp", l.addr)
	if err != nil {
		l.t.Fatal(err)
	}
	l.addr = ln.Addr().String()
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(l.to); r.Out.Host = r.In.Host }, FlushInterval: -1}
	l.server = &http.Server{Handler: proxy}
	go l.server.Serve(ln) // until down
}

func (l *link) down() { _ = l.server.Close() }

func (l *link) url() string { return "http://" + l.addr }

// TestAgentStops has an agent stop while its pages are open: they say so, what was loaded can be
// looked at, and they continue when the agent answers again.
func TestAgentStops(t *testing.T) {
	t.Parallel()
	b := open(t)
	agent := start(t, small, nil).HTTP.URL()
	settled(t, agent)
	l := newLink(t, agent)
	b.goTo(l.url() + "/ui/")
	b.sees("#live", "live")
	b.await("performance.getEntriesByType('resource').some((r) => r.name.endsWith('/counters.js'))")

	l.down()
	b.sees("#live", "reconnecting")
	b.sees("#notice", "The agent does not answer")
	b.sees("tr", "vpp.interfaces/loop1")
	b.click("svg [role=button]", "bd1, bridge domain")
	b.sees("#panel h2", "vpp.l2.bridge-domain/bd1")
	b.keys(kb.Escape)
	b.do("location.hash = '#/transactions'")
	b.await("document.title.startsWith('Transactions')")
	b.sees("#notice", "The agent does not answer")
	b.do("location.hash = '#/plan'")
	b.text(loop2)
	b.click("button", "Plan")
	b.sees(".error", "The agent does not answer")
	b.do("location.hash = '#/drift'")
	b.await("document.title.startsWith('Drift')")

	l.up()
	b.sees("#live", "live")
	b.await("document.querySelector('#notice').textContent === ''")
	b.sees("section", "The southbound was not compared yet")
	b.do("location.hash = '#/plan'")
	b.click("button", "Plan") // with the text that was entered
	b.sees(".ops li", "loop2")
	b.clean()
}

// TestSessionEnds has the session of a page end that only watches.
func TestSessionEnds(t *testing.T) {
	t.Parallel()
	b := open(t)
	l := newLink(t, start(t, small, map[string]string{"http": users + "enable-token-auth: true\n"}).HTTP.URL())
	b.goTo(l.url() + "/ui/")
	b.sees("button", "Log in")
	b.do("document.querySelector('[name=username]').value = 'viewer'; document.querySelector('[name=password]').value = 'v'")
	b.run(chromedp.Submit("form"))
	b.sees("#live", "live")
	call(b, network.ClearBrowserCookies, cdp.Empty{})
	l.down()
	b.sees("#live", "reconnecting")
	l.up()
	b.sees("#notice", "The session has ended")
	b.sees("#notice a", "Log in")
	b.sees("#live", "not live")
	b.clean()
}
