package nsplugin_test

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/tenuto-dev/tenuto/plugins/linux/linuxtest"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi/nltest"
	"github.com/tenuto-dev/tenuto/plugins/linux/nsplugin"
	namespace "github.com/tenuto-dev/tenuto/proto/ligato/linux/namespace"
)

func microservice(label string) *namespace.NetNamespace {
	return &namespace.NetNamespace{Type: namespace.NetNamespace_MICROSERVICE, Reference: label}
}

func withEngine(e *linuxtest.Engine) nsplugin.Option {
	conf := nsplugin.DefaultConfig()
	conf.DockerSocket = e.Socket
	return nsplugin.UseConf(conf)
}

func (s sessions) expect(t *testing.T, want ...string) {
	t.Helper()
	for _, w := range want {
		if got := <-s; got != w {
			t.Errorf("the scheduler got %q, expected %q", got, w)
		}
	}
}

func runs(label, id string, pid int) string {
	return fmt.Sprintf("linux/microservice/%s is &{Label:%[1]s ID:%s PID:%d}", label, id, pid)
}

// Of two containers with one label the first one counts, until it stops.
func TestTwoContainersOfOneLabel(t *testing.T) {
	t.Parallel()
	e := linuxtest.NewEngine(t)
	e.Listen()
	first, pid := e.Run("web")
	p, told := start(t, nltest.Kernel(t), withEngine(e))
	told.expectAll(t, "linux up 1", runs("web", first, pid))
	second, other := e.Run("web")
	expectNamespace(t, p, microservice("web"), pid)
	e.Stop(first)
	told.expect(t, "linux/microservice/web is gone", runs("web", second, other))
	expectNamespace(t, p, microservice("web"), other)
}

// expectAll expects what comes in any order.
func (s sessions) expectAll(t *testing.T, want ...string) {
	t.Helper()
	left := map[string]bool{}
	for _, w := range want {
		left[w] = true
	}
	for range want {
		got := <-s
		if !left[got] {
			t.Errorf("the scheduler got %q", got)
		}
		delete(left, got)
	}
}

// expectNamespace checks that a reference leads to the namespace of a process.
func expectNamespace(t *testing.T, p *nsplugin.Plugin, ns *namespace.NetNamespace, pid int) {
	t.Helper()
	var ids []netlinkapi.NamespaceID
	for _, ns := range []*namespace.NetNamespace{ns, {Type: namespace.NetNamespace_PID, Reference: strconv.Itoa(pid)}} {
		h, err := p.Open(t.Context(), ns)
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, h.Namespace())
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	}
	if ids[0] != ids[1] {
		t.Errorf("%v leads to %v, expected %v", ns, ids[0], ids[1])
	}
}

// While the engine is away the containers stay what they were; what happened meanwhile is
// told when it is back. A reference to a container that is not known says why.
func TestEngineIsAway(t *testing.T) {
	t.Parallel()
	e := linuxtest.NewEngine(t)
	p, told := start(t, nltest.Kernel(t), withEngine(e))
	told.expect(t, "linux up 1")
	nltest.Poll(t, "the engine is found to be away", func() bool {
		_, err := p.Open(t.Context(), microservice("web"))
		return errors.Is(err, netlinkapi.ErrNamespaceGone) && strings.Contains(err.Error(), "is not available since") &&
			strings.Contains(err.Error(), e.Socket)
	})
	e.Listen()
	web, pid := e.Run("web")
	told.expect(t, runs("web", web, pid))
	e.Close()
	db, dbPID := e.Run("db") // not heard
	e.Listen()
	told.expect(t, runs("db", db, dbPID))
	expectNamespace(t, p, microservice("web"), pid)
	e.Close()
	e.Stop(web)
	again, pid := e.Run("web")
	e.Listen()
	told.expect(t, "linux/microservice/web is gone", runs("web", again, pid))
}
