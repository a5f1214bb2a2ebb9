package quarantine

import "time"

// Search finds the value that a southbound dies of some time after it was applied, when no
// operation is in flight. It looks for the shortest beginning of Order that the southbound dies
// of: the last value of that is the culprit. Values come after those that they depend on, so that
// nothing is missing from a beginning, and the likely culprits come last.
type Search struct {
	Southbound string
	// Deaths are those in a row, each soon after the values were applied; with the search those
	// of the search follow.
	Deaths []time.Time
	// Delay is how long the southbound lived when the values were applied, at most.
	Delay time.Duration
	// Order has the values, "" for a deleted one; empty: there is no search yet, or it is over.
	Order []string `json:",omitempty"`
	// With the first Lo values the southbound survives, with the first Hi it dies. -1: it is
	// not known to survive with any.
	Lo, Hi int
	// Mid is how many of the values are applied. The others are held back.
	Mid int
	// Tries are numbers of values to apply first, as the last values are likely culprits.
	Tries []int `json:",omitempty"`
	// Sure: the southbound died with Hi values during the search, and these did not change since.
	Sure bool
	// Died: the southbound died with Hi values after it survived with Lo.
	Died bool
	// Confirmed counts the deaths with Hi values in a row. A value that changes all the time is
	// not spared for that.
	Confirmed int
	// Steps counts the deaths and survivals of the search.
	Steps int
	// Found are the culprits that are in quarantine. The last one is certain when the southbound
	// survives without it, and the other ones when it dies of them again.
	Found []string `json:",omitempty"`
	// Retried are values that were in quarantine and are applied again.
	Retried []Retried `json:",omitempty"`
	// Paused is until when no search begins, since the last one found nothing.
	Paused time.Time

	places map[string]int // in Order; nil: not made yet
	late   []int          // places of values that changed after the death that Fell is to hear of
}

// enough deaths with the same values are no accident.
const enough = 3

// Retried is a value that was in quarantine and is applied again.
type Retried struct {
	Key    string
	Deaths []time.Time
}

// Verdict is what follows from a death or a survival.
type Verdict int

// The verdicts.
const (
	Continues Verdict = iota // with another Mid
	Culprit                  // it is Order[Hi-1]
	Innocent                 // the southbound survives with all values
	Unrelated                // the southbound dies without any of the values
)

// Searches reports whether values are held back.
func (s *Search) Searches() bool { return len(s.Order) > 0 }

// Begin begins a search. tries are the numbers of values to apply first, in descending order. sure:
// the southbound died with all values during an earlier search.
func (s *Search) Begin(order []string, tries []int, sure bool) {
	s.places, s.late, s.Confirmed = nil, nil, 0
	s.Order, s.Lo, s.Hi, s.Sure, s.Died, s.Steps = order, -1, len(order), sure, false, 0
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
// southbound has died, and Fell follows.
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
		s.Sure, s.Died = false, false
	}
}

// Active reports whether a death or a survival of the southbound matters to the search.
func (s *Search) Active() bool { return s.Searches() || len(s.Found) > 0 || len(s.Retried) > 0 }

// Fell says that the southbound died with the values that were applied.
func (s *Search) Fell() Verdict {
	if s.Confirmed++; s.Mid != s.Hi {
		s.Confirmed = 1
	}
	s.Hi, s.Sure, s.Died = s.Mid, true, true
	if s.Lo >= s.Hi { // it survived with them before
		s.Lo = -1
	}
	for _, i := range s.late {
		s.doubt(i)
	}
	s.late = nil
	return s.next()
}

// Survived says that the southbound lives on with the values that were applied.
func (s *Search) Survived() Verdict {
	s.Died = false
	if s.Lo = s.Mid; s.Mid == len(s.Order) {
		return Innocent
	}
	if s.Mid == s.Hi { // it died with them before, of something else or of what they were then
		s.Hi, s.Sure = len(s.Order), false
	}
	return s.next()
}

// next decides what to try.
func (s *Search) next() Verdict {
	s.Steps++
	switch {
	case s.Hi == 0:
		return Unrelated
	case s.Steps > s.limit(): // it dies now and then, whatever is applied
		return Unrelated
	case s.Hi-s.Lo == 1 && (s.Died || s.Confirmed >= enough):
		return Culprit
	case s.Hi-s.Lo == 1 || s.Lo >= 0 && !s.Sure: // does it really die of them?
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

// Recent removes the deaths that no longer count.
func (s *Search) Recent(now time.Time) {
	suspect := Suspect{}
	suspect.Crashes = s.Deaths
	s.Deaths = suspect.recent(now)
}

// Probation is how long the southbound has to live to have survived.
func (s *Search) Probation(within time.Duration) time.Duration {
	return min(max(2*s.Delay, 2*time.Second), 3*within)
}
