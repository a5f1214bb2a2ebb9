package engine

import (
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/graph"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/plan"
)

// DescriptorOf returns the name of the descriptor of a key; empty if there is none.
func (in *inspector) DescriptorOf(key string) string {
	d, err := in.registry.Load().Lookup(key)
	if d == nil || err != nil {
		return ""
	}
	return d.Name
}

// CountUnread returns the number of unreadable descriptors.
func (u *unreadable) CountUnread() int { return len(u.reads.List()) }

// countedAtOnce is how many values are counted before the lock is released.
const countedAtOnce = 4096

// CountStates counts the values, including derived ones, by state. It releases the
// lock regularly for running transactions, so the counts are not a snapshot.
func (in *inspector) CountStates() map[api.ValueState]int {
	counts := map[api.ValueState]int{}
	for next, more := "", true; more; {
		next, more = in.countSome(next, counts)
	}
	return counts
}

func (in *inspector) countSome(from string, counts map[api.ValueState]int) (next string, more bool) {
	in.mu.RLock()
	defer in.mu.RUnlock()
	n := 0
	in.graph.From(from, func(v *graph.Node) bool {
		if n == countedAtOnce {
			next, more = v.Key, true
			return false
		}
		n++
		counts[plan.State(v)]++
		return true
	})
	return next, more
}
