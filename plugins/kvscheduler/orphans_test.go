package kvscheduler_test

import (
	"bytes"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/tenuto-dev/tenuto/infra/agent/agenttest"
	"github.com/tenuto-dev/tenuto/infra/rest"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest/model"
	pb "github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
)

// What an earlier run of the agent made and is not desired is listed, with
// when it was made, and can be removed; what others made is listed and cannot.
func TestOrphansOverHTTP(t *testing.T) {
	t.Parallel()
	sb := kvstest.NewMockSB()
	conf := kvscheduler.DefaultConfig()
	conf.StateDir = t.TempDir()
	serve := func() (*kvscheduler.Scheduler, string, func() error) {
		web := rest.DefaultConfig()
		web.Endpoint = "127.0.0.1:0"
		server := rest.NewPlugin(rest.UseConf(web))
		s := kvscheduler.NewPlugin(kvscheduler.UseConf(conf), kvscheduler.UseOutput(&bytes.Buffer{}),
			kvscheduler.UseDeps(func(d *kvscheduler.Deps) { d.HTTP = server }))
		a := agenttest.Start(t, s)
		if err := s.RegisterKVDescriptor(sb.Descriptor("tap", "tap/"), sb.Descriptor("link", "link/", kvstest.WithSouthbound("far"))); err != nil {
			t.Fatal(err)
		}
		return s, server.URL() + "/scheduler/orphans", a.Stop
	}
	s, _, stop := serve()
	s.SouthboundUp("far", 1)
	if err := commit(t, s, map[string]*model.Item{"tap/1": {Value: 1}, "tap/2": {Value: 2}, "tap/3": {Value: 3}, "link/1": {}}); err != nil {
		t.Fatal(err)
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	sb.Put("tap/foreign", &model.Item{Value: 9})
	s, at, _ := serve()
	expect := func(method, query string, parts ...string) {
		t.Helper()
		got := ask(t, method, at+query)
		for _, part := range parts {
			if absent, not := strings.CutPrefix(part, "!"); strings.Contains(got, absent) == not {
				t.Errorf("%s %s: unlike %q is\n%s", method, query, part, got)
			}
		}
	}
	expect("GET", "", `"tap/1"`, `"link/1"`, `"Unread": true`, "far: disconnected", `"tap/foreign"`) // read at once
	if _, err := s.StartNBTransaction().Commit(t.Context(), api.WithResync(api.DownstreamResync, false)); err != nil {
		t.Fatal(err)
	}
	if err := commit(t, s, map[string]*model.Item{"tap/3": {Value: 3}}); err != nil {
		t.Fatal(err)
	}
	expect("GET", "", `"tap/1"`, `"tap/2"`, `"tap/foreign"`, `"Ours": false`, `"Since"`, `"Txn": 1`, "!tap/3")
	key := func(k string) string { return "?remove=1&key=" + url.QueryEscape(k) }
	expect("POST", "?key=tap/1", "400")
	expect("POST", "?remove=1", "400")
	for _, k := range []string{"tap/foreign", "tap/3", "tap/none", "link/1"} {
		expect("POST", key(k), "409", "not a leftover", k)
	}
	expect("POST", key("tap/1")+"&key=tap/foreign", "409")
	expect("POST", key("tap/1"), `"SeqNum": `, "!tap/1", "tap/2")
	sb.Inject(kvstest.Fault{Op: pb.TxnOperation_DELETE, Key: "tap/2", Times: 1})
	expect("POST", key("tap/2"), `"Errors": [`, `"Problem": "`)
	expect("POST", key("tap/2"), "!tap/2")
	if got := strings.Join(sb.Keys(), " "); got != "link/1 tap/3 tap/foreign" {
		t.Errorf("left: %s", got)
	}
	http.DefaultClient.CloseIdleConnections()
}
