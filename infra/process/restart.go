package process

import "time"

// Forever is the number of restarts that does not end.
const Forever = -1

// Restart says whether and when a process that ended is started again.
type Restart struct {
	// Max is how many times, one after the other; 0: never, Forever: always. The
	// count begins anew with a process that ran for Steady.
	Max int
	// First is the pause before the first one (default 1 s). It doubles with each,
	// up to Longest (default 30 s).
	First, Longest time.Duration
	// Steady is how long a process has to run to count as well again (default 1 min).
	Steady time.Duration
}

func (r Restart) withDefaults() Restart {
	if r.First <= 0 {
		r.First = time.Second
	}
	if r.Longest <= 0 {
		r.Longest = 30 * time.Second
	}
	if r.Steady <= 0 {
		r.Steady = time.Minute
	}
	r.Longest = max(r.Longest, r.First)
	return r
}

// next tells whether a process is started again that ran for a while, how long
// to pause before, and how many restarts that makes one after the other.
func (r Restart) next(before int, ran time.Duration) (count int, pause time.Duration, again bool) {
	if ran >= r.Steady {
		before = 0
	}
	if r.Max != Forever && before >= r.Max {
		return before, 0, false
	}
	pause = r.First
	for range before {
		if pause >= r.Longest/2 { // here, so that it cannot overflow
			pause = r.Longest
			break
		}
		pause *= 2
	}
	return before + 1, min(pause, r.Longest), true
}
