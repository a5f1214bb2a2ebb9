package webui_test

import (
	"net"
	"net/http"
	"testing"

	"github.com/chromedp/chromedp"
)

// TestRebinding has a page whose name resolves to the address of an agent that needs no
// credentials, and that other machines reach. The browser regards both as the same origin.
func TestRebinding(t *testing.T) {
	t.Parallel()
	b := open(t, chromedp.Flag("host-resolver-rules", "MAP evil.example.com 127.0.0.1"))
	_, port, err := net.SplitHostPort(start(t, small, map[string]string{"http": "endpoint: 0.0.0.0:0\n"}).HTTP.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	evil := "http://evil.example.com:" + port
	b.goTo(evil + "/ui/")
	b.sees("body", "allowed-hosts in http.conf")
	for _, headers := range []string{"{}", "{ 'User-Agent': 'curl/8', 'Accept-Language': '' }"} {
		if status := eval[int](b, `fetch('/configuration?show-secrets', { headers: `+headers+` }).then((r) => r.status)`); status != http.StatusForbidden {
			t.Errorf("the page reads with headers %s: status %d", headers, status)
		}
	}
	if status, body := request(t, http.MethodGet, "http://127.0.0.1:"+port+"/configuration?show-secrets", "", func(r *http.Request) { r.Host = "evil.example.com" }); status != http.StatusOK {
		t.Errorf("another client: status %d %s", status, body)
	}
	b.goTo("http://127.0.0.1:" + port + "/ui/")
	b.sees("tr", "vpp.interfaces/loop1")
	b.clean()
}
