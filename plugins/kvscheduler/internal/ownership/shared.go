package ownership

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	bolt "go.etcd.io/bbolt"
)

// update runs f in a transaction of the file, which is opened before if it is
// not; f returns how many bytes it wrote.
func (s *Store) update(f func(tx *bolt.Tx) (bytes int, err error)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.db == nil {
		if err := s.open(); err != nil {
			s.stats.Errors++
			s.note(err)
			return err
		}
		s.read = nil
	}
	bytes := 0
	err := guarded(func() error {
		return s.db.Update(func(tx *bolt.Tx) (err error) {
			bytes, err = f(tx)
			return err
		})
	})
	if err != nil {
		s.stats.Errors++
		err = s.failure("write", err)
		s.note(err)
		return err
	}
	s.stats.Writes++
	s.stats.Bytes += uint64(bytes)
	if bytes > manyBytes {
		s.releasePages()
	}
	s.note(nil)
	return nil
}

// note reports how the store is, if that changed. The lock is held.
func (s *Store) note(err error) {
	if err == nil {
		err = s.aside
	}
	if (err == nil) == (s.failed == nil) && (err == nil || err.Error() == s.failed.Error()) {
		return
	}
	s.failed = err
	if s.opts.Report != nil {
		s.opts.Report(err)
	}
}

// Problem returns why the store cannot write, or what it lost; nil if there is no
// problem.
func (s *Store) Problem() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failed
}

// Stats returns the counts of the operations so far.
func (s *Store) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.stats
	if info, err := os.Stat(s.path()); err == nil {
		st.Size = info.Size()
	}
	return st
}

// LoadState returns the state stored under a name, by key; the caller owns it.
func (s *Store) LoadState(name string) (map[string][]byte, error) {
	var state map[string][]byte
	err := s.EachState(name, func(key string, data []byte) {
		if state == nil {
			state = map[string][]byte{}
		}
		state[key] = slices.Clone(data)
	})
	return state, err
}

// EachState calls f with the state stored under a name, sorted by key. The data is valid
// until f returns. f must not call the store.
func (s *Store) EachState(name string, f func(key string, data []byte)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	size := 0
	each := func(key string, data []byte) {
		size += len(data)
		f(key, data)
	}
	err := s.view(
		func(tx *bolt.Tx) error { return eachState(tx, name, each) },
		func(all *contents) {
			state := all.state[name]
			for _, key := range slices.Sorted(maps.Keys(state)) {
				each(key, state[key])
			}
		},
	)
	if size > manyBytes {
		s.releasePages()
	}
	return err
}

// SaveState changes the state stored under a name atomically. A nil value deletes its
// key. With all, keys that are not in put are deleted.
func (s *Store) SaveState(name string, put map[string][]byte, all bool) error {
	return s.update(func(tx *bolt.Tx) (bytes int, err error) { return saveState(tx, name, put, all) })
}

func saveState(tx *bolt.Tx, name string, put map[string][]byte, all bool) (bytes int, err error) {
	state := tx.Bucket(stateBucket)
	if all && state.Bucket([]byte(name)) != nil {
		if err := state.DeleteBucket([]byte(name)); err != nil {
			return 0, err
		}
	}
	of, err := state.CreateBucketIfNotExists([]byte(name))
	if err != nil {
		return 0, err
	}
	// bolt keeps the keys of a new bucket in one sorted slice until the end: a
	// million in any order would be moved there for hours.
	of.FillPercent = 0.9
	for _, key := range slices.Sorted(maps.Keys(put)) {
		data := put[key]
		bytes += len(key) + len(data)
		if data == nil {
			err = of.Delete([]byte(key))
		} else {
			err = of.Put([]byte(key), data)
		}
		if err != nil {
			return 0, fmt.Errorf("key %q: %w", key, err)
		}
	}
	return bytes, nil
}

// Close lets go of the directory.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.db == nil {
		return nil
	}
	db := s.db
	s.db = nil
	_ = os.Remove(filepath.Join(s.opts.Dir, holderName)) // the lock counts
	if err := guarded(db.Close); err != nil {
		return fmt.Errorf("state-dir: close: %w", err)
	}
	return nil
}

// sign tells other processes who holds the directory.
func (s *Store) sign() error {
	text := fmt.Sprintf("%s, pid %d, since %s\n", s.opts.Holder, os.Getpid(), s.opts.Now().UTC().Format(time.RFC3339))
	path := filepath.Join(s.opts.Dir, holderName)
	if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// holder is who says to hold the directory.
func (s *Store) holder() string {
	text, err := os.ReadFile(filepath.Join(s.opts.Dir, holderName))
	switch {
	case errors.Is(err, os.ErrNotExist):
		return "by a process that did not leave its name"
	case err != nil:
		return fmt.Sprintf("by a process that cannot be named (%v)", err)
	}
	return "by " + strings.TrimSpace(string(text))
}
