package process

import "time"

// Forever is an unlimited number of restarts.
const Forever = -1

// Restart is a restart policy.
type Restart struct {
	// Max is the maximum number of consecutive restarts; 0: never, Forever:
	// always. The count is reset when a process ran for Steady.
	Max int
	// First is the delay of the first restart (default 1 s). It doubles with each,
	// up to Longest (default 30 s).
	First, Longest time.Duration
	// Steady is how long a process has to run to count as stable (default 1 min).
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

// next decides whether a process that ran for a while is restarted, after which
// delay, and how many consecutive restarts that makes.
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
