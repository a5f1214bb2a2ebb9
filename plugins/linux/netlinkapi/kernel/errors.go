package kernel

import (
	"context"
	"errors"
	"fmt"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi"
)

// Capabilities that the operations need; named in errors.
const (
	capNetAdmin = "needs CAP_NET_ADMIN"
	capSysAdmin = "needs CAP_SYS_ADMIN"
)

// maxDumps is how often a dump is repeated that the kernel changed meanwhile.
const maxDumps = 30

// classify wraps err with the operation and with the sentinel that it amounts
// to.
func classify(op string, err error) error {
	if err == nil {
		return nil
	}
	var notFound netlink.LinkNotFoundError
	kind := error(nil)
	switch {
	case errors.As(err, &notFound), is(err, unix.ENODEV, unix.ENXIO, unix.ESRCH, unix.ENOENT, unix.EADDRNOTAVAIL):
		kind = netlinkapi.ErrNotFound
	case is(err, unix.EEXIST):
		kind = netlinkapi.ErrExists
	case is(err, unix.EBUSY):
		kind = netlinkapi.ErrBusy
	case is(err, unix.EOPNOTSUPP):
		kind = netlinkapi.ErrUnsupported
	case is(err, unix.EPERM, unix.EACCES):
		return fmt.Errorf("%s: %w (%s)", op, netlinkapi.ErrPermission, capNetAdmin)
	case errors.Is(err, netlink.ErrDumpInterrupted):
		kind = netlinkapi.ErrIncomplete
	default:
		return fmt.Errorf("%s: %w", op, err)
	}
	return fmt.Errorf("%s: %w", op, kind)
}

// enterError turns an error of setns, unshare or mount into a sentinel.
func enterError(err error) error {
	switch {
	case is(err, unix.EPERM, unix.EACCES):
		return privilegeError{capSysAdmin}
	case is(err, unix.EINVAL, unix.ENOENT, unix.ESRCH):
		return netlinkapi.ErrNamespaceGone
	}
	return err
}

// privilegeError is ErrPermission with the capability that is missing.
type privilegeError struct{ needs string }

func (e privilegeError) Error() string {
	return netlinkapi.ErrPermission.Error() + " (" + e.needs + ")"
}
func (e privilegeError) Is(target error) bool { return target == netlinkapi.ErrPermission }

func is(err error, errnos ...unix.Errno) bool {
	for _, e := range errnos {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// dump is readAll as a method of a handle.
func dump[T any](ctx context.Context, l *lease, op string, read func() ([]T, error)) ([]T, error) {
	return ask(ctx, l, func() ([]T, error) { return readAll(op, read) })
}

// readAll repeats a dump until the kernel's state did not change during it.
func readAll[T any](op string, read func() ([]T, error)) ([]T, error) {
	for range maxDumps - 1 {
		all, err := read()
		if !errors.Is(err, netlink.ErrDumpInterrupted) {
			return all, classify(op, err)
		}
	}
	all, err := read()
	if err != nil {
		return nil, classify(op, err)
	}
	return all, nil
}
