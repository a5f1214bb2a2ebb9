package nltest

import (
	"os"
	"runtime"
	"testing"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// MakeTap makes a link in the agent's namespace that is like the Linux side of
// a TAP of VPP: of no kind that the agent makes. Where the kernel has no TUN
// driver the test is skipped.
func (w *World) MakeTap(t *testing.T, name string) {
	t.Helper()
	if w.Sim != nil {
		w.Sim.AddDevice(name)
		return
	}
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with this goroutine
		done <- w.tapHere(name)
	}()
	if err := <-done; err != nil {
		t.Skipf("SKIPPED: TAPs are not tested on the kernel, because one cannot be made here: %v", err)
	}
}

func (w *World) tapHere(name string) error {
	own, err := os.Open(w.Path("own"))
	if err != nil {
		return err
	}
	defer own.Close()
	if err := unix.Setns(int(own.Fd()), unix.CLONE_NEWNET); err != nil {
		return err
	}
	return netlink.LinkAdd(&netlink.Tuntap{LinkAttrs: netlink.LinkAttrs{Name: name}, Mode: netlink.TUNTAP_MODE_TAP})
}
