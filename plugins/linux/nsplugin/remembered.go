package nsplugin

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tenuto-dev/tenuto/plugins/linux/nsplugin/internal/containers"
)

// What a source of containers has not listed is unknown, not absent: the containers that it
// listed last, also before a restart of the agent, are kept for as long as their processes run.

// State persists values over restarts of the agent; the scheduler implements it.
type State interface {
	EachState(name string, f func(key string, data []byte)) error
	SaveState(name string, put map[string][]byte, all bool) error
	KeepsState() bool
}

// stateName is the name of the containers in the State.
const stateName = "containers"

// checkInterval is how often the processes of containers are checked that a source does not list.
const checkInterval = time.Second

// remembered is a container in the State; its ID is the key.
type remembered struct {
	Source string `json:"source"`
	Label  string `json:"label"`
	PID    int    `json:"pid"`
	Start  string `json:"start"` // of the process
}

// startOf returns when a process started, and the boot, so that another process with its number
// differs; empty if there is no such process.
func startOf(pid int) string {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	boot, berr := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil || berr != nil {
		return ""
	}
	// The name of the program, in parentheses, may contain anything. The state is the first field
	// after it, the start the 20th.
	fields := strings.Fields(string(stat)[strings.LastIndexByte(string(stat), ')')+1:])
	if len(fields) < 20 || fields[0] == "Z" || fields[0] == "X" {
		return ""
	}
	return strings.TrimSpace(string(boot)) + " " + fields[19]
}

// runs reports whether the process of a container still runs. If its start is unknown, it may.
func (m *microservices) runs(c containers.Container) bool {
	start := m.starts[c.ID]
	return start == "" || start == startOf(c.PID)
}

// recall adds the containers from before the restart whose processes run.
func (m *microservices) recall() error {
	if m.state == nil || !m.state.KeepsState() {
		m.state = nil
		return nil
	}
	err := m.state.EachState(stateName, func(id string, data []byte) {
		var r remembered
		if err := json.Unmarshal(data, &r); err != nil {
			m.log.Warn("ignoring a stored container", "container", id, "error", err)
			return
		}
		known := slices.ContainsFunc(m.sources, func(s *followed) bool { return s.String() == r.Source })
		if !known || r.Start == "" || r.Start != startOf(r.PID) {
			return
		}
		m.starts[id] = r.Start
		m.index.Apply(r.Source, containers.Update{Running: []containers.Container{{Label: r.Label, ID: id, PID: r.PID}}})
	})
	if err != nil {
		return fmt.Errorf("restore the containers: %w", err)
	}
	return nil
}

// save persists the containers. The lock is held.
func (m *microservices) save() {
	put := map[string][]byte{}
	starts := map[string]string{}
	for _, s := range m.sources {
		for _, c := range m.index.Of(s.String()) {
			if starts[c.ID] = m.starts[c.ID]; starts[c.ID] == "" {
				starts[c.ID] = startOf(c.PID)
			}
			put[c.ID], _ = json.Marshal(remembered{s.String(), c.Label, c.PID, starts[c.ID]}) // cannot fail
		}
	}
	m.starts = starts
	if m.state == nil {
		return
	}
	if err := m.state.SaveState(stateName, put, true); err != nil {
		m.log.Warn("cannot persist which containers run", "error", err)
	}
}

// keepRunning adds the containers of a source to an empty list whose processes run: the list may
// be the result of an accident. The lock is held.
func (m *microservices) keepRunning(s *followed, u containers.Update) (kept containers.Update, names []string) {
	if !u.All || len(u.Running) > 0 {
		return u, nil
	}
	for _, c := range m.index.Of(s.String()) {
		if m.starts[c.ID] != "" && m.runs(c) {
			u.Running = append(u.Running, c)
			names = append(names, c.Label)
		}
	}
	return u, names
}

// check removes the containers that sources do not list, and whose processes have ended.
func (m *microservices) check(ctx context.Context) {
	tick := time.NewTicker(checkInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		for _, s := range m.sources {
			if !s.unlisted() {
				continue
			}
			var ended []string
			m.mu.Lock()
			for _, c := range m.index.Of(s.String()) {
				if !m.runs(c) {
					ended = append(ended, c.ID)
				}
			}
			m.mu.Unlock()
			if len(ended) > 0 {
				m.apply(s, containers.Update{Stopped: ended}, false)
			}
		}
		m.tellHealth()
	}
}

// unlisted reports whether the containers of the source are those that it listed before.
func (s *followed) unlisted() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err != nil || len(s.kept) > 0
}

// The parts of the plugin's health that report containers.
const (
	// HealthContainers reports sources that have not listed their containers since the start.
	HealthContainers = "containers"
	// HealthEngine reports sources that listed their containers, but are not available now.
	HealthEngine = "engine"
)

// tellHealth reports sources whose containers are not known. A source that does not exist and
// had no containers is not in use.
func (m *microservices) tellHealth() {
	if m.health == nil {
		return
	}
	var unknown, away []string
	for _, s := range m.sources {
		known := m.index.Of(s.String())
		s.mu.Lock()
		switch {
		case len(s.kept) > 0:
			away = append(away, fmt.Sprintf("%s lists no containers, but the processes of %s run; they are kept until these end", s, strings.Join(s.kept, ", ")))
		case s.err == nil || len(known) == 0 && s.absent():
		case s.listed:
			away = append(away, fmt.Sprintf("%s is not available since %s; its %d containers are kept: %v", s, s.since.Format(time.TimeOnly), len(known), s.err))
		default:
			unknown = append(unknown, fmt.Sprintf("%s has not listed its containers since the start; %d from before are kept: %v", s, len(known), s.err))
		}
		s.mu.Unlock()
	}
	m.setHealth(HealthContainers, unknown)
	m.setHealth(HealthEngine, away)
}

// setHealth makes a part of the health degraded if there are texts, and otherwise ends the part.
func (m *microservices) setHealth(part string, texts []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case len(texts) > 0:
		m.told[part] = true
		m.health.Scope(part).Degraded(strings.Join(texts, "; "), nil)
	case m.told[part]:
		delete(m.told, part)
		m.health.Scope(part).Close()
	}
}
