package filedb

import (
	"crypto/sha256"
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// quietShorter is how long a file that lacks previous entries, and that was not replaced
	// by another file, must stay unchanged: its writer may have paused.
	quietShorter = 2 * time.Second
	// maxWritten is the same for a file that another process has open for writing.
	maxWritten = time.Minute
	// tellWritten is how long that goes unreported.
	tellWritten = 5 * time.Second
)

// waiting is the state of a file whose new content is probably incomplete.
type waiting struct {
	since   time.Time // of the content; zero if the file is not waiting
	sum     [sha256.Size]byte
	inPlace bool
	written bool // another process has it open for writing
}

func (w *waiting) active() bool { return !w.since.IsZero() }

// begins records the content, and reports whether the file has to wait with it.
func (w *waiting) begins(now time.Time, sum [sha256.Size]byte, inPlace, written bool) bool {
	quiet := quietShorter
	if written {
		quiet = maxWritten
	}
	switch {
	case !w.active() || w.sum != sum:
		w.since, w.sum = now, sum
	case now.Sub(w.since) >= quiet:
		return false
	}
	w.inPlace, w.written = inPlace, written
	return true
}

// continues reports whether an unchanged file has to wait longer.
func (w *waiting) continues(path string, now time.Time) bool {
	if !w.active() || !w.written {
		return w.active() && now.Sub(w.since) < quietShorter
	}
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }() // it was only looked at
	return now.Sub(w.since) < maxWritten && isWritten(f)
}

// isWritten reports whether any process has the file, which is open for reading, open for
// writing: then the kernel grants no read lease. It is false where leases are not supported
// or not permitted.
func isWritten(f *os.File) bool {
	_, err := unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_RDLCK)
	if err == nil {
		_, _ = unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_UNLCK) // closing the file ends it, too
	}
	return errors.Is(err, unix.EAGAIN)
}
