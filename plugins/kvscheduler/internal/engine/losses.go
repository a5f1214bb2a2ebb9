package engine

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/graph"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/plan"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/queue"
)

// A value that is lost again within minLostPause after its repair, or within four
// times the last delay, is repaired after 1, 2, 4, ... up to 64 seconds. That slows
// down a conflict with another owner of the value. The delay is reset after lostMemory
// without a loss.
const (
	firstLostDelay = time.Second
	maxLostDoubled = 6
	minLostPause   = 10 * time.Second
	lostMemory     = time.Hour
	// lostReread is the delay before values that could not be read are read again.
	lostReread = time.Second
)

// lossRepair removes and creates again values that were reported as lost. The worker
// calls its methods; reportLost may be called concurrently.
type lossRepair struct {
	*shared

	process func(*queue.Entry) outcome // see Engine.process
	paces   map[string]lostPace

	mu       sync.Mutex
	reported map[string]bool // not handled yet; a task is queued while there are any
}

// lostPace delays the repairs of one value.
type lostPace struct {
	repairs int
	last    time.Time     // of the loss
	delay   time.Duration // of the repair after it
}

// next returns the delay before the repair of a value that is lost now.
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

// reportLost queues the repair of values that a southbound reported as lost.
func (lr *lossRepair) reportLost(keys []string) error {
	lr.mu.Lock()
	queued := len(lr.reported) > 0
	for _, key := range keys {
		lr.reported[key] = true
	}
	lr.mu.Unlock()
	if queued || len(keys) == 0 {
		return nil
	}
	return lr.admission.push(call(func() { lr.lookForLost(lr.takeReported()) }))
}

func (lr *lossRepair) takeReported() []string {
	lr.mu.Lock()
	defer lr.mu.Unlock()
	keys := slices.Sorted(maps.Keys(lr.reported))
	clear(lr.reported)
	return keys
}

// lookForLost reads the values, and repairs those that are lost.
func (lr *lossRepair) lookForLost(keys []string) {
	closed := lr.southbound.closed()
	var pinned plan.Request
	lr.trials.pin(&pinned)
	keys = slices.DeleteFunc(lr.readable(keys), func(key string) bool {
		return pinned.Pinned[key] || !lr.mayBeLost(lr.state.graph.Node(key), closed)
	})
	if len(keys) == 0 {
		return
	}
	l := lr.southbound.refresher(closed).Lost(keys)
	if len(l.Unread) > 0 {
		lr.timers.after(lostReread, call(func() { lr.lookForLost(l.Unread) }))
	}
	if len(l.Lost) > 0 {
		lr.log.Warn("the southbound lost values", "values", len(l.Lost), "keys", l.Lost[:min(maxLogged, len(l.Lost))])
		lr.process(lr.admission.now(&work{typ: api.SBNotification, plan: func(p *transaction) bool {
			lr.prepareLost(l.Lost, p)
			return true
		}}))
	}
	lr.repairLost(slices.Concat(l.Lost, l.Changed))
}

// readable replaces properties, which cannot be read, by their dependents and by the other
// values derived from the same base.
func (lr *lossRepair) readable(keys []string) []string {
	all := make(map[string]bool, len(keys))
	for _, key := range keys {
		n := lr.state.graph.Node(key)
		if n == nil || !n.Desc.IsProperty() {
			all[key] = true
			continue
		}
		lr.state.graph.NamingNode(n, func(dependent *graph.Node) { all[dependent.Key] = true })
		if !n.IsDerived() {
			continue
		}
		for sibling := range n.Base.Derived {
			all[sibling.Key] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// mayBeLost reports whether the value exists and the scheduler created or manages it.
func (lr *lossRepair) mayBeLost(n *graph.Node, closed map[string]bool) bool {
	if n == nil || n.Desired() == nil || n.Desc.IsProperty() || closed[n.Desc.Session()] {
		return false
	}
	return n.Ours() || n.Owner == graph.Adopted && !n.Have.FromSB
}

// repairLost creates lost values again, after the delay that next returns.
func (lr *lossRepair) repairLost(lost []string) {
	now := lr.clock.Now()
	maps.DeleteFunc(lr.paces, func(_ string, p lostPace) bool { return now.Sub(p.last) > lostMemory })
	due := map[time.Duration][]string{}
	for _, key := range lost {
		n := lr.state.graph.Node(key)
		if n == nil || lr.opts.RepairLost != nil && !lr.opts.RepairLost(n.Desc.Name, key) {
			continue
		}
		delay := lr.next(key, now)
		due[delay] = append(due[delay], key)
	}
	for _, delay := range slices.Sorted(maps.Keys(due)) {
		if delay == 0 {
			lr.makeAgain(due[delay])
		} else {
			lr.timers.after(delay, call(func() {
				lr.southbound.readAgain(lr.missing(due[delay]), lr.southbound.closed()) // another process may have created them in the meantime
				lr.makeAgain(due[delay])
			}))
		}
	}
}

// makeAgain requests a plan for lost and changed values that are still desired. It
// skips values that failed in the meantime, since those are retried.
func (lr *lossRepair) makeAgain(keys []string) {
	keys = slices.DeleteFunc(slices.Clone(keys), func(key string) bool {
		n := lr.state.graph.Node(key)
		return n == nil || n.Want == nil || n.Err != nil
	})
	if len(keys) == 0 {
		return
	}
	lr.southbound.refreshKeys(slices.DeleteFunc(slices.Clone(keys), func(key string) bool { return lr.state.graph.Node(key).Have == nil }))
	lr.process(lr.admission.now(&work{typ: api.SBNotification, plan: func(p *transaction) bool {
		p.opts.Description, p.retryLeft, p.repair = "repair of "+counted(len(keys), "lost value"), patiently(), true
		p.request.Touch = lr.state.withDerived(keys)
		return true
	}}))
}

// missing returns the base values that do not exist.
func (lr *lossRepair) missing(keys []string) (missing []string) {
	for _, key := range keys {
		if n := lr.state.graph.Node(key); n != nil && n.Have == nil && !n.IsDerived() {
			missing = append(missing, key)
		}
	}
	return missing
}

// prepareLost removes lost values, with their derived values, from the actual state.
func (lr *lossRepair) prepareLost(lost []string, p *transaction) {
	p.opts.Description = "the southbound lost " + counted(len(lost), "value")
	p.request.Touch = lr.state.withDerived(lost)
	p.request.Lost = make(map[string]bool, len(p.request.Touch))
	for _, key := range p.request.Touch {
		p.request.Lost[key] = true
	}
}
