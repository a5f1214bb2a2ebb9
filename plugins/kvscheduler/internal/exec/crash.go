package exec

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/plan"
)

// Crashes finds out which callbacks were under way when a southbound went down.
// They fail then, and after them no other is successful. Lose may be called at
// any time, everything else belongs to the executor and, between transactions,
// to its owner.
type Crashes struct {
	// failed are, by southbound, the callbacks that failed and after which none
	// was begun that was successful.
	failed map[string][]InFlight
	count  int

	lost   atomic.Int32 // len(losses)
	mu     sync.Mutex
	losses map[string]time.Time // southbounds that went down, nobody knows it yet
}

// NewCrashes returns an empty record.
func NewCrashes() *Crashes {
	return &Crashes{failed: map[string][]InFlight{}, losses: map[string]time.Time{}}
}

// InFlight is a callback that may have brought a southbound down.
type InFlight struct {
	Key, Base, Callback string
	begun, ended        time.Time
	unreached           bool // the southbound was gone already when it was asked
}

// before is how long before the news of the end of a southbound its callbacks
// may have failed.
const before = time.Second

// Lose notes that a southbound went down: no further callback of it is begun.
func (c *Crashes) Lose(southbound string, at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, known := c.losses[southbound]; !known {
		c.losses[southbound] = at
		c.lost.Add(1)
	}
}

// Take returns the callbacks that were under way when the southbound went down,
// in the order in which they ended, and begins anew. Those that found it gone were
// not, if they were begun after another one had found out: a southbound that is busy
// is gone for thousands of callbacks before the news of it arrives.
func (c *Crashes) Take(southbound string, now time.Time) (calls []InFlight) {
	c.mu.Lock()
	at, known := c.losses[southbound]
	if known {
		delete(c.losses, southbound)
		c.lost.Add(-1)
	} else {
		at = now
	}
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
	c.count -= len(c.failed[southbound])
	delete(c.failed, southbound)
	return calls
}

// lostError is the failure of an operation that was not begun, because its
// southbound had just gone down.
type lostError struct{ southbound string }

func (e *lostError) Error() string {
	return fmt.Sprintf("southbound %q went down", e.southbound)
}

// refuse returns an error if the southbound went down.
func (c *Crashes) refuse(southbound string) error {
	if c == nil || c.lost.Load() == 0 {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, lost := c.losses[southbound]; lost {
		return &lostError{southbound}
	}
	return nil
}

// ended notes the end of a callback. Those that hang are known otherwise.
func (c *Crashes) ended(op *plan.Op, j *job) {
	if hangs(j.err) {
		return
	}
	southbound := op.Desc.Southbound
	if j.err != nil && southbound != "" {
		c.failed[southbound] = append(c.failed[southbound], InFlight{
			op.Key, op.Base, callback(op), j.start, j.end, errors.Is(j.err, api.ErrUnreached),
		})
		c.count++
		return
	}
	calls := c.failed[southbound]
	kept := calls[:0]
	for _, f := range calls {
		if !j.start.After(f.ended) {
			kept = append(kept, f)
		}
	}
	c.count -= len(calls) - len(kept)
	c.failed[southbound] = kept
}
