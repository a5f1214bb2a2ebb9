package orchestrator_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/kvstest"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/response"
	pb "github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
)

// answered is the answer to a change.
type answered struct {
	Error   string
	Results []struct{ Key, State, Error, Reason string }
	Summary *response.Summary
}

func (s server) outcome(method, path, body string, status int) (a answered) {
	s.t.Helper()
	if err := json.Unmarshal([]byte(s.do(method, path, body, status)), &a); err != nil {
		s.t.Fatal(err)
	}
	return a
}

// The answer to a change says what is in effect, and of everything else why not.
func TestOutcomeOfAChange(t *testing.T) {
	t.Parallel()
	s := server{http.NewServeMux(), t}
	w := start(t, nil, orchestrator.UseHTTP(s))
	w.waitSynced()
	const mixed = `{vppConfig: {interfaces: [{name: a}, {name: b}, {name: c}], bridgeDomains: [{name: bd}],
		routes: [{dstNetwork: 10.0.0.0/8, outgoingInterface: x}]}}`
	got := s.outcome("PUT", "/configuration?results=problems", mixed, 200)
	const want = "3 of 5 in effect, 1 pending (config/vpp/v2/route/if/x/vrf/0/dst/10.0.0.0/8/ waits for config/vpp/v2/interfaces/x (interface)), " +
		"1 UNIMPLEMENTED (config/vpp/l2/v2/bridge-domain/bd no plugin of this agent handles it)"
	if got.Summary == nil || got.Summary.Text != want || got.Summary.Failed != 1 || got.Summary.InEffect != 3 {
		t.Errorf("got %+v\nwant %s", got.Summary, want)
	}
	if len(got.Results) != 2 || got.Results[0].Reason == "" || got.Results[1].Reason == "" {
		t.Errorf("results %+v", got.Results)
	}
	if all := s.outcome("PUT", "/configuration", mixed, 200); len(all.Results) != 5 {
		t.Errorf("all results: %+v", all.Results)
	}
	plan := s.do("POST", "/scheduler/plan", mixed, 200, `"Reason": "no plugin of this agent handles it"`)
	if got := s.outcome("POST", "/scheduler/apply?results=problems", plan, 200); got.Summary.Text != want {
		t.Errorf("of a plan: %+v", got.Summary)
	}

	w.sb.Inject(kvstest.Fault{Op: pb.TxnOperation_CREATE, Key: iface("d", 0).Key})
	got = s.outcome("PUT", "/configuration?results=problems", "vppConfig: {interfaces: [{name: a}, {name: d}]}", 500)
	if got.Summary == nil || !strings.HasPrefix(got.Summary.Text, "1 of 2 in effect, 1 RETRYING (config/vpp/v2/interfaces/d injected failure") {
		t.Errorf("with a failure: %+v", got.Summary)
	}
	s.do("PUT", "/configuration?results=some", mixed, 400, "expected all or problems")
	s.do("PUT", "/configuration?wait=soon", mixed, 400, "expected a positive duration")
}

// A client can wait until the items are in effect; the wait ends as soon as one
// of them cannot be.
func TestWaitForAnOutcome(t *testing.T) {
	t.Parallel()
	s := server{http.NewServeMux(), t}
	w := start(t, nil, orchestrator.UseHTTP(s))
	w.waitSynced()
	w.sb.Inject(kvstest.Fault{Op: pb.TxnOperation_CREATE, Key: iface("a", 0).Key, Times: 1})
	got := s.outcome("PUT", "/configuration?wait=1h", "vppConfig: {interfaces: [{name: a}]}", 200)
	if got.Error != "" || got.Summary.Text != "1 of 1 in effect" {
		t.Errorf("a retry succeeded: %+v", got)
	}
	got = s.outcome("PUT", "/configuration?wait=1h", "vppConfig: {bridgeDomains: [{name: bd}]}", 200)
	if got.Summary.Failed != 1 {
		t.Errorf("it can never be: %+v", got.Summary)
	}
	got = s.outcome("PUT", "/configuration?wait=1ms", "vppConfig: {routes: [{dstNetwork: 10.0.0.0/8, outgoingInterface: x}]}", 200)
	if got.Summary.States["PENDING"] != 1 {
		t.Errorf("it is pending: %+v", got.Summary)
	}
}

// Removed items are counted apart from those in effect.
func TestOutcomeOfRemovals(t *testing.T) {
	t.Parallel()
	s := server{http.NewServeMux(), t}
	w := start(t, nil, orchestrator.UseHTTP(s))
	w.waitSynced()
	s.outcome("PUT", "/configuration", "vppConfig: {interfaces: [{name: a}, {name: b}, {name: c}]}", 200)
	const rest = "vppConfig: {interfaces: [{name: a}], routes: [{dstNetwork: 10.0.0.0/8, outgoingInterface: x}]}"
	plan := s.do("POST", "/scheduler/plan?replace=1", rest, 200)
	const want = "1 of 2 in effect, 1 pending (config/vpp/v2/route/if/x/vrf/0/dst/10.0.0.0/8/ waits for config/vpp/v2/interfaces/x (interface)), 2 removed"
	if got := s.outcome("POST", "/scheduler/apply", plan, 200); got.Summary == nil || got.Summary.Text != want {
		t.Errorf("plan: %+v, expected %s", got.Summary, want)
	}
}
