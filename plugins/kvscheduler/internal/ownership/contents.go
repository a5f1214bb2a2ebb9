package ownership

import (
	"errors"
	"fmt"
	"slices"

	bolt "go.etcd.io/bbolt"
)

// contents is all that is in a file.
type contents struct {
	label       []byte
	records     []*Record
	interrupted *Interrupted
	state       map[string]map[string][]byte
}

// readOnly reads a file that cannot be written; nil if that is impossible, too.
func readOnly(path string) (all *contents) {
	err := guarded(func() error {
		db, err := bolt.Open(path, 0o600, &bolt.Options{Timeout: lockPatience, ReadOnly: true})
		if err != nil {
			return err
		}
		return errors.Join(db.View(func(tx *bolt.Tx) (err error) { all, err = readAll(tx); return err }), db.Close())
	})
	if err != nil {
		return nil // that it cannot be written is known already
	}
	return all
}

func readAll(tx *bolt.Tx) (all *contents, err error) {
	all = &contents{state: map[string]map[string][]byte{}}
	if all.records, all.interrupted, err = readRecords(tx); err != nil {
		return nil, err
	}
	all.label = slices.Clone(tx.Bucket(metaBucket).Get(labelKey))
	return all, tx.Bucket(stateBucket).ForEachBucket(func(name []byte) (err error) {
		of := map[string][]byte{}
		all.state[string(name)] = of
		return eachState(tx, string(name), func(key string, data []byte) { of[key] = slices.Clone(data) })
	})
}

// recordsAtOnce is how many records have memory in common.
const recordsAtOnce = 1 << 8

func readRecords(tx *bolt.Tx) (records []*Record, interrupted *Interrupted, err error) {
	var block []Record // a pointer to each of its records takes less than as many allocations
	err = eachRecord(tx, func(rec Record) {
		if len(block) == cap(block) {
			block = make([]Record, 0, recordsAtOnce)
		}
		block = append(block, rec)
		records = append(records, &block[len(block)-1])
	})
	if err != nil {
		return nil, nil, err
	}
	return records, decodeRunning(tx.Bucket(metaBucket).Get(runningKey)), nil
}

// eachState calls f with what is kept under a name, sorted by key.
func eachState(tx *bolt.Tx, name string, f func(key string, data []byte)) error {
	bucket := tx.Bucket(stateBucket).Bucket([]byte(name))
	if bucket == nil {
		return nil
	}
	return bucket.ForEach(func(key, data []byte) error {
		f(string(key), data)
		return nil
	})
}

// check reads everything, which may be a lot, and keeps nothing.
func check(tx *bolt.Tx) error {
	if err := eachRecord(tx, func(Record) {}); err != nil {
		return err
	}
	var buf []byte
	return tx.Bucket(stateBucket).ForEachBucket(func(name []byte) error {
		return tx.Bucket(stateBucket).Bucket(name).ForEach(func(_, data []byte) error {
			buf = append(buf[:0], data...) // to its end, where a file that was cut off ends before
			return nil
		})
	})
}

func eachRecord(tx *bolt.Tx, f func(Record)) error {
	meta, owned := tx.Bucket(metaBucket), tx.Bucket(ownedBucket)
	if meta == nil || owned == nil || tx.Bucket(stateBucket) == nil {
		return fmt.Errorf("%w: it is incomplete", errRecord)
	}
	if err := checkFormat(meta.Get(formatKey)); err != nil {
		return err
	}
	known := kinds{}
	return owned.ForEach(func(key, data []byte) error {
		rec, err := decode(string(key), data, known)
		if err == nil {
			f(rec)
		}
		return err
	})
}

// view reads the file with f; or, where it cannot be written, gives what was read of
// it at the start to instead. The lock is held.
func (s *Store) view(f func(tx *bolt.Tx) error, instead func(*contents)) error {
	if s.db == nil {
		if s.read != nil {
			instead(s.read)
		}
		return nil
	}
	if err := guarded(func() error { return s.db.View(f) }); err != nil {
		return fmt.Errorf("state-dir: read %s: %w", s.path(), err)
	}
	return nil
}
