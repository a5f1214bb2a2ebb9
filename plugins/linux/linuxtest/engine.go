package linuxtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi/nltest"
)

// Engine is a container engine with the API of Docker or the Container Runtime Interface, as
// far as the agent uses them. Its containers are processes with a network namespace of their
// own.
type Engine struct {
	Socket string

	t     *testing.T
	close func() // nil: it does not listen

	mu         sync.Mutex
	containers map[string]*container // by ID
	listeners  map[chan event]bool
	told       []event
	made       int
	silent     bool
}

type container struct {
	label string
	cmd   *exec.Cmd
}

// labels returns what has the label of a container: the environment or, for "engine:LABEL", the
// labels of the engine.
func (c *container) labels() (env []string, labels map[string]string) {
	env, labels = []string{"PATH=/bin"}, map[string]string{}
	if label, engine := strings.CutPrefix(c.label, "engine:"); engine {
		labels["microservice-label"] = label
	} else if label != "" {
		env = append(env, "MICROSERVICE_LABEL="+label)
	}
	return env, labels
}

type event struct {
	Type, Action string
	Actor        struct {
		ID         string
		Attributes map[string]string
	}
	TimeNano int64 `json:"timeNano"`
}

// NewEngine returns an engine without containers that does not listen yet.
func NewEngine(t *testing.T) *Engine {
	t.Helper()
	e := &Engine{t: t, Socket: filepath.Join(t.TempDir(), "docker.sock"), containers: map[string]*container{}, listeners: map[chan event]bool{}}
	t.Cleanup(func() {
		e.Close()
		for _, id := range e.ids() {
			e.kill(id)
		}
	})
	return e
}

// Listen begins to answer with the API of Docker.
func (e *Engine) Listen() {
	e.t.Helper()
	l, err := net.Listen("unix", e.Socket)
	if err != nil {
		e.t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /events", e.events)
	mux.HandleFunc("GET /containers/json", e.list)
	mux.HandleFunc("GET /containers/{id}/json", e.inspect)
	server := &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute}
	e.close = func() { _ = server.Close() } // it is no longer needed
	go func() {
		if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			e.t.Error(err)
		}
	}()
}

// Close ends the engine, but not its containers.
func (e *Engine) Close() {
	if e.close != nil {
		e.close()
	}
}

// Hang makes the engine take requests without an answer.
func (e *Engine) Hang() { e.with(func() { e.silent = true }) }

// Run starts a container with a label, and returns its ID and the number of its process.
func (e *Engine) Run(label string) (id string, pid int) {
	e.t.Helper()
	c := &container{label: label, cmd: exec.Command("sleep", "infinity")}
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
	if err := c.cmd.Start(); err != nil {
		e.t.Fatal(err)
	}
	e.with(func() {
		e.made++
		id = fmt.Sprintf("c%d", e.made)
		e.containers[id] = c
	})
	e.tell("start", id)
	return id, c.cmd.Process.Pid
}

// Stop stops a container.
func (e *Engine) Stop(id string) {
	e.t.Helper()
	e.kill(id)
	e.tell("die", id)
}

func (e *Engine) kill(id string) {
	e.mu.Lock()
	c := e.containers[id]
	delete(e.containers, id)
	e.mu.Unlock()
	_ = c.cmd.Process.Kill()
	_ = c.cmd.Wait() // it was killed
}

func (e *Engine) with(f func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	f()
}

func (e *Engine) get(id string) (c *container) {
	e.with(func() { c = e.containers[id] })
	return c
}

func (e *Engine) ids() (ids []string) {
	e.with(func() { ids = slices.Sorted(maps.Keys(e.containers)) })
	return ids
}

func (e *Engine) tell(action, id string) {
	ev := event{Type: "container", Action: action, TimeNano: time.Now().UnixNano()}
	ev.Actor.ID = id
	e.with(func() {
		e.told = append(e.told, ev)
		for l := range e.listeners {
			l <- ev
		}
	})
}

// listen returns the events since a time, in nanoseconds, until stop is called.
func (e *Engine) listen(since int64) (news chan event, stop func()) {
	news = make(chan event, 1000)
	e.with(func() {
		for _, ev := range e.told {
			if ev.TimeNano >= since {
				news <- ev
			}
		}
		e.listeners[news] = true
	})
	return news, func() { e.with(func() { delete(e.listeners, news) }) }
}

// hangs waits for the end of a request if the engine is to give no answer.
func (e *Engine) hangs(ctx context.Context) bool {
	e.mu.Lock()
	silent := e.silent
	e.mu.Unlock()
	if silent {
		<-ctx.Done()
	}
	return silent
}

// filters checks the filters of a request.
func (e *Engine) filters(w http.ResponseWriter, r *http.Request, expected string) bool {
	got := r.URL.Query().Get("filters")
	if got != expected {
		http.Error(w, fmt.Sprintf("filters are %s, the fake knows %s", got, expected), http.StatusBadRequest)
	}
	return got == expected
}

func (e *Engine) events(w http.ResponseWriter, r *http.Request) {
	if e.hangs(r.Context()) || !e.filters(w, r, `{"type":["container"],"event":["start","die"]}`) {
		return
	}
	seconds, nanoseconds, _ := strings.Cut(r.URL.Query().Get("since"), ".")
	since, err := strconv.ParseInt(seconds+nanoseconds, 10, 64)
	if err != nil || len(nanoseconds) != 9 {
		http.Error(w, "since: expected seconds.nanoseconds", http.StatusBadRequest)
		return
	}
	if err := http.NewResponseController(w).Flush(); err != nil { // Docker answers before it listens
		return
	}
	news, stop := e.listen(since)
	defer stop()
	w.Header().Set("Content-Type", "application/json")
	flush := http.NewResponseController(w).Flush
	for err := flush(); err == nil; err = flush() {
		select {
		case <-r.Context().Done():
			return
		case ev := <-news:
			if err := json.NewEncoder(w).Encode(ev); err != nil {
				return
			}
		}
	}
}

func (e *Engine) list(w http.ResponseWriter, r *http.Request) {
	if e.hangs(r.Context()) || !e.filters(w, r, `{"status":["running"]}`) {
		return
	}
	all := []map[string]any{}
	for _, id := range e.ids() {
		all = append(all, map[string]any{"Id": id, "State": "running"})
	}
	e.answer(w, all)
}

func (e *Engine) inspect(w http.ResponseWriter, r *http.Request) {
	c := e.get(r.PathValue("id"))
	if c == nil {
		w.WriteHeader(http.StatusNotFound)
		e.answer(w, map[string]string{"message": "No such container: " + r.PathValue("id")})
		return
	}
	env, labels := c.labels()
	e.answer(w, map[string]any{
		"Id": r.PathValue("id"), "State": map[string]any{"Running": true, "Pid": c.cmd.Process.Pid},
		"Config": map[string]any{"Env": env, "Labels": labels},
	})
}

func (e *Engine) answer(w http.ResponseWriter, v any) {
	if err := json.NewEncoder(w).Encode(v); err != nil {
		e.t.Log(err) // the client is gone
	}
}

// StartWithEngine is Start with a container engine.
func StartWithEngine(t *testing.T, w *nltest.World, e *Engine) *Agent {
	return startWith(t, w, settings{engine: e.Socket})
}
