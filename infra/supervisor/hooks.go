package supervisor

import (
	"context"
	"path/filepath"
	"strconv"
	"sync"

	"github.com/tenuto-dev/tenuto/infra/process"
)

// hooks runs the hooks, one event after the other. Programs do not wait for them.
type hooks struct {
	plugin *Plugin

	mu   sync.Mutex
	last chan struct{} // closed when the hooks of the last event have ended
}

func newHooks(p *Plugin) *hooks {
	none := make(chan struct{})
	close(none)
	return &hooks{plugin: p, last: none}
}

// add runs the hooks for an event after the hooks of previous events.
func (h *hooks) add(s process.Status) {
	h.mu.Lock()
	defer h.mu.Unlock()
	before, done := h.last, make(chan struct{})
	h.last = done
	go func() { // wait waits for it
		defer close(done)
		<-before
		for _, hook := range h.plugin.cfg.Hooks {
			h.run(hook, s)
		}
	}()
}

// wait waits until the hooks of all events have ended.
func (h *hooks) wait() {
	h.mu.Lock()
	last := h.last
	h.mu.Unlock()
	<-last
}

func (h *hooks) run(hook Hook, s process.Status) {
	env := []string{
		"SUPERVISOR_EVENT_TYPE=ProcessStatus",
		"SUPERVISOR_PROCESS_NAME=" + s.Name,
		"SUPERVISOR_PROCESS_STATE=" + string(s.State),
	}
	if s.State != process.Running {
		env = append(env, "SUPERVISOR_PROCESS_STATUS="+strconv.Itoa(s.Last.Status()))
	}
	ctx, cancel := context.WithTimeout(context.Background(), h.plugin.cfg.HookTimeout)
	defer cancel()
	exit, err := h.plugin.Processes.Run(ctx, process.Spec{
		Name: "hook-" + filepath.Base(hook.Cmd), Path: hook.Cmd, Args: hook.Args, Env: env,
		Stdout: h.plugin.stdout, Stderr: h.plugin.stderr,
	})
	if err != nil || exit.Failed() {
		h.plugin.Log.Warn("hook failed", "cmd", hook.Cmd, "program", s.Name, "state", string(s.State), "exit", exit.String(), "error", err)
	}
}
