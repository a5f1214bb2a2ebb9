// Package disktest gives tests disks that can be full.
package disktest

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// Small mounts a file system of so many bytes for the test, and returns where.
// The test is skipped where nothing can be mounted: that needs root.
func Small(tb testing.TB, size string) (dir string) {
	tb.Helper()
	dir = tb.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+size); err != nil {
		tb.Skipf("SKIPPED: a small file system cannot be mounted (as root it can): %v", err)
	}
	tb.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			tb.Errorf("unmount %s: %v", dir, err)
		}
	})
	return dir
}

// Fill takes the room in the file system of a directory, but for some pages of
// memory; free gives it back.
func Fill(tb testing.TB, dir string, pages int) (free func()) {
	tb.Helper()
	path := filepath.Join(dir, "ballast")
	f, err := os.Create(path)
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	page, written := make([]byte, os.Getpagesize()), int64(0)
	for err == nil {
		var n int
		n, err = f.Write(page)
		written += int64(n)
	}
	if !errors.Is(err, syscall.ENOSPC) {
		tb.Fatalf("fill %s: %v", dir, err)
	}
	if err := f.Truncate(written - int64(pages*len(page))); err != nil {
		tb.Fatal(err)
	}
	return func() {
		tb.Helper()
		if err := os.Remove(path); err != nil {
			tb.Fatal(err)
		}
	}
}
