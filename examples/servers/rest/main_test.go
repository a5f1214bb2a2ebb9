package main

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/tenuto-dev/tenuto/examples/internal/exampletest"
	"github.com/tenuto-dev/tenuto/infra/kv/kvtest"
	"github.com/tenuto-dev/tenuto/infra/rest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestAccounts(t *testing.T) {
	certs := kvtest.NewCerts(t) // what openssl makes
	ca, err := os.ReadFile(certs.CA)
	if err != nil {
		t.Fatal(err)
	}
	trusted := x509.NewCertPool()
	trusted.AppendCertsFromPEM(ca)
	conf, err := os.ReadFile("http.conf")
	if err != nil {
		t.Fatal(err)
	}
	path := exampletest.File(t, "http.conf", strings.ReplaceAll(string(conf), "/tmp/", filepath.Dir(certs.Cert)+"/"))
	server := rest.NewPlugin()
	exampletest.StartAgent(t, newAgent(server, exampletest.Options(t, "--http-config", path, "--http-port", "0")...))
	client := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trusted}, DisableKeepAlives: true}
	for _, test := range []struct {
		account, method, path string
		code                  int
		text                  string
	}{
		{"", "GET", "/door", 401, ""},
		{"guest:wrong", "GET", "/door", 401, ""},
		{"guest:welcome", "GET", "/door", 200, `"open": false`},
		{"guest:welcome", "PUT", "/door/open", 403, "guest"},
		{"owner:open sesame", "PUT", "/door/open", 200, `"open": true`},
		{"guest:welcome", "GET", "/door", 200, `"open": true`},
	} {
		header := []string{}
		if test.account != "" {
			header = []string{"Authorization", "Basic " + base64.StdEncoding.EncodeToString([]byte(test.account))}
		}
		code, body := exampletest.Ask(t, client, test.method, server.URL()+test.path, "", header...)
		if code != test.code || !strings.Contains(body, test.text) {
			t.Errorf("%s %s as %q: status %d, expected %d with %q:\n%s", test.method, test.path, test.account, code, test.code, test.text, body)
		}
	}
}

// Without a configuration it is for everybody on this machine.
func TestWithoutConfiguration(t *testing.T) {
	server := rest.NewPlugin()
	exampletest.StartAgent(t, newAgent(server, exampletest.Options(t, "--http-port", "0")...))
	if !strings.HasPrefix(server.URL(), "http://127.0.0.1:") {
		t.Errorf("it listens on %s", server.URL())
	}
	if code, body := exampletest.Ask(t, http.DefaultTransport, "PUT", server.URL()+"/door/open", ""); code != 200 {
		t.Errorf("status %d: %s", code, body)
	}
}
