package kernel

import (
	"errors"
	"strings"
	"testing"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
)

func TestClassify(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ err, want error }{
		{netlink.LinkNotFoundError{}, netlinkapi.ErrNotFound},
		{unix.ENODEV, netlinkapi.ErrNotFound},
		{unix.ESRCH, netlinkapi.ErrNotFound},
		{unix.EADDRNOTAVAIL, netlinkapi.ErrNotFound},
		{unix.EEXIST, netlinkapi.ErrExists},
		{unix.EBUSY, netlinkapi.ErrBusy},
		{unix.EOPNOTSUPP, netlinkapi.ErrUnsupported},
		{unix.EPERM, netlinkapi.ErrPermission},
		{unix.ENETUNREACH, unix.ENETUNREACH},
	} {
		if err := classify("op", c.err); !errors.Is(err, c.want) {
			t.Errorf("%v became %v, expected %v", c.err, err, c.want)
		}
	}
	if err := classify("add link", unix.EPERM); !strings.Contains(err.Error(), "needs CAP_NET_ADMIN") {
		t.Errorf("%q does not name the capability", err)
	}
	if classify("op", nil) != nil {
		t.Error("success became an error")
	}
}

// A dump that was interrupted is repeated; if that does not help it is an
// error, and what was read is never returned as if it were everything.
func TestInterruptedDump(t *testing.T) {
	t.Parallel()
	interrupted := func(times int) func() ([]int, error) {
		return func() ([]int, error) {
			if times--; times >= 0 {
				return []int{1}, netlink.ErrDumpInterrupted
			}
			return []int{1, 2}, nil
		}
	}
	if all, err := readAll("list", interrupted(maxDumps-1)); err != nil || len(all) != 2 {
		t.Errorf("got %v, %v; expected everything", all, err)
	}
	if all, err := readAll("list", interrupted(maxDumps)); !errors.Is(err, netlinkapi.ErrIncomplete) || all != nil {
		t.Errorf("got %v, %v; expected ErrIncomplete and nothing else", all, err)
	}
}

// What a thread does to itself does not reach other goroutines, even if it
// starts on the main thread.
func TestOwnThread(t *testing.T) {
	t.Parallel()
	here := func() (st unix.Stat_t) {
		if err := unix.Stat("/proc/thread-self/ns/net", &st); err != nil {
			t.Fatal(err)
		}
		return st
	}
	before := here().Ino
	for range 20 {
		err := OnOwnThread(func() error {
			if unix.Gettid() == unix.Getpid() {
				t.Error("ran on the main thread")
			}
			return unix.Unshare(unix.CLONE_NEWNET)
		})
		if errors.Is(err, unix.EPERM) {
			t.Skip("SKIPPED: a network namespace cannot be made without privileges")
		}
		if err != nil {
			t.Fatal(err)
		}
		if here().Ino != before {
			t.Fatal("another goroutine came into the namespace")
		}
	}
}
