package ownership

import (
	"os"

	"golang.org/x/sys/unix"
)

// manyRecords and manyBytes are how much must be read or written for releasePages to be
// worth its cost.
const (
	manyRecords = 10_000
	manyBytes   = 1 << 20
)

// releasePages removes the pages of the mapped file from the memory of the process. They
// count as its memory, although they are only needed again when they are read again. The
// caller holds the lock, and no transaction of the file is open.
func (s *Store) releasePages() {
	if s.db == nil {
		return
	}
	file, err := os.Stat(s.path())
	if err != nil {
		return
	}
	// An error has no consequence but the memory. The argument is an address of the
	// mapping, which is not memory of Go.
	_, _, _ = unix.Syscall(unix.SYS_MADVISE, s.db.Info().Data, uintptr(file.Size()), unix.MADV_DONTNEED)
}
