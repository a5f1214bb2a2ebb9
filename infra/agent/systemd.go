package agent

import (
	"fmt"
	"strings"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"

	"github.com/tenuto-dev/tenuto/infra"
	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/infra/health"
)

const (
	// reportPause is the shortest time between two reports to systemd.
	reportPause = time.Second
	// reportInterval is the longest. It is longer if the summaries of the plugins take
	// long, so that they use at most one part in reportShare of a processor.
	reportInterval = 10 * time.Second
	reportShare    = 200
)

// systemd reports the life of the agent to the service manager (sd_notify(3)), if there
// is one: READY when all plugins are started, the status whenever it changes, and
// STOPPING.
type systemd struct{ a *Agent }

// newSystemd returns nil if no service manager asks for notifications.
func (a *Agent) newSystemd() *systemd {
	lookup := a.opts.environ
	if lookup == nil {
		lookup = config.ProcessEnviron
	}
	if socket, _ := lookup("NOTIFY_SOCKET"); socket == "" {
		return nil
	}
	return &systemd{a}
}

// run reports until the agent stops.
func (s *systemd) run() {
	changes, cancel := s.a.health.Changes()
	defer cancel()
	s.notify("READY=1")
	for last := ""; ; {
		begin := time.Now()
		if status := s.status(); status != last {
			s.notify("STATUS=" + status)
			last = status
		}
		if s.stops(nil, reportPause) || s.stops(changes, max(reportInterval, reportShare*time.Since(begin))) {
			break
		}
	}
	s.notify("STOPPING=1\nSTATUS=stopping")
}

// stops waits for a change, but not longer than a time, and reports whether the agent stops.
func (s *systemd) stops(changes <-chan struct{}, atMost time.Duration) bool {
	timer := time.NewTimer(atMost)
	defer timer.Stop()
	select {
	case <-s.a.quit.Done():
		return true
	case <-changes:
	case <-timer.C:
	}
	return false
}

func (s *systemd) notify(state string) {
	if _, err := daemon.SdNotify(false, state); err != nil {
		s.a.log.Warn("systemd was not notified", "error", err)
	}
}

// status is one line: the state of the agent, the first plugin with a failure, and what
// the plugins say about their work.
func (s *systemd) status() string {
	snapshot := s.a.health.Snapshot()
	parts := []string{snapshot.State.String()}
	if p := firstTrouble(snapshot); p != nil {
		parts = append(parts, fmt.Sprintf("%s: %s", p.Name, p.Trouble()))
	}
	for _, m := range s.a.wiring.members {
		if sum, ok := m.Plugin.(infra.Summarizer); ok {
			parts = append(parts, sum.Summary())
		}
	}
	return strings.Join(strings.Fields(strings.Join(parts, "; ")), " ")
}

// firstTrouble is the first plugin in the state of the agent, unless that is well; one
// that is itself the cause comes before others.
func firstTrouble(s health.Snapshot) *health.Status {
	var first *health.Status
	for i := range s.Plugins {
		p := &s.Plugins[i]
		if p.State != s.State || p.Trouble() == "" {
			continue
		}
		if p.Causes() == "" {
			return p
		}
		if first == nil {
			first = p
		}
	}
	return first
}
