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

	mu      sync.Mutex
	events  []process.Status
	closing bool
	wake    chan struct{}
	done    chan struct{}
}

func startHooks(p *Plugin) *hooks {
	h := &hooks{plugin: p, wake: make(chan struct{}, 1), done: make(chan struct{})}
	go h.serve()
	return h
}

// add queues an event.
func (h *hooks) add(s process.Status) {
	if len(h.plugin.cfg.Hooks) == 0 {
		return
	}
	h.mu.Lock()
	h.events = append(h.events, s)
	h.mu.Unlock()
	h.poke()
}

func (h *hooks) poke() {
	select {
	case h.wake <- struct{}{}:
	default:
	}
}

// stop waits until the hooks have processed all events.
func (h *hooks) stop() {
	h.mu.Lock()
	h.closing = true
	h.mu.Unlock()
	h.poke()
	<-h.done
}

func (h *hooks) serve() {
	defer close(h.done)
	for {
		h.mu.Lock()
		events, closing := h.events, h.closing
		h.events = nil
		h.mu.Unlock()
		for _, e := range events {
			for _, hook := range h.plugin.cfg.Hooks {
				h.run(hook, e)
			}
		}
		if len(events) > 0 {
			continue
		}
		if closing {
			return
		}
		<-h.wake
	}
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
