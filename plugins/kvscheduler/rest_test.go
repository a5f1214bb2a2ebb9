package kvscheduler_test

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/tenuto-dev/tenuto/infra/agent/agenttest"
	"github.com/tenuto-dev/tenuto/infra/rest"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest/model"
)

// The endpoints in an agent with an HTTP server.
func TestRESTInAgent(t *testing.T) {
	t.Parallel()
	conf := rest.DefaultConfig()
	conf.Endpoint = "127.0.0.1:0"
	server := rest.NewPlugin(rest.UseConf(conf))
	scheduler := kvscheduler.NewPlugin(kvscheduler.UseOutput(&bytes.Buffer{}), kvscheduler.UseDeps(func(d *kvscheduler.Deps) { d.HTTP = server }))
	agenttest.Start(t, scheduler)
	sb := kvstest.NewMockSB()
	if err := scheduler.RegisterKVDescriptor(sb.Descriptor("tap", "tap/", kvstest.WithMetadata())); err != nil {
		t.Fatal(err)
	}
	if err := commit(t, scheduler, map[string]*model.Item{"tap/1": {Value: 1}, "tap/2": {Deps: []string{"tap/3"}}}); err != nil {
		t.Fatal(err)
	}
	sb.Remove("tap/1")
	for _, tc := range []struct{ method, path, want string }{
		{"GET", "/scheduler/status", `"state": "PENDING"`},
		{"GET", "/scheduler/txn-history?format=text", "1. CREATE:"},
		{"GET", "/scheduler/dump?descriptor=tap&view=cached", `"Handle": 1`},
		{"GET", "/scheduler/why?key=tap/2&format=text", "waits for tap/3"},
		{"GET", "/scheduler/graph?format=dot", "digraph"},
		{"GET", "/scheduler/graph?txn=0&format=dot", "fillcolor=gold"},
		{"POST", "/scheduler/downstream-resync", `"PrevState": "MISSING"`},
		{"GET", "/scheduler/stats", `"TotalProcessed": 2`},
		{"GET", "/scheduler/flag-stats?flag=value-state", `"CONFIGURED": 1`},
		{"GET", "/scheduler/wait?key=tap/1&timeout=1m", "200 OK"},
		{"GET", "/scheduler/nothing", "404"},
		{"GET", "/", "/scheduler/txn-history"},
	} {
		if got := ask(t, tc.method, server.URL()+tc.path); !strings.Contains(got, tc.want) {
			t.Errorf("%s %s: %q is not in\n%s", tc.method, tc.path, tc.want, got)
		}
	}
	http.DefaultClient.CloseIdleConnections()
}

func ask(t *testing.T, method, url string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.Status + "\n" + string(body)
}
