package infratest

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// SmallDisk mounts a file system of the given size for the test and returns its
// path. It skips the test if it cannot mount one, which requires root.
func SmallDisk(tb testing.TB, size string) (dir string) {
	tb.Helper()
	dir = tb.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+size); err != nil {
		tb.Skipf("SKIPPED: cannot mount a small file system (requires root): %v", err)
	}
	tb.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			tb.Errorf("unmount %s: %v", dir, err)
		}
	})
	return dir
}

// FillDisk fills the file system of a directory, except for some memory pages;
// free deletes the data.
func FillDisk(tb testing.TB, dir string, pages int) (free func()) {
	tb.Helper()
	path := filepath.Join(dir, "ballast")
	f, err := os.Create(path)
	Fatal(tb, err)
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
	Fatal(tb, f.Truncate(written-int64(pages*len(page))))
	return func() {
		tb.Helper()
		Fatal(tb, os.Remove(path))
	}
}
