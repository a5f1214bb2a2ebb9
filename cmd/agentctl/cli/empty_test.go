package cli

import (
	"net"
	"strings"
	"testing"

	"github.com/tenuto-dev/tenuto/infra/infratest"
)

// A file without items that replaces the configuration would remove all of it: no command does so without --allow-empty.
func TestEmptyFiles(t *testing.T) {
	t.Parallel()
	a := simulatedAgent(t)
	host, port, err := net.SplitHostPort(a.HTTP.Addr().String())
	infratest.Fatal(t, err)
	agentctl := func(args ...string) result {
		return run(t, nil, append([]string{"--host", host, "--http-port", port}, args...)...)
	}
	agentctl("status", "--wait")
	empty, nothing := write(t, "empty.yaml", ""), write(t, "nothing.yaml", "# later\nvppConfig: {interfaces: []}\n")
	agentctl("apply", "--replace", empty).wants(t, 0, "") // there is nothing to lose
	agentctl("config", "update", "--replace", empty).wants(t, 0, "")

	loop := write(t, "net.yaml", "vppConfig: {interfaces: [{name: loop1, type: SOFTWARE_LOOPBACK}]}")
	agentctl("apply", loop).wants(t, 0, "")
	saved := strings.TrimSuffix(loop, ".yaml") + ".plan"
	for _, command := range []string{"plan --replace", "plan --replace --all", "plan --replace --out " + saved, "apply --replace", "apply --replace --yes", "config update --replace", "config update --replace --labels team=blue"} {
		for file, name := range map[string]string{empty: empty, nothing: nothing, "-": "the standard input"} { // the standard input of tests is empty
			r := agentctl(append(strings.Fields(command), file)...)
			r.wants(t, 1, "ERROR: the agent would lose all items, since "+name+" has none; if that is right: --allow-empty\n")
		}
	}
	for command, want := range map[string]string{
		"apply " + empty: "", "plan --replace " + loop: "", "config update " + empty: "", "apply " + t.TempDir(): "is a directory", "import --grpc " + empty: "there is nothing to import",
	} {
		if r := agentctl(strings.Fields(command)...); r.code != 0 != (want != "") || !strings.Contains(r.err, want) {
			t.Errorf("%s: exit %d, expected %q: %s%s", command, r.code, want, r.out, r.err)
		}
	}
	agentctl("plan", "--replace", write(t, "wrong.yaml", "vppConfg: {}")).wants(t, 1, "vppConfg")
	agentctl("get", "vpp.interfaces/loop1").wants(t, 0, "")

	if r := agentctl("plan", "--replace", "--allow-empty", "--out", saved, empty); r.code != 2 || !strings.Contains(r.out, "- vpp.interfaces/loop1") {
		t.Errorf("exit %d: %s%s", r.code, r.out, r.err)
	}
	agentctl("plan", saved).wants(t, 2, "")
	agentctl("apply", saved).wants(t, 0, "")
	agentctl("get", "vpp.interfaces/loop1").wants(t, 1, "")
	agentctl("apply", loop).wants(t, 0, "")
	agentctl("config", "update", "--replace", "--allow-empty", nothing).wants(t, 0, "")
	agentctl("get", "vpp.interfaces/loop1").wants(t, 1, "")
}
