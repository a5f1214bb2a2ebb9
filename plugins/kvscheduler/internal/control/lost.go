package control

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/graph"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/queue"
)

// A value that is lost again within minLostPause after its repair, or within four
// times the last delay, is repaired after 1, 2, 4, ... up to 64 seconds, so that two
// owners of a value do not fight at full speed. After lostMemory without a loss it is
// forgotten.
const (
	firstLostDelay = time.Second
	maxLostDoubled = 6
	minLostPause   = 10 * time.Second
	lostMemory     = time.Hour
	// lostReread is when values that could not be read are looked at again.
	lostReread = time.Second
)

// losses are the values that the southbound is said to have lost.
type losses struct {
	mu       sync.Mutex
	reported map[string]bool // not looked at yet; a look is queued while there are some

	paces map[string]lostPace // of the worker
}

// lostPace spaces out the repairs of one value.
type lostPace struct {
	repairs int
	last    time.Time     // of the loss
	delay   time.Duration // of the repair after it
}

func newLosses() losses {
	return losses{reported: map[string]bool{}, paces: map[string]lostPace{}}
}

// report adds keys; it is true if a look has to be queued.
func (l *losses) report(keys []string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	queued := len(l.reported) > 0
	for _, key := range keys {
		l.reported[key] = true
	}
	return !queued && len(keys) > 0
}

// take returns what was reported.
func (l *losses) take() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	keys := slices.Sorted(maps.Keys(l.reported))
	clear(l.reported)
	return keys
}

// next returns how long to wait until a value that is lost now is repaired.
func (l *losses) next(key string, now time.Time) time.Duration {
	p := l.paces[key]
	switch {
	case p.repairs == 0 || now.Sub(p.last) > max(minLostPause, 4*p.delay):
		p = lostPace{}
	default:
		p.delay = firstLostDelay << min(p.repairs-1, maxLostDoubled)
	}
	p.repairs, p.last = p.repairs+1, now
	l.paces[key] = p
	return p.delay
}

func (l *losses) forgetOld(now time.Time) {
	maps.DeleteFunc(l.paces, func(_ string, p lostPace) bool { return now.Sub(p.last) > lostMemory })
}

// ReportLost implements api.Notifier.
func (c *Control) ReportLost(keys ...string) error {
	if !c.losses.report(keys) {
		return nil
	}
	return c.push(call(func() { c.lookForLost(c.losses.take()) }))
}

// lookForLost reads the values, and takes down and repairs what is lost.
func (c *Control) lookForLost(keys []string) {
	closed := c.closedSessions()
	pinned := prepared{}
	c.overdue.Pin(&pinned.request)
	c.ward.pin(&pinned.request)
	keys = slices.DeleteFunc(c.readable(keys), func(key string) bool {
		return pinned.request.Pinned[key] || !c.mayBeLost(c.graph.Node(key), closed)
	})
	if len(keys) == 0 {
		return
	}
	l := c.refresher(closed).Lost(keys)
	if len(l.Unread) > 0 {
		c.after(lostReread, call(func() { c.lookForLost(l.Unread) }))
	}
	if len(l.Lost) > 0 {
		c.log.Warn("the southbound lost values", "values", len(l.Lost), "keys", l.Lost[:min(maxLogged, len(l.Lost))])
		c.process(c.now(&lostValues{keys: l.Lost}))
	}
	c.repairLost(slices.Concat(l.Lost, l.Changed))
}

// readable replaces properties, which cannot be read, by what depends on them and by the
// other values that are derived from the same base.
func (c *Control) readable(keys []string) []string {
	all := make(map[string]bool, len(keys))
	for _, key := range keys {
		n := c.graph.Node(key)
		if n == nil || !n.Desc.IsProperty() {
			all[key] = true
			continue
		}
		c.graph.NamingNode(n, func(dependent *graph.Node) { all[dependent.Key] = true })
		if !n.IsDerived() {
			continue
		}
		for sibling := range n.Base.Derived {
			all[sibling.Key] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// now gives a task that was not queued the times of one that was.
func (c *Control) now(t task) *queue.Entry {
	now := c.clock.Now()
	return &queue.Entry{Task: t, Queued: now, Taken: now}
}

// mayBeLost returns whether a value exists that the scheduler created or manages.
func (c *Control) mayBeLost(n *graph.Node, closed map[string]bool) bool {
	if n == nil || n.Desired() == nil || n.Desc.IsProperty() || closed[n.Desc.Session()] {
		return false
	}
	return n.Ours() || n.Owner() == graph.Adopted && !n.Have.FromSB
}

// repairLost creates lost values again, those that were not lost lately now.
func (c *Control) repairLost(lost []string) {
	now := c.clock.Now()
	c.losses.forgetOld(now)
	due := map[time.Duration][]string{}
	for _, key := range lost {
		n := c.graph.Node(key)
		if n == nil || c.opts.RepairLost != nil && !c.opts.RepairLost(n.Desc.Name, key) {
			continue
		}
		delay := c.losses.next(key, now)
		due[delay] = append(due[delay], key)
	}
	for _, delay := range slices.Sorted(maps.Keys(due)) {
		if delay == 0 {
			c.makeAgain(due[delay])
		} else {
			c.after(delay, call(func() {
				c.readAgain(c.missing(due[delay]), c.closedSessions()) // another process may have created it meanwhile
				c.makeAgain(due[delay])
			}))
		}
	}
}

// makeAgain makes lost and changed values what they should be, if they are still
// desired and have not failed meanwhile, which is retried.
func (c *Control) makeAgain(keys []string) {
	keys = slices.DeleteFunc(slices.Clone(keys), func(key string) bool {
		n := c.graph.Node(key)
		return n == nil || n.Want == nil || n.Err != nil
	})
	if len(keys) == 0 {
		return
	}
	c.refreshKeys(slices.DeleteFunc(slices.Clone(keys), func(key string) bool { return c.graph.Node(key).Have == nil }))
	c.process(c.now(&lostRepair{keys: keys}))
}

// missing returns the base values that do not exist.
func (c *Control) missing(keys []string) (missing []string) {
	for _, key := range keys {
		if n := c.graph.Node(key); n != nil && n.Have == nil && !n.IsDerived() {
			missing = append(missing, key)
		}
	}
	return missing
}

// prepareLost takes down lost values, with what is derived from them.
func (c *Control) prepareLost(lost []string, p *prepared) {
	p.request.Touch = c.withDerived(lost)
	p.request.Lost = make(map[string]bool, len(p.request.Touch))
	for _, key := range p.request.Touch {
		p.request.Lost[key] = true
	}
}
