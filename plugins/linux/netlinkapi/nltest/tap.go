package nltest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi/kernel"
)

// MakeTap makes a link in the agent's namespace that is like the Linux side of
// a TAP of VPP: of no kind that the agent makes. Where the kernel has no TUN
// driver the test is skipped.
func (w *World) MakeTap(t testing.TB, name string) {
	t.Helper()
	if w.Sim != nil {
		w.Sim.AddDevice(name)
		return
	}
	err := w.inside("own", func() error {
		return netlink.LinkAdd(&netlink.Tuntap{LinkAttrs: netlink.LinkAttrs{Name: name}, Mode: netlink.TUNTAP_MODE_TAP})
	})
	if err != nil {
		t.Skipf("SKIPPED: TAPs are not tested on the kernel, because one cannot be made here: %v", err)
	}
}

// WriteSysctl writes a kernel parameter of a named namespace. Where /proc/sys
// cannot be written the test is skipped.
func (w *World) WriteSysctl(t testing.TB, name, value string, path ...string) {
	t.Helper()
	file := filepath.Join(append([]string{"/proc/sys"}, path...)...)
	err := w.inside(name, func() error { return os.WriteFile(file, []byte(value), 0o644) })
	if err != nil {
		t.Skipf("SKIPPED: kernel parameters cannot be written here: %v", err)
	}
}

// inside runs f in a namespace of the real kernel, on a thread of its own.
func (w *World) inside(name string, f func() error) error {
	return kernel.OnOwnThread(func() error {
		ns, err := os.Open(w.Path(name))
		if err != nil {
			return err
		}
		defer ns.Close()
		if err := unix.Setns(int(ns.Fd()), unix.CLONE_NEWNET); err != nil {
			return err
		}
		return f()
	})
}
