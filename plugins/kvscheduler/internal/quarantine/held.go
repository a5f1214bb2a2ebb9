package quarantine

import (
	"encoding/json"
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
)

// maxCrashes limits the crashes that are kept of a value that a search found: the last ones.
const maxCrashes = 10

// Search returns the search of a southbound, which may not have begun.
func (t *Tracker) Search(southbound string) *Search {
	s := t.searches[southbound]
	if s == nil {
		s = &Search{Southbound: southbound}
		t.searches[southbound] = s
	}
	return s
}

// Hold makes the values that a search holds back suspects, and no others. It returns those that
// it gives back.
func (t *Tracker) Hold(s *Search, within time.Duration) (back []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	held := s.Held()
	keep := make(map[string]bool, len(held))
	for _, key := range held {
		if key != "" {
			keep[key] = true
		}
	}
	for key, suspect := range t.suspects {
		if suspect.HeldBack && suspect.Southbound == s.Southbound && !keep[key] {
			delete(t.suspects, key)
			back = append(back, key)
		}
	}
	text := fmt.Sprintf("southbound %q went down %d times within %v after its values were applied; searching: %d of %d values held back",
		s.Southbound, len(s.Crashes), within, len(keep), len(s.Order))
	for key := range keep {
		if old := t.suspects[key]; old == nil || old.HeldBack {
			t.suspects[key] = &Suspect{Suspect: api.Suspect{
				Key: key, Southbound: s.Southbound, Crashes: s.Crashes, HeldBack: true, Search: text,
			}}
		}
	}
	return back
}

// Quarantine puts a value into quarantine that crashes its southbound after it was applied.
func (t *Tracker) Quarantine(key, southbound string, crashes []time.Time, desired proto.Message) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.suspects[key] = &Suspect{Desired: desired, Suspect: api.Suspect{
		Key: key, Southbound: southbound, Crashes: crashes[max(0, len(crashes)-maxCrashes):], Quarantined: true,
	}}
	t.changed[key] = true
}

// DropTried removes the suspects of a southbound that wait for their trial, as a search follows.
func (t *Tracker) DropTried(southbound string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for key, s := range t.suspects {
		if s.Southbound == southbound && !s.Quarantined && !s.HeldBack {
			delete(t.suspects, key)
			t.changed[key] = true
		}
	}
}

// Found reports whether a search put the suspect into quarantine.
func (s *Suspect) Found() bool { return s != nil && s.Quarantined && s.Operation == "" }

// SearchChanged says that the record differs from the searches.
func (t *Tracker) SearchChanged() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.searched = true
}

// TakeSearches returns the records of all searches, by southbound, if one changed since the last
// call or all is set.
func (t *Tracker) TakeSearches(all bool) (records map[string][]byte, changed bool, problem error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.searched && !all {
		return nil, false, nil
	}
	t.searched = false
	records = make(map[string][]byte, len(t.searches))
	for name, s := range t.searches {
		if !s.Active() && len(s.Crashes) == 0 && s.Paused.IsZero() {
			continue
		}
		data, err := json.Marshal(s)
		if err != nil {
			problem = fmt.Errorf("encode the search of %s: %w", name, err)
			continue
		}
		records[name] = data
	}
	return records, true, problem
}

// RestoreSearch restores the search of an earlier run from its record.
func (t *Tracker) RestoreSearch(southbound string, data []byte, within time.Duration) error {
	if t.after == 0 || within == 0 {
		return nil
	}
	var s Search
	if err := json.Unmarshal(data, &s); err != nil {
		return err
	}
	if s.Southbound != southbound {
		return fmt.Errorf("it is of southbound %q", s.Southbound)
	}
	if s.Mid < 0 || s.Lo < -1 || s.Lo > s.Mid || s.Mid > s.Hi || s.Hi > len(s.Order) {
		return fmt.Errorf("it has %d values, and %d, %d, %d of them", len(s.Order), s.Lo, s.Mid, s.Hi)
	}
	t.searches[southbound] = &s
	t.Hold(&s, within)
	return nil
}
