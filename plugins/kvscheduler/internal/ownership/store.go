package ownership

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	bolt "go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
	"golang.org/x/sys/unix"
)

// Format is the version of the format of the file. It is raised when a program
// that knows the former one only would misunderstand the file.
const Format = 1

// The file and its buckets.
const (
	fileName   = "state.db"
	holderName = "holder"
)

var (
	metaBucket  = []byte("meta")  // formatKey, runningKey, labelKey
	ownedBucket = []byte("owned") // key -> Record
	stateBucket = []byte("state") // name -> bucket of what others keep
	formatKey   = []byte("format")
	runningKey  = []byte("running")
)

var (
	// ErrHeld: another process uses the directory.
	ErrHeld = errors.New("the state directory is in use")
	// ErrSetAside is the problem of a store whose file was damaged: its content is lost,
	// and later writes go to a new file.
	ErrSetAside = errors.New("the file was damaged")
	// ErrNotFile: there is something else than a file in its place, such as a named pipe.
	ErrNotFile = errors.New("not a regular file")
	// ErrNewer: the file was written by a newer program.
	ErrNewer = errors.New("the state file is of a newer program")
)

// MaxKey is the maximum length of a key, in bytes.
const MaxKey = bolt.MaxKeySize

// Options of a Store.
type Options struct {
	// Dir is the directory; it is created if it does not exist. What is in it is
	// for its owner only, because values may have secrets.
	Dir string
	// Holder shows other processes who uses the directory.
	Holder string
	// Label is the label of the agent, the only one that may use the file; empty: any
	// agent may.
	Label string
	// From is another label whose file is taken over; empty: none is.
	From string
	// Report is called with the state of the store whenever that changes: nil, or why it
	// cannot keep anything. It may be nil and must not call the store.
	Report func(problem error)
	// Warn is called with what an operator should know; it may be nil and must not call the store.
	Warn func(text string)
	// Now is the clock; time.Now if nil.
	Now func() time.Time
}

// Store is a journal in a file, which also stores the state of other components. All
// methods may be called concurrently. While the file cannot be opened or written, writes
// fail, and each write retries.
type Store struct {
	opts   Options
	mu     sync.Mutex
	db     *bolt.DB // nil: not open for writing
	failed error
	stats  Stats
	// compactAt is the number of writes before which the file is not compacted again.
	compactAt uint64
	// aside reports whether a damaged file was set aside at the start.
	aside error
	// read is what was in a file that can be read and not written.
	read *contents
}

// Stats counts the operations of a store.
type Stats struct {
	Writes, Errors uint64
	Bytes          uint64 // written, of keys and values
	Size           int64  // of the file, in bytes
}

// Open opens the store in a directory. The errors are ErrHeld, with the holder,
// ErrNotFile, ErrNewer, and ErrOtherAgent. A damaged file is set aside. Neither that nor a directory
// that cannot be written is an error; Problem reports both.
func Open(o Options) (*Store, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Warn == nil {
		o.Warn = func(string) {}
	}
	s := &Store{opts: o}
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.open()
	if errors.Is(err, ErrHeld) || errors.Is(err, ErrNotFile) || errors.Is(err, ErrNewer) || errors.Is(err, ErrOtherAgent) {
		return nil, err
	}
	if err != nil {
		s.read = readOnly(s.path())
		if s.read != nil {
			if err := s.checkLabel(s.read.label); err != nil {
				return nil, err
			}
		}
	}
	s.note(err)
	return s, nil
}

func (s *Store) path() string { return filepath.Join(s.opts.Dir, fileName) }

// lockPatience is how long another process may take to let go of the file.
const lockPatience = time.Second

// mapped is how much of the address space the file gets from the start. A file that
// outgrows its mapping is mapped again, and all that its transaction is writing is
// copied for that. The file itself grows by the needed size and spare.
const (
	mapped = 1 << 30
	spare  = 64 << 10
)

// open opens the file for writing; if it is damaged, it is set aside first. The
// lock is held.
func (s *Store) open() error {
	if err := os.MkdirAll(s.opts.Dir, 0o700); err != nil {
		return fmt.Errorf("state-dir: %w", err)
	}
	db, err := s.openFile()
	if damaged(err) {
		aside := s.path() + ".corrupt-" + s.opts.Now().UTC().Format("20060102T150405Z")
		if rerr := os.Rename(s.path(), aside); rerr != nil {
			return fmt.Errorf("state-dir: set the damaged file aside: %w", errors.Join(rerr, err))
		}
		s.aside = fmt.Errorf("state-dir: %w (%w) and is kept as %s: objects of earlier runs that are not configured are left alone (agentctl orphans lists them), "+
			"what clients asked for before is lost; restart the agent to clear this", ErrSetAside, err, aside)
		db, err = s.openFile()
	}
	if err != nil {
		return err
	}
	if err := s.sign(); err != nil {
		return errors.Join(fmt.Errorf("state-dir: %w", err), db.Close())
	}
	s.db = db
	return nil
}

func (s *Store) openFile() (db *bolt.DB, err error) {
	info, _ := os.Stat(s.path()) // nil: there is no file yet
	if err := s.checkFile(info); err != nil {
		return nil, err
	}
	err = guarded(func() (err error) {
		db, err = openBolt(s.path())
		return err
	})
	if err != nil {
		return nil, s.openError(err, info)
	}
	if now, err := os.Stat(s.path()); info != nil && (err != nil || !os.SameFile(info, now)) { // it was compacted meanwhile
		_ = db.Close() // it is not the file of the directory
		return nil, fmt.Errorf("state-dir: %w: %s: %s; stop it, or give this agent a state-dir of its own", ErrHeld, s.opts.Dir, s.holder())
	}
	err = guarded(func() error {
		return db.Update(func(tx *bolt.Tx) error {
			if err := prepare(tx); err != nil {
				return err
			}
			return s.adopt(tx)
		})
	})
	if err == nil {
		err = guarded(func() error { return db.View(check) })
	}
	if err != nil {
		_ = db.Close()                     // the first error says more
		if errors.Is(err, ErrOtherAgent) { // it says all
			return nil, err
		}
		return nil, fmt.Errorf("state-dir: %s: %w", s.path(), err)
	}
	return db, nil
}

// openError explains why a file, nil if there was none, could not be opened.
func (s *Store) openError(err error, file os.FileInfo) error {
	switch {
	case errors.Is(err, bolterrors.ErrTimeout):
		return fmt.Errorf("state-dir: %w: %s: %s; stop it, or give this agent a state-dir of its own", ErrHeld, s.opts.Dir, s.holder())
	case file == nil:
		_ = os.Remove(s.path()) // nothing but the beginning of a file
	case file.Size() < 2*int64(os.Getpagesize()) && !errors.As(err, new(syscall.Errno)):
		err = errors.Join(err, errRecord) // the library has no sentinel for a file that was cut off
	}
	return s.failure("open", err)
}

// failure wraps the error of an operation on the file, which is named once.
func (s *Store) failure(operation string, err error) error {
	if path := (*fs.PathError)(nil); errors.As(err, &path) && path.Path == s.path() {
		return fmt.Errorf("state-dir: %w", err)
	}
	return fmt.Errorf("state-dir: %s %s: %w", operation, s.path(), err)
}

// prepare makes the buckets and checks the format.
func prepare(tx *bolt.Tx) error {
	if meta := tx.Bucket(metaBucket); meta != nil {
		if err := checkFormat(meta.Get(formatKey)); err != nil {
			return err
		}
	}
	for _, name := range [][]byte{metaBucket, ownedBucket, stateBucket} {
		if _, err := tx.CreateBucketIfNotExists(name); err != nil {
			return err
		}
	}
	return tx.Bucket(metaBucket).Put(formatKey, []byte{Format})
}

func checkFormat(format []byte) error {
	switch {
	case len(format) != 1:
		return fmt.Errorf("%w: it has no format", errRecord)
	case format[0] > Format:
		return fmt.Errorf("%w: it has format %d, this program knows %d and older: run the newer program, or give this one another state-dir",
			ErrNewer, format[0], Format)
	}
	return nil
}

// panicError is a panic of the library, which is how it finds damage.
type panicError struct{ value any }

func (e panicError) Error() string {
	if _, fault := e.value.(runtime.Error); fault { // it followed a reference to nowhere
		return "it is cut off, or refers to what is not in it"
	}
	return fmt.Sprint(e.value)
}

// guarded turns panics, and faults in the mapped file, into errors.
func guarded(f func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			err = panicError{r}
		}
	}()
	return f()
}

// damaged reports whether an error is about the content of the file.
func damaged(err error) bool {
	var p panicError
	return errors.As(err, &p) || errors.Is(err, errRecord) || errors.Is(err, bolterrors.ErrInvalid) ||
		errors.Is(err, bolterrors.ErrVersionMismatch) || errors.Is(err, bolterrors.ErrChecksum)
}

func encodeRunning(i Interrupted) []byte {
	return binary.AppendVarint(binary.AppendUvarint(nil, i.Txn), i.Time.UnixNano())
}

func decodeRunning(data []byte) *Interrupted {
	txn, n := binary.Uvarint(data)
	if n <= 0 {
		return nil
	}
	nanos, m := binary.Varint(data[n:])
	if m <= 0 {
		return nil
	}
	return &Interrupted{Txn: txn, Time: time.Unix(0, nanos)}
}

// Load returns all records, sorted by key, and the interrupted transaction, or
// nil.
func (s *Store) Load() (records []*Record, interrupted *Interrupted, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	err = s.view(
		func(tx *bolt.Tx) (err error) { records, interrupted, err = readRecords(tx); return err },
		func(all *contents) { records, interrupted = all.records, all.interrupted },
	)
	if len(records) > manyRecords {
		s.releasePages()
	}
	return records, interrupted, err
}

// Lookup returns one record.
func (s *Store) Lookup(key string) (rec Record, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.db == nil {
		return rec, false
	}
	err := guarded(func() error {
		return s.db.View(func(tx *bolt.Tx) (err error) {
			if data := tx.Bucket(ownedBucket).Get([]byte(key)); data != nil {
				ok = true
				rec, err = decode(key, data, kinds{})
			}
			return err
		})
	})
	return rec, ok && err == nil
}

// Write executes a batch. Keys that are longer than MaxKey are left out.
func (s *Store) Write(b *Batch) error {
	puts := make([]int, len(b.Put))
	for i := range puts {
		puts[i] = i
	}
	slices.SortFunc(puts, func(i, j int) int { return cmp.Compare(b.Put[i].Key, b.Put[j].Key) })
	return s.update(func(tx *bolt.Tx) (bytes int, err error) {
		owned, err := tx.Bucket(ownedBucket), error(nil)
		if b.All {
			if err = tx.DeleteBucket(ownedBucket); err == nil {
				owned, err = tx.CreateBucket(ownedBucket)
			}
		}
		if err != nil {
			return 0, err
		}
		owned.FillPercent = 0.9 // in the order of keys
		for _, key := range b.Delete {
			if err := owned.Delete([]byte(key)); err != nil {
				return 0, err
			}
		}
		for _, i := range puts {
			rec := &b.Put[i]
			data, err := rec.encode(nil)
			if err != nil {
				return 0, err
			}
			if len(rec.Key) > MaxKey || rec.Key == "" {
				continue
			}
			bytes += len(rec.Key) + len(data)
			if err := owned.Put([]byte(rec.Key), data); err != nil {
				return 0, err
			}
		}
		more, err := saveFormer(tx, b)
		if err != nil {
			return 0, err
		}
		bytes += more
		if b.Running {
			return bytes, tx.Bucket(metaBucket).Put(runningKey, encodeRunning(Interrupted{b.Txn, s.opts.Now()}))
		}
		return bytes, tx.Bucket(metaBucket).Delete(runningKey)
	})
}

// saveFormer keeps the former values of a batch.
func saveFormer(tx *bolt.Tx, b *Batch) (bytes int, err error) {
	former, err := Encode(b.Former)
	if err != nil {
		return 0, err
	}
	if len(former) == 0 {
		if state := tx.Bucket(stateBucket); !b.Running && state.Bucket([]byte(FormerState)) != nil {
			err = state.DeleteBucket([]byte(FormerState))
		}
		return 0, err
	}
	for key := range former {
		if len(key) > MaxKey {
			delete(former, key)
		}
	}
	return saveState(tx, FormerState, former, !b.Running)
}

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
	s.compactIfEmpty()
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

// sign shows other processes who holds the directory.
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

// ErrOtherAgent: the file is of an agent with another label.
var ErrOtherAgent = errors.New("the state directory is of another agent")

// labelKey is the label of the agent whose file it is; a file of a program that
// knew nothing of labels has none.
var labelKey = []byte("label")

// checkLabel returns an error for a file that another agent wrote. Its records must not
// take effect here. They must not be lost either, in case the label is a mistake, so the
// file stays unchanged.
func (s *Store) checkLabel(label []byte) error {
	own := s.opts.Label
	if own == "" || len(label) == 0 || string(label) == own || string(label) == s.opts.From {
		return nil
	}
	return fmt.Errorf("state-dir: %w: %s was written by the agent %q, and this one has the label %q (microservice-label): start this one with "+
		"the former label if that is the right one; give it a state-dir of its own, or move %s away, if the directory is a copy, so that "+
		"it starts without a record; or set state-dir-from: %s in kvscheduler.conf if the agent has got another label and is to continue with this directory",
		ErrOtherAgent, s.path(), label, own, fileName, label)
}

// adopt checks the owner of the file and makes this agent the owner.
func (s *Store) adopt(tx *bolt.Tx) error {
	meta := tx.Bucket(metaBucket)
	label := meta.Get(labelKey)
	if err := s.checkLabel(label); err != nil || s.opts.Label == "" || string(label) == s.opts.Label {
		return err
	}
	return meta.Put(labelKey, []byte(s.opts.Label))
}

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
