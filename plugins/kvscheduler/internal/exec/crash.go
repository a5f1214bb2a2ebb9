package exec

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/plan"
)

// Crashes determines which callbacks were in flight when a southbound went down.
// Those callbacks fail, and no later one succeeds. Lose may be called concurrently;
// the executor, and its owner between transactions, call the other methods.
type Crashes struct {
	// failed holds, by southbound, the failed callbacks after which no successful
	// one started.
	failed map[string][]InFlight
	// changed is when the last callback ended, by southbound, since Begin.
	changed map[string]time.Time

	mu     sync.Mutex
	losses map[string]time.Time // when southbounds went down, until Take
}

// NewCrashes returns an empty record.
func NewCrashes() *Crashes {
	return &Crashes{failed: map[string][]InFlight{}, changed: map[string]time.Time{}, losses: map[string]time.Time{}}
}

// Begin starts a new life of a southbound.
func (c *Crashes) Begin(southbound string) { delete(c.changed, southbound) }

// Changed returns when the last callback of the southbound ended in its present life; zero:
// there was none.
func (c *Crashes) Changed(southbound string) time.Time { return c.changed[southbound] }

// LostAt returns when the southbound went down, before Take.
func (c *Crashes) LostAt(southbound string) (at time.Time, known bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	at, known = c.losses[southbound]
	return at, known
}

// InFlight is a callback that may have brought a southbound down.
type InFlight struct {
	Key, Base, Callback string
	begun, ended        time.Time
	unreached           bool // the southbound was already down: the request did not reach it
}

// before is the crash window: callbacks that failed this long before the
// disconnect of a southbound was reported are suspects.
const before = time.Second

// Lose records that a southbound went down. The executor then starts no callback
// of it until Take.
func (c *Crashes) Lose(southbound string, at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, known := c.losses[southbound]; !known {
		c.losses[southbound] = at
	}
}

// Take returns the callbacks that were in flight when the southbound went down, in
// the order in which they ended, and resets the record of the southbound. It omits
// callbacks that did not reach the southbound and started after the first such
// failure: a busy southbound can fail thousands of callbacks before its disconnect
// is reported.
func (c *Crashes) Take(southbound string, now time.Time) (calls []InFlight) {
	c.mu.Lock()
	at, known := c.losses[southbound]
	if !known {
		at = now
	}
	delete(c.losses, southbound)
	c.mu.Unlock()
	gone := at
	for _, f := range c.failed[southbound] {
		if f.unreached && f.ended.Before(gone) {
			gone = f.ended
		}
	}
	for _, f := range c.failed[southbound] {
		if late := f.begun.After(at) || f.unreached && !f.begun.Before(gone); !late && at.Sub(f.ended) <= before {
			calls = append(calls, f)
		}
	}
	delete(c.failed, southbound)
	return calls
}

// lostError is the failure of an operation that was not started because its
// southbound went down.
type lostError struct{ southbound string }

func (e *lostError) Error() string {
	return fmt.Sprintf("southbound %q went down", e.southbound)
}

// refuse returns an error if the southbound is down.
func (c *Crashes) refuse(southbound string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, lost := c.losses[southbound]; lost {
		return &lostError{southbound}
	}
	return nil
}

// ended records the end of an operation of a job. It ignores callbacks that timed out,
// which Overdue tracks.
func (c *Crashes) ended(op *plan.Op, j *job, err error) {
	if hangs(err) {
		return
	}
	southbound := op.Desc.Southbound
	if southbound != "" {
		c.changed[southbound] = j.end
	}
	if err != nil && southbound != "" {
		c.failed[southbound] = append(c.failed[southbound], InFlight{
			op.Key, op.Base, callback(op), j.start, j.end, errors.Is(err, api.ErrUnreached),
		})
		return
	}
	if calls := c.failed[southbound]; len(calls) > 0 {
		c.failed[southbound] = slices.DeleteFunc(calls, func(f InFlight) bool { return j.start.After(f.ended) })
	}
}
