package kvtest

import (
	"os/exec"
	"testing"
)

// Etcdctl runs etcdctl, which must succeed, and returns its output. It has the
// timeout of the test, since its default timeout of a few seconds is too short on
// a busy machine. The test is skipped if etcdctl is not installed.
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
