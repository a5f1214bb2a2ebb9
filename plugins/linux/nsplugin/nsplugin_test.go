package nsplugin_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/tenuto-dev/tenuto/infra/agent/agenttest"
	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi/nltest"
	"github.com/tenuto-dev/tenuto/plugins/linux/nsplugin"
	nsmodel "github.com/tenuto-dev/tenuto/plugins/linux/nsplugin/model"
	namespace "github.com/tenuto-dev/tenuto/proto/ligato/linux/namespace"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// sessions records what the scheduler receives.
type sessions chan string

func (s sessions) SouthboundUp(name string, epoch uint64) { s <- fmt.Sprintf("%s up %d", name, epoch) }
func (s sessions) SouthboundDown(name string, reason error) {
	s <- fmt.Sprintf("%s down: %v", name, reason)
}

func (sessions) RegisterKVDescriptor(...*kvs.KVDescriptor) error { return nil }
func (s sessions) PushSBNotification(news ...kvs.KVWithMetadata) error {
	for _, kv := range news {
		if kv.Value == nil {
			s <- kv.Key + " is gone"
		} else {
			s <- fmt.Sprintf("%s is %+v", kv.Key, kv.Metadata)
		}
	}
	return nil
}

func start(t *testing.T, w *nltest.World, opts ...nsplugin.Option) (*nsplugin.Plugin, sessions) {
	t.Helper()
	told := make(sessions, 10)
	p := nsplugin.NewPlugin(append([]nsplugin.Option{nsplugin.UseConf(nsplugin.Config{GoRoutinesCount: 1})}, append(opts, nsplugin.UseKernel(w.Namespaces, w.Dir),
		nsplugin.UseDeps(func(d *nsplugin.Deps) { d.Scheduler = told }))...)...)
	agenttest.Start(t, p)
	return p, told
}

func nsid(name string) *namespace.NetNamespace {
	return &namespace.NetNamespace{Type: namespace.NetNamespace_NSID, Reference: name}
}

func TestEnsureAndNamed(t *testing.T) {
	nltest.Run(t, func(t *testing.T, w *nltest.World) {
		p, told := start(t, w)
		if got := <-told; got != "linux up 1" {
			t.Errorf("the scheduler got %q", got)
		}
		if _, err := p.Open(t.Context(), nsid("a")); !errors.Is(err, netlinkapi.ErrNamespaceGone) {
			t.Errorf("open a missing namespace: %v", err)
		}
		h, err := p.Ensure(t.Context(), nsid("a"))
		if err != nil {
			t.Fatal(err)
		}
		defer h.Close()
		again, err := p.Open(t.Context(), nsid("a"))
		if err != nil {
			t.Fatal(err)
		}
		defer again.Close()
		if h.Namespace() != again.Namespace() {
			t.Error("the namespace that was made is not the one that is opened")
		}
		named, err := p.Named(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for _, ns := range named {
			found = found || nsmodel.Equal(ns, nsid("a"))
		}
		if !found {
			t.Errorf("the named namespaces are %v", named)
		}
	})
}

// The deletion of a namespace in use begins a new epoch of the southbound; the
// deletion of another one does not.
func TestDeletion(t *testing.T) {
	t.Parallel()
	w := nltest.Kernel(t)
	p, told := start(t, w)
	if got := <-told; got != "linux up 1" {
		t.Errorf("the scheduler got %q", got)
	}
	for _, name := range []string{"used", "other"} {
		if err := w.Create(w.Path(name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, open := range []func() (netlinkapi.Handle, error){
		func() (netlinkapi.Handle, error) { return p.Peek(t.Context(), nsid("other")) },
		func() (netlinkapi.Handle, error) { return p.Open(t.Context(), nsid("used")) },
	} {
		h, err := open()
		if err != nil {
			t.Fatal(err)
		}
		if err := h.Close(); err != nil {
			t.Fatal(err)
		}
	}
	w.Remove(t, "other")
	w.Remove(t, "used")
	if got := <-told; got != "linux up 2" {
		t.Errorf("the scheduler got %q", got)
	}
	if len(told) != 0 {
		t.Errorf("the scheduler was also told %q", <-told)
	}
}

func TestReferences(t *testing.T) {
	t.Parallel()
	w := nltest.Kernel(t)
	p, _ := start(t, w)
	h, err := p.Open(t.Context(), &namespace.NetNamespace{Type: namespace.NetNamespace_PID, Reference: fmt.Sprint(os.Getpid())})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	plain := filepath.Join(t.TempDir(), "plain")
	if err := os.WriteFile(plain, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		ns   *namespace.NetNamespace
		want string
	}{
		{&namespace.NetNamespace{Type: namespace.NetNamespace_FD, Reference: plain}, "does not stand for one"},
		{&namespace.NetNamespace{Type: namespace.NetNamespace_FD, Reference: plain + "x"}, "does not exist"},
		{&namespace.NetNamespace{Type: namespace.NetNamespace_MICROSERVICE, Reference: "web"}, `no container with the label "web" is known`},
		{&namespace.NetNamespace{Reference: "x"}, "has no type"},
	} {
		if _, err := p.Ensure(t.Context(), c.ns); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: error is %v, expected %q", c.ns, err, c.want)
		}
	}
}

func TestDisabled(t *testing.T) {
	t.Parallel()
	w := nltest.Sim()
	p, told := start(t, w, nsplugin.UseConf(nsplugin.Config{Disabled: true, GoRoutinesCount: 1}))
	if got := <-told; !strings.HasPrefix(got, "linux down: disabled") || p.Enabled() {
		t.Errorf("the scheduler got %q", got)
	}
}

// simulation replaces the kernel.
type simulation struct{ kernel netlinkapi.Namespaces }

func (s simulation) Kernel() netlinkapi.Namespaces { return s.kernel }

// A simulated kernel takes the place of the real one, which is left alone.
func TestSimulation(t *testing.T) {
	t.Parallel()
	real, simulated := nltest.Sim(), nltest.Sim()
	p, told := start(t, real, nsplugin.UseDeps(func(d *nsplugin.Deps) { d.Simulation = simulation{simulated.Sim} }))
	if got := <-told; got != "linux up 1" {
		t.Errorf("the scheduler got %q", got)
	}
	h, err := p.Ensure(t.Context(), nsid("a"))
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	if n := real.Sim.Calls("Open") + real.Sim.Calls("Create"); n > 0 || simulated.Sim.Calls("Create") != 1 {
		t.Errorf("%d calls of the real kernel, namespaces are\n%s", n, simulated.Sim)
	}
}

// The directory of named namespaces is watched only while one of them is used.
func TestNothingIsWatchedThatIsNotUsed(t *testing.T) {
	t.Parallel()
	w := nltest.Kernel(t)
	p, _ := start(t, w)
	if nsplugin.Watches(p, w.Dir) {
		t.Error("the directory is watched although no namespace in it is used")
	}
	h, err := p.Ensure(t.Context(), nsid("a"))
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	if !nsplugin.Watches(p, w.Dir) {
		t.Error("the directory is not watched although a namespace in it is used")
	}
}

// TestCanceledCallback: a callback that is given up asks the kernel nothing more. The end
// of the session alone does not end it.
func TestCanceledCallback(t *testing.T) {
	nltest.Run(t, func(t *testing.T, w *nltest.World) {
		p, _ := start(t, w)
		for _, cause := range []error{kvs.ErrSessionEnded, kvs.ErrCallbackTimeout, kvs.ErrClosedScheduler, nil} {
			ctx, cancel := context.WithCancelCause(t.Context())
			h, err := p.Open(ctx, nil)
			if err != nil {
				t.Fatal(err)
			}
			own, err := p.Open(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			cancel(cause)
			_, links := h.Links(ctx)
			_, number := own.Number(t.Context(), h)
			_, named := p.Named(ctx)
			again, open := p.Peek(ctx, nil)
			if open == nil {
				_ = again.Close()
			}
			for what, err := range map[string]error{"links": links, "names": named, "open": open} {
				if canceled := errors.Is(err, context.Canceled) && (cause == nil || errors.Is(err, cause)); canceled != (cause != kvs.ErrSessionEnded) {
					t.Errorf("canceled because of %v: %s: %v", cause, what, err)
				}
			}
			if number != nil {
				t.Errorf("number of a namespace: %v", number)
			}
			if _, err := h.Links(context.WithoutCancel(ctx)); err != nil {
				t.Errorf("undoing after %v: %v", cause, err)
			}
			_, _ = h.Close(), own.Close()
		}
	})
}
