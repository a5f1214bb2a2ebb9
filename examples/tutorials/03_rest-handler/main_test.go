package main

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/tenuto-dev/tenuto/infra/agent"
	"github.com/tenuto-dev/tenuto/infra/agent/agenttest"
	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/infra/infratest"
	"github.com/tenuto-dev/tenuto/infra/rest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// ask sends a request and returns the answer, with its status where that is not
// 200.
func ask(t *testing.T, method, url, body string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != http.StatusOK {
		return resp.Status + "\n" + string(text)
	}
	return string(text)
}

func TestOutput(t *testing.T) {
	t.Parallel()
	server := rest.NewPlugin()
	a := newAgent(server, agent.QuitSignals(), agent.Environ(config.NoEnviron), agent.Logging(infratest.Loggers(t)),
		agent.Args("--config-dir", t.TempDir(), "--http-port", "0"))
	if err := a.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ method, path, body, want string }{
		{"POST", "/greeting", `{"name": "Ada"}`, "{\n  \"greeting\": \"Hello Ada!\"\n}\n"},
		{"POST", "/greeting", `{"name": ""}`, "400 Bad Request\n{\n  \"error\": \"expected a name, as in {\\\"name\\\": \\\"Ada\\\"}\",\n  \"Error\": \"expected a name, as in {\\\"name\\\": \\\"Ada\\\"}\"\n}\n"},
		{"POST", "/greeting", `Ada`, "400 Bad Request\n{\n  \"error\": \"read the name: invalid character 'A' looking for beginning of value\",\n  \"Error\": \"read the name: invalid character 'A' looking for beginning of value\"\n}\n"},
		{"GET", "/greeting", "", "405 Method Not Allowed\n{\n  \"error\": \"GET /greeting: expected method POST\",\n  \"Error\": \"GET /greeting: expected method POST\"\n}\n"},
	} {
		if got := ask(t, test.method, server.URL()+test.path, test.body); got != test.want {
			t.Errorf("%s %s %q:\n got %q\nwant %q", test.method, test.path, test.body, got, test.want)
		}
	}
	for path, want := range map[string]string{"/": "helloworld", "/openapi.json": `"summary": "greets whom the body names`} {
		if got := ask(t, "GET", server.URL()+path, ""); !strings.Contains(got, want) {
			t.Errorf("%s does not have %q:\n%s", path, want, got)
		}
	}
	if err := a.Stop(); err != nil {
		t.Error(err)
	}
	agenttest.CheckLeaks(t, a)
}
