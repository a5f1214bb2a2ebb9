package nsplugin_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/tenuto-dev/tenuto/infra/agent/agenttest"
	"github.com/tenuto-dev/tenuto/infra/holder"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi/nltest"
	"github.com/tenuto-dev/tenuto/plugins/linux/nsplugin"
)

// identity is a label.
type identity string

func (i identity) Identity() holder.Identity {
	return holder.Identity{Program: "vpp-agent", Label: string(i), PID: os.Getpid()}
}

// Of agents with the same label one has the networking of Linux, and the next one when it
// ends. Agents with other labels are not affected.
func TestOneAgentHoldsLinux(t *testing.T) {
	t.Parallel()
	label := fmt.Sprintf("%s-%d", t.Name(), os.Getpid())
	w := nltest.Sim()
	begin := func(label string) (told sessions, stop func() error) {
		told = make(sessions, 10)
		p := nsplugin.NewPlugin(nsplugin.UseKernel(w.Namespaces, w.Dir),
			nsplugin.UseDeps(func(d *nsplugin.Deps) { d.Scheduler, d.Identity = told, identity(label) }))
		return told, agenttest.Start(t, p).Stop
	}
	first, stop := begin(label)
	if got := <-first; got != "linux up 1" {
		t.Errorf("the first agent: %q", got)
	}
	second, stopSecond := begin(label)
	if got := <-second; !strings.HasPrefix(got, fmt.Sprintf(`linux down: label %q is held by vpp-agent pid %d`, label, os.Getpid())) {
		t.Errorf("the second agent: %q", got)
	}
	third, _ := begin(label)
	if got := <-third; !strings.Contains(got, "is held by") {
		t.Errorf("the third agent: %q", got)
	}
	other, _ := begin(label + "-other")
	if got := <-other; got != "linux up 1" {
		t.Errorf("an agent with another label: %q", got)
	}
	if err := stopSecond(); err != nil { // while it waits
		t.Error(err)
	}
	if len(second) > 0 {
		t.Errorf("the second agent: %q", <-second)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
	if got := <-third; got != "linux up 1" {
		t.Errorf("the third agent: %q", got)
	}
}
