package app

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

const (
	tempPattern = "vpp-agent-*"
	lockName    = "lock"
)

// tempDir is a temporary directory with a lock that shows that it is in use.
// The kernel releases the lock when the process ends.
type tempDir struct {
	path string
	lock *os.File
}

// newTempDir creates a directory, and removes the directories of killed agents.
func newTempDir() (d tempDir, err error) {
	removeAbandoned()
	if d.path, err = os.MkdirTemp("", tempPattern); err != nil {
		return d, err
	}
	// The lock is taken before the file has its name, so no other process can
	// take it.
	unnamed := filepath.Join(d.path, "unlocked")
	if d.lock, err = os.OpenFile(unnamed, os.O_CREATE|os.O_RDWR, 0o600); err == nil {
		if err = lock(d.lock); err == nil {
			err = os.Rename(unnamed, filepath.Join(d.path, lockName))
		}
	}
	if err != nil {
		return tempDir{}, errors.Join(fmt.Errorf("lock %s: %w", d.path, err), d.remove())
	}
	return d, nil
}

func (d tempDir) remove() error {
	err := os.RemoveAll(d.path)
	if d.lock != nil {
		err = errors.Join(err, d.lock.Close())
	}
	return err
}

// removeAbandoned removes directories of agents that have ended. Directories of
// other users cannot be opened, and stay.
func removeAbandoned() {
	locks, err := filepath.Glob(filepath.Join(os.TempDir(), tempPattern, lockName))
	if err != nil {
		return // the pattern is well-formed
	}
	for _, path := range locks {
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			continue
		}
		if lock(f) == nil {
			_ = os.RemoveAll(filepath.Dir(path)) // the next start retries
		}
		f.Close()
	}
}

func lock(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) }
