package kernel

import (
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// OnOwnThread runs f on an operating-system thread that ends afterwards, so
// that what f does to its thread (the network namespace, most of all) never
// reaches other goroutines. f must not start goroutines that need the state of
// its thread.
func OnOwnThread(f func() error) error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		if unix.Gettid() == unix.Getpid() {
			// The main thread cannot end, and stands for the whole process in
			// /proc. While it is locked here, f gets another one.
			done <- OnOwnThread(f)
			runtime.UnlockOSThread()
			return
		}
		done <- f() // never unlocked: the thread ends with this goroutine
	}()
	return <-done
}

// inNamespace runs f on a thread of its own in the namespace.
func inNamespace(ns *os.File, f func() error) error {
	return OnOwnThread(func() error {
		if err := unix.Setns(int(ns.Fd()), unix.CLONE_NEWNET); err != nil {
			return classify(fmt.Sprintf("enter network namespace %s", ns.Name()), enterError(err))
		}
		return f()
	})
}
