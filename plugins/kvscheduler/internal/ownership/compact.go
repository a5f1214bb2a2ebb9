package ownership

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	bolt "go.etcd.io/bbolt"
)

// compactBatch is how much of a file one transaction copies, in bytes.
const compactBatch = 1 << 20

// leastFree is how many bytes must be free in a file, and more than half of it, for a copy
// without them to be worth its cost.
const leastFree = 4 << 20

func openBolt(path string) (*bolt.DB, error) {
	db, err := bolt.Open(path, 0o600, &bolt.Options{Timeout: lockPatience, FreelistType: bolt.FreelistMapType, InitialMmapSize: mapped})
	if err == nil {
		db.AllocSize = spare
	}
	return db, err
}

// checkFile refuses what is not a file, which could block forever, and takes permissions from
// others: the file has values with secrets. info is nil if there is nothing.
func (s *Store) checkFile(info os.FileInfo) error {
	if info == nil {
		return nil
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("state-dir: %s is %s: %w: remove it, or give the agent another state-dir", s.path(), kindOf(info.Mode()), ErrNotFile)
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		if err := os.Chmod(s.path(), mode&0o700); err != nil {
			return fmt.Errorf("state-dir: the mode of %s is %04o, expected 0600, as it has secrets: %w", s.path(), mode, err)
		}
		s.opts.Warn(fmt.Sprintf("other users could read %s, which has secrets; its mode was %04o and is %04o now", s.path(), mode, mode&0o700))
	}
	return nil
}

func kindOf(mode fs.FileMode) string {
	switch {
	case mode.IsDir():
		return "a directory"
	case mode&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	case mode&fs.ModeDevice != 0:
		return "a device"
	}
	return "a special file"
}

// compactIfEmpty replaces the file by a copy if most of it is free, since bolt never makes a file
// smaller. An error has no consequence but the size. The lock is held.
func (s *Store) compactIfEmpty() {
	if s.stats.Writes < s.compactAt {
		return
	}
	pages := s.db.Stats()
	free := int64(pages.FreePageN+pages.PendingPageN) * int64(s.db.Info().PageSize)
	info, err := os.Stat(s.path())
	if err != nil || free < leastFree || 2*free < info.Size() {
		return
	}
	if err := guarded(s.compact); err != nil {
		const later = 1000 // writes
		s.compactAt = s.stats.Writes + later
		s.opts.Warn(fmt.Sprintf("cannot make %s smaller: %v", s.path(), err))
	}
}

// compact replaces the file by a copy without free pages. The copy is locked before it gets the
// name of the file, so that no other process can use it in between.
func (s *Store) compact() error {
	path := s.path() + ".compact"
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	to, err := openBolt(path)
	if err != nil {
		return err
	}
	to.NoSync = true // until all is there
	if err = bolt.Compact(to, s.db, compactBatch); err == nil {
		err = to.Sync()
	}
	if err == nil {
		err = os.Rename(path, s.path())
	}
	if err != nil {
		return errors.Join(err, to.Close(), os.Remove(path))
	}
	to.NoSync = false
	from := s.db
	s.db = to
	return errors.Join(from.Close(), syncDir(s.opts.Dir))
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
