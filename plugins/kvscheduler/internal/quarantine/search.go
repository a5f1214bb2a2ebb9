package quarantine

import "time"

// Search finds the value that crashes a southbound some time after it was applied, when no
// operation is in flight. It looks for the shortest beginning of Order that crashes the
// southbound: its last value is the culprit. Values come after those that they depend on, so that
// nothing is missing from a beginning, and the likely culprits come last.
type Search struct {
	Southbound string
	// Crashes are those in a row, each soon after the values were applied; with the search those
	// of the search follow.
	Crashes []time.Time
	// Delay is how long the southbound lived when the values were applied, at most.
	Delay time.Duration
	// Order has the values, "" for a deleted one; empty: there is no search yet, or it is over.
	Order []string `json:",omitempty"`
	// With the first Lo values the southbound survives, with the first Hi it crashes. -1: it is
	// not known to survive with any.
	Lo, Hi int
	// Mid is how many of the values are applied. The others are held back.
	Mid int
	// Tries are numbers of values to apply first, as the last values are likely culprits.
	Tries []int `json:",omitempty"`
	// Sure: the southbound crashed with Hi values during the search, and these did not change since.
	Sure bool
	// Proven: the southbound crashed with Hi values after it survived with Lo.
	Proven bool
	// Confirmed counts the crashes with Hi values in a row. A value that changes all the time is
	// not spared for that.
	Confirmed int
	// Steps counts the crashes and survivals of the search.
	Steps int
	// Found are the culprits that are in quarantine. The last one is certain when the southbound
	// survives without it, and the other ones when it crashes of them again.
	Found []string `json:",omitempty"`
	// Retried are values that were in quarantine and are applied again.
	Retried []Retried `json:",omitempty"`
	// Paused is until when no search begins, since the last one found nothing.
	Paused time.Time

	places map[string]int // in Order; nil: not made yet
	late   []int          // places of values that changed after the crash that Crashed is to hear of
}

// enough crashes with the same values are no accident.
const enough = 3

// Retried is a value that was in quarantine and is applied again.
type Retried struct {
	Key     string
	Crashes []time.Time
}

// Verdict is what follows from a crash or a survival.
type Verdict int

// The verdicts.
const (
	Continues Verdict = iota // with another Mid
	Culprit                  // it is Order[Hi-1]
	Innocent                 // the southbound survives with all values
	Unrelated                // the southbound crashes without any of the values
)

// Searches reports whether values are held back.
func (s *Search) Searches() bool { return len(s.Order) > 0 }

// Begin begins a search. tries are the numbers of values to apply first, in descending order. sure:
// the southbound crashed with all values during an earlier search.
func (s *Search) Begin(order []string, tries []int, sure bool) {
	s.places, s.late, s.Confirmed = nil, nil, 0
	s.Order, s.Lo, s.Hi, s.Sure, s.Proven, s.Steps = order, -1, len(order), sure, false, 0
	s.Tries = tries
	s.Mid = s.middle()
}

// End ends the search; nothing is held back.
func (s *Search) End() { s.Begin(nil, nil, false); s.Lo, s.Mid = 0, 0 }

// middle halves what is not known, unless a likely number is left to try.
func (s *Search) middle() int {
	for len(s.Tries) > 0 {
		n := s.Tries[0]
		s.Tries = s.Tries[1:]
		if s.Lo < n && n < s.Hi {
			return n
		}
	}
	return (s.Lo + s.Hi) / 2
}

// Held are the values that are held back.
func (s *Search) Held() []string {
	if !s.Searches() {
		return nil
	}
	return s.Order[s.Mid:]
}

// Changed records that a value was changed or deleted: it may no longer be the culprit. down: the
// southbound has crashed, and Crashed follows.
func (s *Search) Changed(key string, deleted, down bool) {
	if !s.Searches() {
		return
	}
	if s.places == nil {
		s.places = make(map[string]int, len(s.Order))
		for i, k := range s.Order {
			s.places[k] = i
		}
	}
	i, known := s.places[key]
	if !known {
		return
	}
	if down {
		s.late = append(s.late, i)
	}
	s.doubt(i)
	if deleted {
		s.Order[i] = ""
		delete(s.places, key)
	}
}

// doubt records that the value at a place may no longer be the culprit.
func (s *Search) doubt(i int) {
	if i < s.Hi && i >= s.Lo {
		s.Sure, s.Proven = false, false
	}
}

// Active reports whether a crash or a survival of the southbound matters to the search.
func (s *Search) Active() bool { return s.Searches() || len(s.Found) > 0 || len(s.Retried) > 0 }

// Crashed records that the southbound crashed with the values that were applied.
func (s *Search) Crashed() Verdict {
	if s.Confirmed++; s.Mid != s.Hi {
		s.Confirmed = 1
	}
	s.Hi, s.Sure, s.Proven = s.Mid, true, true
	if s.Lo >= s.Hi { // it survived with them before
		s.Lo = -1
	}
	for _, i := range s.late {
		s.doubt(i)
	}
	s.late = nil
	return s.next(true)
}

// Survived records that the southbound keeps running with the values that were applied.
func (s *Search) Survived() Verdict {
	s.Proven = false
	if s.Lo = s.Mid; s.Mid == len(s.Order) {
		return Innocent
	}
	if s.Mid == s.Hi { // it crashed with them before, of something else or of what they were then
		s.Hi, s.Sure = len(s.Order), false
	}
	return s.next(false)
}

// next decides what to try after a crash or a survival. A value is the culprit only if the
// southbound has just crashed with it, after it survived without it.
func (s *Search) next(crashed bool) Verdict {
	s.Steps++
	switch {
	case s.Hi == 0:
		return Unrelated
	case s.Steps > s.limit(): // it crashes now and then, whatever is applied
		return Unrelated
	case crashed && s.Hi-s.Lo == 1 && (s.Proven || s.Confirmed >= enough):
		return Culprit
	case s.Hi-s.Lo == 1 || s.Lo >= 0 && !s.Sure: // do they really crash it?
		s.Mid = s.Hi
	default:
		s.Mid = s.middle()
	}
	return Continues
}

// limit is how many steps a search takes at most, with a reserve for contradictions.
func (s *Search) limit() int {
	bits := 0
	for n := len(s.Order); n > 0; n /= 2 {
		bits++
	}
	return 4*bits + 8
}

// Recent removes the crashes that no longer count.
func (s *Search) Recent(now time.Time) {
	suspect := Suspect{}
	suspect.Crashes = s.Crashes
	s.Crashes = suspect.recent(now)
}

// Probation is how long the southbound has to live to have survived.
func (s *Search) Probation(within time.Duration) time.Duration {
	return min(max(2*s.Delay, 2*time.Second), 3*within)
}
