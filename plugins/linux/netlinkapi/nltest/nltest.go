// Package nltest has what the tests of the Linux plugins share: worlds to test
// in, the fake kernel and fresh namespaces of the real one, and the
// conformance suite that both must pass.
package nltest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi/kernel"
	"github.com/tenuto-dev/tenuto/plugins/linux/nlsim"
)

// World is a kernel to test with.
type World struct {
	netlinkapi.Namespaces
	// Dir is the directory of named namespaces.
	Dir string
	// Sim is the fake kernel, or nil if this is the real one.
	Sim *nlsim.Kernel

	others netlinkapi.Namespaces // see Foreign
	count  atomic.Uint32
	remove func(path string) error
}

// Run runs the test in every world that there is.
func Run(t *testing.T, f func(t *testing.T, w *World)) {
	t.Run("sim", func(t *testing.T) { t.Parallel(); f(t, Sim()) })
	t.Run("kernel", func(t *testing.T) { t.Parallel(); f(t, Kernel(t)) })
}

// Sim returns a world with a fake kernel.
func Sim() *World {
	k := nlsim.New()
	return &World{Namespaces: k, others: k.Others(), Dir: "/nonexistent/netns", Sim: k, remove: func(path string) error { k.RemoveNamespace(path); return nil }}
}

// Kernel returns a world in fresh namespaces of the running kernel, which are
// deleted at the end of the test. Without the privileges for that, the test is
// skipped.
func Kernel(t testing.TB) *World {
	t.Helper()
	dir, err := os.MkdirTemp("", "netns-")
	if err != nil {
		t.Fatal(err)
	}
	w := &World{Dir: dir, remove: removeNamespace}
	t.Cleanup(func() { w.cleanup(t) })
	own := filepath.Join(dir, "own")
	if err := kernel.New().Create(own); err != nil {
		t.Skipf("SKIPPED: the kernel is not tested, because a network namespace cannot be made here: %v", err)
	}
	w.Namespaces, w.others = running(t, own), running(t, own)
	return w
}

// running returns access to the kernel until the end of the test.
func running(t testing.TB, own string) netlinkapi.Namespaces {
	k := kernel.New(kernel.OwnNamespace(own))
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); k.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		<-done
		if err := k.Close(); err != nil {
			t.Error(err)
		}
	})
	return k
}

func removeNamespace(path string) error {
	if err := unix.Unmount(path, unix.MNT_DETACH); err != nil && err != unix.EINVAL {
		return fmt.Errorf("unmount %s: %w", path, err)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, unix.EBUSY) { // an agent has just made it again
		return err
	}
	return nil
}

func (w *World) cleanup(t testing.TB) {
	entries, err := os.ReadDir(w.Dir)
	if err != nil {
		t.Error(err)
	}
	for _, e := range entries {
		if err := w.remove(filepath.Join(w.Dir, e.Name())); err != nil {
			t.Error(err)
		}
	}
	if err := unix.Unmount(w.Dir, unix.MNT_DETACH); err != nil && err != unix.EINVAL && err != unix.EPERM {
		t.Error(err)
	}
	if err := os.Remove(w.Dir); err != nil {
		t.Error(err)
	}
}

// Path returns the path of a named namespace.
func (w *World) Path(name string) string { return filepath.Join(w.Dir, name) }

// Remove deletes a named namespace, as "ip netns delete" does.
func (w *World) Remove(t testing.TB, name string) {
	t.Helper()
	if err := w.remove(w.Path(name)); err != nil {
		t.Fatal(err)
	}
}

// NewName returns a name not used yet in this world.
func (w *World) NewName() string { return fmt.Sprintf("ns%d", w.count.Add(1)) }

// Open returns a handle on a named namespace, or on the agent's own if the
// name is empty; it is closed at the end of the test.
func (w *World) Open(t testing.TB, name string) netlinkapi.Handle {
	t.Helper()
	return w.open(t, w.Namespaces, name)
}

// Foreign is Open for another program: what is done with the handle is no change of the agent's.
func (w *World) Foreign(t testing.TB, name string) netlinkapi.Handle {
	t.Helper()
	return w.open(t, w.others, name)
}

func (w *World) open(t testing.TB, namespaces netlinkapi.Namespaces, name string) netlinkapi.Handle {
	t.Helper()
	path := ""
	if name != "" {
		path = w.Path(name)
	}
	h, err := namespaces.Open(path, netlinkapi.Gate{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	return h
}

// Make makes a named namespace and returns a handle on it.
func (w *World) Make(t testing.TB, name string) netlinkapi.Handle {
	t.Helper()
	if err := w.Create(w.Path(name)); err != nil {
		t.Fatal(err)
	}
	return w.Open(t, name)
}

// MustLink returns the link of that name.
func MustLink(t testing.TB, h netlinkapi.Links, name string) netlinkapi.Link {
	t.Helper()
	l, err := h.LinkByName(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return l
}
