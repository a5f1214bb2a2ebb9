package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// moment is when the agent is killed: it returns at the moment, or when nothing more is to
// be expected.
type moment struct {
	name string
	wait func()
}

// moments returns the moments of a start, or of a change.
func (tr *trial) moments(start bool) []moment {
	list := []moment{
		{"at a request", tr.atRequest}, {"at a request", tr.atRequest}, {"at an event of the kernel", tr.atEvent},
		{"when it saves its state", tr.atSave}, {"after a while", func() { tr.pause(tr.usual + tr.usual/4) }},
	}
	if start {
		return append(list, moment{"before it connects", func() { tr.pause(60 * time.Millisecond) }})
	}
	return append(list, moment{"right after the change", func() { tr.converge(tr.usual*4 + time.Second) }})
}

func (tr *trial) pause(most time.Duration) {
	d := time.Duration(tr.rnd.Int64N(int64(most)))
	tr.say("  pause of %v", d)
	<-time.After(d)
}

// await waits until something happened; not longer than a change usually takes.
func (tr *trial) await(happened func() bool) {
	tick := time.NewTicker(time.Millisecond) // neither the simulator nor the file reports changes
	defer tick.Stop()
	for end := time.Now().Add(tr.usual*2 + 300*time.Millisecond); time.Now().Before(end); <-tick.C {
		if happened() {
			return
		}
	}
	tr.say("  which did not happen")
}

// atRequest has the simulator hang at a request.
func (tr *trial) atRequest() {
	n, late := 1+tr.rnd.IntN(tr.requests+tr.requests/10+1), ""
	if tr.rnd.IntN(2) == 0 {
		late = " late"
	}
	tr.say("  request %d%s", n, late)
	tr.sim.ask(fmt.Sprintf("hangat any %d%s", n, late))
	tr.await(func() bool { return tr.sim.ask("hung")[0] == "true" })
}

func (tr *trial) atEvent() {
	n := 1 + tr.rnd.IntN(60)
	tr.say("  event %d", n)
	m := tr.monitors[tr.rnd.IntN(len(tr.monitors))]
	from := m.seen()
	tr.await(func() bool { return m.seen() >= from+n })
}

// atSave waits for the n-th change of the file with the state.
func (tr *trial) atSave() {
	n, changes := 1+tr.rnd.IntN(6), 0
	tr.say("  save %d", n)
	path, last := filepath.Join(tr.dir, "state", "state.db"), ""
	tr.await(func() bool {
		info, err := os.Stat(path)
		if err != nil {
			return false
		}
		if now := fmt.Sprint(info.Size(), info.ModTime().UnixNano()); now != last {
			last, changes = now, changes+1
		}
		return changes > n
	})
}

// kill kills the agent at a moment, and waits until the simulator has executed its last
// request.
func (tr *trial) kill(m moment) {
	tr.t.Helper()
	tr.say("killed %s", m.name)
	m.wait()
	if tr.rnd.IntN(8) == 0 && tr.sim.ask("hung")[0] == "false" {
		tr.say("  stopped instead")
		_ = tr.agent.cmd.Process.Signal(syscall.SIGTERM)
		<-tr.agent.read
	}
	tr.agent.end()
	tr.kills++
	tr.sim.ask("hangat any 0")
	tr.sim.ask("resume")
	for strings.TrimSpace(tr.sim.ask("clients")[0]) != "[]" { // each question takes its time
	}
}
