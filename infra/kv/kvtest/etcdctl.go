package kvtest

import (
	"os/exec"
	"testing"
)

// Etcdctl runs the tool of etcd, which must succeed, and returns what it writes.
// It waits as long as a test does: its own bounds are a few seconds, in which a
// machine with much to do may stand still. The test is skipped if there is none on
// this machine.
func Etcdctl(tb testing.TB, args ...string) string {
	tb.Helper()
	args = append([]string{
		"ETCDCTL_API=3", find(tb, "etcdctl", "etcd-client"), "--dial-timeout", patience.String(), "--command-timeout", patience.String(),
	}, args...)
	out, err := exec.CommandContext(tb.Context(), "env", args...).CombinedOutput()
	if err != nil {
		tb.Fatalf("%q: %v\n%s", args, err, out)
	}
	return string(out)
}
