// Package quarantine remembers which values may have crashed their southbound, and
// which of them are no longer applied because they did so repeatedly.
package quarantine

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/exec"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/ownership"
)

// window is how long a crash counts.
const window = time.Hour

// Tracker has the suspects. All methods may be called concurrently; only the worker of
// the scheduler changes suspects.
type Tracker struct {
	after int // crashes until quarantine; 0: never

	searches map[string]*Search // by southbound; the worker only

	mu       sync.Mutex
	suspects map[string]*Suspect
	changed  map[string]bool // keys of suspects whose state the journal does not know
	searched bool            // it does not know the state of the searches
}

// Suspect is a value that was worked on when its southbound crashed, or one that a Search
// found or holds back.
type Suspect struct {
	api.Suspect
	// Desired is what the northbound wanted of the base value at the latest crash; nil:
	// nothing.
	Desired proto.Message
	// Early: it is known from an earlier run, and not desired since.
	Early bool
	// Tried: its trial failed; the southbound may still crash.
	Tried bool
	// Again: the callback of its trial returned late, and the value is planned after the
	// trial.
	Again bool
	// Revision is the revision of the base value when the trial failed.
	Revision uint32
}

// New returns a tracker that quarantines a value after so many crashes; 0: never.
func New(after int) *Tracker {
	return &Tracker{after: after, searches: map[string]*Search{}, suspects: map[string]*Suspect{}, changed: map[string]bool{}}
}

// After is the number of crashes until quarantine; 0: never.
func (t *Tracker) After() int { return t.after }

// List returns copies of the selected suspects, of all without a selection, sorted by key.
func (t *Tracker) List(selected func(s *Suspect) bool) (list []api.Suspect) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, s := range t.suspects {
		if selected == nil || selected(s) {
			list = append(list, s.Suspect)
		}
	}
	slices.SortFunc(list, func(a, b api.Suspect) int { return strings.Compare(a.Key, b.Key) })
	return list
}

// Len is the number of suspects.
func (t *Tracker) Len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.suspects)
}

// Get returns a suspect, or nil.
func (t *Tracker) Get(key string) *Suspect {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.suspects[key]
}

// Update calls f with all suspects, under the lock.
func (t *Tracker) Update(f func(s *Suspect)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, s := range t.suspects {
		f(s)
	}
}

// Release ends the quarantine of a suspect; it remains one until its trial.
func (t *Tracker) Release(key string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if s := t.suspects[key]; s != nil {
		s.Quarantined, s.Crashes = false, nil
		t.changed[key] = true
	}
}

// Drop removes a suspect.
func (t *Tracker) Drop(key string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.suspects, key)
	t.changed[key] = true
}

// Pin returns keys with the keys of the suspects added.
func (t *Tracker) Pin(keys map[string]bool) map[string]bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.suspects) == 0 {
		return keys
	}
	pinned := make(map[string]bool, len(keys)+len(t.suspects))
	maps.Copy(pinned, keys)
	for key := range t.suspects {
		pinned[key] = true
	}
	return pinned
}

// Crashed makes the values suspects that were being worked on when a southbound crashed.
// It returns those that go into quarantine.
func (t *Tracker) Crashed(southbound string, now time.Time, calls []exec.InFlight) (caught []api.Suspect) {
	if t.after == 0 {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	counted := map[string]bool{}
	for _, call := range calls {
		if counted[call.Key] {
			continue
		}
		counted[call.Key] = true
		s := t.suspects[call.Key]
		if s == nil {
			s = &Suspect{Suspect: api.Suspect{Key: call.Key, Base: call.Base, Southbound: southbound}}
			t.suspects[call.Key] = s
		}
		s.Crashes = append(s.recent(now), now)
		s.Operation, s.Tried, s.Early, s.Again = call.Callback, false, false, false
		t.changed[call.Key] = true
		if len(s.Crashes) >= t.after && !s.Quarantined {
			s.Quarantined = true
			caught = append(caught, s.Suspect)
		}
	}
	return caught
}

// recent returns a copy of the crashes that count.
func (s *Suspect) recent(now time.Time) []time.Time {
	recent := make([]time.Time, 0, len(s.Crashes)+1)
	for _, crash := range s.Crashes {
		switch age := now.Sub(crash); {
		case age < 0: // of an earlier run, before the clock was set back
			recent = append(recent, now)
		case age <= window:
			recent = append(recent, crash)
		}
	}
	return recent
}

// record is what the journal has of a suspect, as JSON.
type record struct {
	api.Suspect
	Wish *anypb.Any `json:",omitempty"`
}

// Restore adds the suspect of an earlier run. It is dropped from the record if it is
// damaged or if values are never quarantined.
func (t *Tracker) Restore(key string, data []byte) error {
	s, err := decode(key, data)
	t.mu.Lock()
	defer t.mu.Unlock()
	if err != nil || t.after == 0 {
		t.changed[key] = true
		return err
	}
	t.suspects[key] = s
	return nil
}

func decode(key string, data []byte) (*Suspect, error) {
	var kept record
	if err := json.Unmarshal(data, &kept); err != nil {
		return nil, err
	}
	if kept.Key != key {
		return nil, fmt.Errorf("it is of the key %q", kept.Key)
	}
	s := &Suspect{Suspect: kept.Suspect, Early: true}
	if kept.Wish != nil {
		// A value of a type that is unknown now cannot be desired: every desired value
		// differs from it.
		s.Desired, _ = kept.Wish.UnmarshalNew()
	}
	return s, nil
}

func (s *Suspect) encode() ([]byte, error) {
	kept := record{Suspect: s.Suspect}
	if s.Desired != nil {
		wish, err := anypb.New(s.Desired)
		if err != nil {
			return nil, err
		}
		kept.Wish = wish
	}
	return json.Marshal(kept)
}

// Changed reports whether the record differs from the tracker.
func (t *Tracker) Changed() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.changed) > 0 || t.searched
}

// TakeChanges returns the records of the suspects that changed since the last call, or of
// all suspects; the record of a dropped one is nil. The error names one that cannot be
// encoded.
func (t *Tracker) TakeChanges(all bool) (put map[string][]byte, problem error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if all {
		for key, s := range t.suspects {
			if !s.HeldBack {
				t.changed[key] = true
			}
		}
	}
	put = make(map[string][]byte, len(t.changed))
	for key := range t.changed {
		switch s := t.suspects[key]; {
		case len(key) > ownership.MaxKey:
		case s == nil || s.HeldBack: // which is in the record of the search
			put[key] = nil
		default:
			data, err := s.encode()
			if err != nil {
				problem = fmt.Errorf("encode %s: %w", key, err)
				continue
			}
			put[key] = data
		}
	}
	clear(t.changed)
	return put, problem
}
