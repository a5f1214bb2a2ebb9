package kvstest

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/ownership"
)

// Journal is a journal in memory that outlives a scheduler: pass the same one to the next. To
// simulate a crash, make all further actions of the scheduler ineffective, in the
// southbound and in its journal:
//
//	journal := kvstest.NewJournal()
//	c := engine.New(engine.Options{Journal: journal})
//	...                // in a callback, before or after its effect:
//	journal.Freeze()   // and let the fake southbound ignore all that follows
//	...                // stop c, whatever it believes
//	journal.Thaw()
//	c = engine.New(engine.Options{Journal: journal})
//
// Fail makes writes fail, as a full disk does. All methods may be called concurrently.
type Journal struct {
	mu          sync.Mutex
	records     map[string][]byte
	state       map[string]map[string][]byte // see SaveState
	interrupted *ownership.Interrupted
	frozen      bool
	err         error
	writes      int
}

// NewJournal returns an empty journal.
func NewJournal() *Journal {
	return &Journal{records: map[string][]byte{}, state: map[string]map[string][]byte{}}
}

// Freeze makes writes have no effect, without reporting: the process is dead.
func (j *Journal) Freeze() { j.set(func() { j.frozen = true }) }

// Thaw ends Freeze.
func (j *Journal) Thaw() { j.set(func() { j.frozen = false }) }

// Fail makes writes fail with err until it is nil again.
func (j *Journal) Fail(err error) { j.set(func() { j.err = err }) }

func (j *Journal) set(f func()) {
	j.mu.Lock()
	defer j.mu.Unlock()
	f()
}

// Keys returns the keys on record, sorted.
func (j *Journal) Keys() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Sorted(maps.Keys(j.records))
}

// Writes is the number of writes so far.
func (j *Journal) Writes() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.writes
}

// Load returns all records, sorted by key, and the interrupted transaction, or
// nil.
func (j *Journal) Load() ([]*ownership.Record, *ownership.Interrupted, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	records, err := ownership.Decode(j.records)
	if err != nil {
		return nil, nil, err
	}
	var all []*ownership.Record
	for i := range records {
		all = append(all, &records[i])
	}
	return all, j.interrupted, nil
}

// Lookup returns one record.
func (j *Journal) Lookup(key string) (ownership.Record, bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	data, ok := j.records[key]
	if !ok {
		return ownership.Record{}, false
	}
	found, err := ownership.Decode(map[string][]byte{key: data})
	if err != nil {
		return ownership.Record{}, false
	}
	return found[0], true
}

// Write executes a batch.
func (j *Journal) Write(b *ownership.Batch) error {
	return j.update(func() error { return j.write(b) })
}

// update runs f, unless what is written is lost or refused.
func (j *Journal) update(f func() error) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	switch {
	case j.frozen:
		return nil
	case j.err != nil:
		return j.err
	}
	return f()
}

func (j *Journal) write(b *ownership.Batch) error {
	records, err := ownership.Encode(b.Put)
	if err != nil {
		return err
	}
	former, err := ownership.Encode(b.Former)
	if err != nil {
		return err
	}
	j.writes++
	j.saveState(ownership.FormerState, former, !b.Running)
	if b.All {
		clear(j.records)
	}
	for _, key := range b.Delete {
		delete(j.records, key)
	}
	maps.Copy(j.records, records)
	j.interrupted = nil
	if b.Running {
		j.interrupted = &ownership.Interrupted{Txn: b.Txn, Time: batchTime(b)}
	}
	return nil
}

func batchTime(b *ownership.Batch) time.Time {
	if len(b.Put) > 0 {
		return b.Put[len(b.Put)-1].Time()
	}
	return time.Time{}
}

// LoadState returns what SaveState kept under a name; the caller owns it.
func (j *Journal) LoadState(name string) (map[string][]byte, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return maps.Clone(j.state[name]), nil
}

// SaveState changes the entries under a name, as ownership.Store does.
func (j *Journal) SaveState(name string, put map[string][]byte, all bool) error {
	return j.update(func() error {
		j.saveState(name, put, all)
		return nil
	})
}

func (j *Journal) saveState(name string, put map[string][]byte, all bool) {
	if all || j.state[name] == nil {
		j.state[name] = map[string][]byte{}
	}
	for key, data := range put {
		if data == nil {
			delete(j.state[name], key)
		} else {
			j.state[name][key] = slices.Clone(data)
		}
	}
}
