package supervisor_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/tenuto-dev/tenuto/infra/agent"
	"github.com/tenuto-dev/tenuto/infra/agent/agenttest"
	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/infra/infratest"
	"github.com/tenuto-dev/tenuto/infra/logging"
	"github.com/tenuto-dev/tenuto/infra/supervisor"
)

// A program whose log file is on a full disk runs on: what it says is lost, of
// which is logged once, until there is room again.
func TestLogFileOnFullDisk(t *testing.T) {
	dir := infratest.SmallDisk(t, "64k")
	path := filepath.Join(dir, "one.log")
	var log infratest.Buffer
	p := supervisor.NewPlugin(supervisor.UseDeps(func(d *supervisor.Deps) {
		d.Cfg = config.Text("supervisor", fmt.Sprintf(`programs:
- name: one
  executable-path: sh
  executable-args: [-c, 'trap "head -c 20000 /dev/zero" USR1; trap "echo again" HUP; echo runs; while :; do sleep 0.01; done']
  logfile-path: %s
  forward-signals: [USR1, HUP]
`, path))
	}))
	a := agenttest.New(t, agent.AllPlugins(p), agent.QuitOnClose(p.Done()), agent.StopTimeout(0),
		agent.Logging(logging.NewRegistry(logging.WithWriter(&log), logging.WithColours(false))))
	start(t, a)
	said := func(want string) func() bool {
		return func() bool {
			text, err := os.ReadFile(path)
			return err == nil && strings.HasSuffix(string(text), want)
		}
	}
	send := func(sig syscall.Signal) {
		t.Helper()
		if err := syscall.Kill(os.Getpid(), sig); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "the first line", said("runs\n"))
	free := infratest.FillDisk(t, dir, 0)
	send(syscall.SIGUSR1)
	eventually(t, "a warning", func() bool { return strings.Contains(log.String(), "output of a process is lost") })
	free()
	send(syscall.SIGHUP)
	eventually(t, "a line when there is room again", said("again\n"))
	if text := log.String(); !strings.Contains(text, path+": no space left on device") || strings.Contains(text, "process ended") {
		t.Errorf("the log:\n%s", text)
	}
	if err := a.Stop(); err != nil {
		t.Error(err)
	}
}
