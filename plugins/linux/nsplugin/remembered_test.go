package nsplugin_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/tenuto-dev/tenuto/infra/agent/agenttest"
	"github.com/tenuto-dev/tenuto/infra/health"
	"github.com/tenuto-dev/tenuto/plugins/linux/linuxtest"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi/nltest"
	"github.com/tenuto-dev/tenuto/plugins/linux/nsplugin"
)

// memory is a State that outlives agents.
type memory struct {
	mu   sync.Mutex
	kept map[string][]byte
}

func (m *memory) KeepsState() bool { return true }

func (m *memory) EachState(_ string, f func(key string, data []byte)) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for key, data := range m.kept {
		f(key, data)
	}
	return nil
}

func (m *memory) SaveState(_ string, put map[string][]byte, _ bool) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.kept = put
	return nil
}

// again starts an agent with a memory. stop stops it.
func again(t *testing.T, m *memory, opts ...nsplugin.Option) (p *nsplugin.Plugin, told sessions, tree *health.Tree, stop func()) {
	t.Helper()
	told, tree = make(sessions, 20), health.NewTree(nil)
	w := nltest.Kernel(t)
	p = nsplugin.NewPlugin(append(opts, nsplugin.UseKernel(w.Namespaces, w.Dir), nsplugin.UseDeps(func(d *nsplugin.Deps) {
		d.Scheduler, d.State, d.Health = told, m, tree.Plugin("ns")
	}))...)
	a := agenttest.Start(t, p)
	return p, told, tree, func() {
		if err := a.Stop(); err != nil {
			t.Error(err)
		}
	}
}

// part waits for the state of a part of the plugin's health; empty: there is no such part.
func part(t *testing.T, tree *health.Tree, name, text string) {
	t.Helper()
	nltest.Poll(t, fmt.Sprintf("%s is %q", name, text), func() bool {
		for _, p := range tree.Snapshot().Plugins[0].Parts {
			if p.Name == name {
				return text != "" && p.State == health.Degraded && strings.Contains(p.Reason, text)
			}
		}
		return text == ""
	})
}

func gone(t *testing.T, p *nsplugin.Plugin, label string) {
	t.Helper()
	nltest.Poll(t, label+" is gone", func() bool {
		h, err := p.Open(t.Context(), microservice(label))
		if err == nil {
			_ = h.Close()
		}
		return errors.Is(err, netlinkapi.ErrNamespaceGone)
	})
}

// An agent that starts while the engine is down has the containers that it knew, if their
// processes run, and says that it does not know more.
func TestRestartWithoutEngine(t *testing.T) {
	t.Parallel()
	e, m := linuxtest.NewEngine(t), &memory{}
	e.Listen()
	web, pid := e.Run("web")
	db, dbPID := e.Run("db")
	_, told, _, stop := again(t, m, withEngine(e))
	told.expectAll(t, "linux up 1", runs("web", web, pid), runs("db", db, dbPID))
	stop()
	e.Close()
	e.Stop(db)
	p, told, tree, stop := again(t, m, withEngine(e))
	told.expect(t, "linux up 1")
	expectNamespace(t, p, microservice("web"), pid)
	gone(t, p, "db")
	part(t, tree, nsplugin.HealthContainers, "has not listed its containers since the start; 1 from before are kept")
	other, otherPID := e.Run("other")
	e.Listen()
	told.expect(t, runs("other", other, otherPID)) // and nothing about web
	part(t, tree, nsplugin.HealthContainers, "")
	expectNamespace(t, p, microservice("web"), pid)
	e.Close()
	part(t, tree, nsplugin.HealthEngine, "its 2 containers are kept")
	e.Stop(web) // without the engine, its process proves that it runs
	told.expect(t, "linux/microservice/web is gone")
	stop()
}

// A file that lists no containers does not remove those whose processes run.
func TestFileWithoutContainers(t *testing.T) {
	t.Parallel()
	e := linuxtest.NewEngine(t)
	_, pid := e.Run("web")
	id, dbPID := e.Run("db")
	path := filepath.Join(t.TempDir(), "containers.yaml")
	full := fmt.Sprintf("web: %d\ndb: %d\n", pid, dbPID)
	put := func(text string) {
		t.Helper()
		if err := errors.Join(os.WriteFile(path+".new", []byte(text), 0o600), os.Rename(path+".new", path)); err != nil {
			t.Fatal(err)
		}
	}
	conf := nsplugin.DefaultConfig()
	conf.DockerSocket, conf.MicroservicesFile = "", path
	m := &memory{}
	put(full)
	p, told, tree, stop := again(t, m, nsplugin.UseConf(conf))
	told.expectAll(t, "linux up 1", runs("web", path+":web", pid), runs("db", path+":db", dbPID))
	for _, text := range []string{"", "{}\n", "# none\n", "null\n"} {
		put(text)
		part(t, tree, nsplugin.HealthEngine, "lists no containers, but the processes of db, web run")
		expectNamespace(t, p, microservice("web"), pid)
		put(full)
		part(t, tree, nsplugin.HealthEngine, "")
		stop()
		put(text)
		p, told, tree, stop = again(t, m, nsplugin.UseConf(conf))
		told.expect(t, "linux up 1")
		part(t, tree, nsplugin.HealthEngine, "lists no containers, but the processes of db, web run")
		expectNamespace(t, p, microservice("web"), pid)
		put(full)
		part(t, tree, nsplugin.HealthEngine, "")
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	part(t, tree, nsplugin.HealthEngine, "lists no containers")
	e.Stop(id)
	told.expect(t, "linux/microservice/db is gone")
	part(t, tree, nsplugin.HealthEngine, "the processes of web run")
	put(fmt.Sprintf("other: %d\n", pid)) // a list is followed
	told.expectAll(t, "linux/microservice/web is gone", runs("other", path+":other", pid))
	stop()
}
