package cli

import (
	"net"
	"strings"
	"testing"

	"github.com/tenuto-dev/tenuto/infra/infratest"
)

// What "config retrieve" prints can be applied, and changes nothing: also with values that VPP has
// chosen or inherited, such as MAC addresses and MTUs.
func TestRetrieveCanBeApplied(t *testing.T) {
	t.Parallel()
	a := simulatedAgent(t, "--simulate-links", "lan0,wan0")
	host, http, err := net.SplitHostPort(a.HTTP.Addr().String())
	infratest.Fatal(t, err)
	_, grpc, err := net.SplitHostPort(a.GRPC.Addr().String())
	infratest.Fatal(t, err)
	agentctl := func(args ...string) result {
		t.Helper()
		r := run(t, nil, append([]string{"--host", host, "--http-port", http, "--grpc-port", grpc}, args...)...)
		if r.code != 0 {
			t.Fatalf("%q: exit %d: %s%s", args, r.code, r.out, r.err)
		}
		return r
	}
	agentctl("status", "--wait")
	agentctl("config", "update", "--wait", "testdata/router.yaml")
	for _, flags := range [][]string{nil, {"--all"}, {"--show-secrets"}} {
		text := agentctl(append([]string{"config", "retrieve"}, flags...)...).out
		if strings.Contains(text, "9000") && flags == nil || !strings.Contains(text, "action: DENY") {
			t.Errorf("config retrieve %q:\n%s", flags, text)
		}
		if r := agentctl("plan", write(t, "net.yaml", text)); r.out != "nothing to do\n" {
			t.Errorf("the plan of config retrieve %q:\n%s\nof\n%s", flags, r.out, text)
		}
	}

	for _, args := range [][]string{{"get", "vpp.acls.acl/in"}, {"dump", "vpp.acls.acl"}} {
		if text := agentctl(args...).out; !strings.Contains(text, "action: DENY") {
			t.Errorf("%q:\n%s", args, text)
		}
	}

	agentctl("config", "update", write(t, "more.yaml", "vppConfig: {routes: [{dstNetwork: 10.9.0.0/16, outgoingInterface: later}]}"))
	r := agentctl("config", "retrieve")
	if !strings.Contains(r.err, "written as given: 1 that are not in effect: vpp.route/if/later/") {
		t.Errorf("with an item that waits: %s", r.err)
	}
	if r := agentctl("plan", "--replace", write(t, "net.yaml", r.out)); !strings.HasSuffix(r.out, "(interface-exists)\n\n1 item waiting\n") || strings.Contains(r.out, "+ dst_network") {
		t.Errorf("the plan of a configuration with an item that waits:\n%s", r.out)
	}
}
