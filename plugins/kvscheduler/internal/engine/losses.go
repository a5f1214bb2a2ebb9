package engine

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/graph"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/plan"
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

// lossRepair takes down and creates again the values that the southbound is said to have
// lost. The worker calls its methods but ReportLost.
type lossRepair struct {
	*state
	*timers
	*admission
	southbound *southbound
	trials     *trials
	process    func(*queue.Entry) outcome
	wanted     func(descriptor, key string) bool // nil: every value is repaired

	reports losses
	paces   map[string]lostPace
}

// losses are the reports that were not looked at yet. All methods may be called
// concurrently.
type losses struct {
	mu   sync.Mutex
	keys map[string]bool // a look is queued while there are some
}

// lostPace spaces out the repairs of one value.
type lostPace struct {
	repairs int
	last    time.Time     // of the loss
	delay   time.Duration // of the repair after it
}

// report adds keys; it is true if a look has to be queued.
func (l *losses) report(keys []string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	queued := len(l.keys) > 0
	if l.keys == nil {
		l.keys = map[string]bool{}
	}
	for _, key := range keys {
		l.keys[key] = true
	}
	return !queued && len(keys) > 0
}

// take returns and forgets the reports.
func (l *losses) take() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	keys := slices.Sorted(maps.Keys(l.keys))
	clear(l.keys)
	return keys
}

// next returns how long to wait until a value that is lost now is repaired.
func (lr *lossRepair) next(key string, now time.Time) time.Duration {
	p := lr.paces[key]
	switch {
	case p.repairs == 0 || now.Sub(p.last) > max(minLostPause, 4*p.delay):
		p = lostPace{}
	default:
		p.delay = firstLostDelay << min(p.repairs-1, maxLostDoubled)
	}
	p.repairs, p.last = p.repairs+1, now
	lr.paces[key] = p
	return p.delay
}

func (lr *lossRepair) forgetOld(now time.Time) {
	maps.DeleteFunc(lr.paces, func(_ string, p lostPace) bool { return now.Sub(p.last) > lostMemory })
}

// ReportLost implements api.Notifier.
func (lr *lossRepair) ReportLost(keys ...string) error {
	if !lr.reports.report(keys) {
		return nil
	}
	return lr.push(call(func() { lr.lookForLost(lr.reports.take()) }))
}

// lookForLost reads the values, and takes down and repairs what is lost.
func (lr *lossRepair) lookForLost(keys []string) {
	closed := lr.closedSessions()
	var pinned plan.Request
	lr.trials.pin(&pinned)
	keys = slices.DeleteFunc(lr.readable(keys), func(key string) bool {
		return pinned.Pinned[key] || !lr.mayBeLost(lr.graph.Node(key), closed)
	})
	if len(keys) == 0 {
		return
	}
	l := lr.southbound.refresher(closed).Lost(keys)
	if len(l.Unread) > 0 {
		lr.after(lostReread, call(func() { lr.lookForLost(l.Unread) }))
	}
	if len(l.Lost) > 0 {
		lr.log.Warn("the southbound lost values", "values", len(l.Lost), "keys", l.Lost[:min(maxLogged, len(l.Lost))])
		lr.process(lr.now(&lostValues{keys: l.Lost}))
	}
	lr.repairLost(slices.Concat(l.Lost, l.Changed))
}

// readable replaces properties, which cannot be read, by what depends on them and by the
// other values that are derived from the same base.
func (lr *lossRepair) readable(keys []string) []string {
	all := make(map[string]bool, len(keys))
	for _, key := range keys {
		n := lr.graph.Node(key)
		if n == nil || !n.Desc.IsProperty() {
			all[key] = true
			continue
		}
		lr.graph.NamingNode(n, func(dependent *graph.Node) { all[dependent.Key] = true })
		if !n.IsDerived() {
			continue
		}
		for sibling := range n.Base.Derived {
			all[sibling.Key] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// mayBeLost returns whether a value exists that the scheduler created or manages.
func (lr *lossRepair) mayBeLost(n *graph.Node, closed map[string]bool) bool {
	if n == nil || n.Desired() == nil || n.Desc.IsProperty() || closed[n.Desc.Session()] {
		return false
	}
	return n.Ours() || n.Owner() == graph.Adopted && !n.Have.FromSB
}

// repairLost creates lost values again, those that were not lost lately now.
func (lr *lossRepair) repairLost(lost []string) {
	now := lr.clock.Now()
	lr.forgetOld(now)
	due := map[time.Duration][]string{}
	for _, key := range lost {
		n := lr.graph.Node(key)
		if n == nil || lr.wanted != nil && !lr.wanted(n.Desc.Name, key) {
			continue
		}
		delay := lr.next(key, now)
		due[delay] = append(due[delay], key)
	}
	for _, delay := range slices.Sorted(maps.Keys(due)) {
		if delay == 0 {
			lr.makeAgain(due[delay])
		} else {
			lr.after(delay, call(func() {
				lr.southbound.readAgain(lr.missing(due[delay]), lr.closedSessions()) // another process may have created it meanwhile
				lr.makeAgain(due[delay])
			}))
		}
	}
}

// makeAgain makes lost and changed values what they should be, if they are still
// desired and have not failed meanwhile, which is retried.
func (lr *lossRepair) makeAgain(keys []string) {
	keys = slices.DeleteFunc(slices.Clone(keys), func(key string) bool {
		n := lr.graph.Node(key)
		return n == nil || n.Want == nil || n.Err != nil
	})
	if len(keys) == 0 {
		return
	}
	lr.southbound.refreshKeys(slices.DeleteFunc(slices.Clone(keys), func(key string) bool { return lr.graph.Node(key).Have == nil }))
	lr.process(lr.now(&lostRepair{keys: keys}))
}

// missing returns the base values that do not exist.
func (lr *lossRepair) missing(keys []string) (missing []string) {
	for _, key := range keys {
		if n := lr.graph.Node(key); n != nil && n.Have == nil && !n.IsDerived() {
			missing = append(missing, key)
		}
	}
	return missing
}

// prepareLost takes down lost values, with what is derived from them.
func (lr *lossRepair) prepareLost(lost []string, p *transaction) {
	p.request.Touch = lr.withDerived(lost)
	p.request.Lost = make(map[string]bool, len(p.request.Touch))
	for _, key := range p.request.Touch {
		p.request.Lost[key] = true
	}
}
