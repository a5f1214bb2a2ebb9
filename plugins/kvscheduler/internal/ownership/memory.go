package ownership

import (
	"maps"
	"slices"
	"sync"
	"time"
)

// Memory is a journal in memory, for tests; see the package comment. All
// methods may be called concurrently.
type Memory struct {
	mu          sync.Mutex
	records     map[string][]byte
	state       map[string]map[string][]byte // see SaveState
	interrupted *Interrupted
	frozen      bool
	err         error
	writes      int
}

// NewMemory returns an empty journal.
func NewMemory() *Memory {
	return &Memory{records: map[string][]byte{}, state: map[string]map[string][]byte{}}
}

// Freeze makes writes have no effect, without reporting: the process is dead.
func (m *Memory) Freeze() { m.set(func() { m.frozen = true }) }

// Thaw ends Freeze.
func (m *Memory) Thaw() { m.set(func() { m.frozen = false }) }

// Fail makes writes fail with err until it is nil again.
func (m *Memory) Fail(err error) { m.set(func() { m.err = err }) }

func (m *Memory) set(f func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f()
}

// Keys returns the keys on record, sorted.
func (m *Memory) Keys() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Sorted(maps.Keys(m.records))
}

// Writes is the number of writes so far.
func (m *Memory) Writes() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.writes
}

// Load returns all records, sorted by key, and the interrupted transaction, or
// nil.
func (m *Memory) Load() ([]*Record, *Interrupted, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var all []*Record
	for _, key := range slices.Sorted(maps.Keys(m.records)) {
		rec, err := decode(key, m.records[key], kinds{})
		if err != nil {
			return nil, nil, err
		}
		all = append(all, &rec)
	}
	return all, m.interrupted, nil
}

// Lookup returns one record.
func (m *Memory) Lookup(key string) (Record, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	data, ok := m.records[key]
	if !ok {
		return Record{}, false
	}
	rec, err := decode(key, data, kinds{})
	return rec, err == nil
}

// Write executes a batch.
func (m *Memory) Write(b *Batch) error {
	return m.update(func() error { return m.write(b) })
}

// update runs f, unless what is written is lost or refused.
func (m *Memory) update(f func() error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.frozen:
		return nil
	case m.err != nil:
		return m.err
	}
	return f()
}

func (m *Memory) write(b *Batch) error {
	encoded := make([][]byte, len(b.Put))
	for i := range b.Put {
		var err error
		if encoded[i], err = b.Put[i].encode(nil); err != nil {
			return err
		}
	}
	former, err := b.encodeFormer()
	if err != nil {
		return err
	}
	m.writes++
	m.saveState(FormerState, former, !b.Running)
	if b.All {
		clear(m.records)
	}
	for _, key := range b.Delete {
		delete(m.records, key)
	}
	for i := range b.Put {
		m.records[b.Put[i].Key] = encoded[i]
	}
	m.interrupted = nil
	if b.Running {
		m.interrupted = &Interrupted{Txn: b.Txn, Time: batchTime(b)}
	}
	return nil
}

func batchTime(b *Batch) time.Time {
	if len(b.Put) > 0 {
		return b.Put[len(b.Put)-1].Time()
	}
	return time.Time{}
}

// LoadState returns what SaveState kept under a name; the caller owns it.
func (m *Memory) LoadState(name string) (map[string][]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.state[name]), nil
}

// SaveState changes the entries under a name, as Store.SaveState does.
func (m *Memory) SaveState(name string, put map[string][]byte, all bool) error {
	return m.update(func() error {
		m.saveState(name, put, all)
		return nil
	})
}

func (m *Memory) saveState(name string, put map[string][]byte, all bool) {
	if all || m.state[name] == nil {
		m.state[name] = map[string][]byte{}
	}
	for key, data := range put {
		if data == nil {
			delete(m.state[name], key)
		} else {
			m.state[name][key] = slices.Clone(data)
		}
	}
}
