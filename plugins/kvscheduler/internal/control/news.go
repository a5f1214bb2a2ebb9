package control

import (
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/graph"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/plan"
	"github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
)

// plan prepares and plans a job; ok is false if there is nothing to do. A
// transaction that overtook notifications waits for them after all if they are about
// what it needs: whoever tells that an interface came and then commits what stands
// on it finds it there.
func (c *Control) plan(j *job) (p prepared, pl *plan.Plan, ok bool) {
	for {
		from := c.clock.Now()
		if p, ok = c.prepare(j); !ok {
			return p, nil, false
		}
		p.from, p.at = from, c.clock.Now()
		pl = plan.Make(c.graph, p.request)
		overtaken, keys := c.queue.overtaken(j)
		if overtaken == 0 || !needs(pl, keys) { // selectors of plugins run without the lock of the queue
			return p, pl, true
		}
		for _, n := range c.queue.takeNotifications(overtaken) {
			c.execute(n)
		}
	}
}

type keySet map[string]struct{}

// needs tells whether the outcome of a plan may depend on news about some keys:
// something would have to wait, perhaps for them by way of others, or stands on one.
func needs(pl *plan.Plan, news keySet) bool {
	for i := range pl.Ops {
		op := &pl.Ops[i]
		switch {
		case op.Want == nil:
		case op.After == kvscheduler.ValueState_PENDING:
			return true
		case op.Kind == plan.Up || op.Kind == plan.Update:
			for j := range op.Want.Deps {
				if news.meet(&op.Want.Deps[j]) {
					return true
				}
			}
		}
	}
	return false
}

func (s keySet) meet(dep *api.Dependency) bool {
	if dep.Key != "" {
		_, named := s[dep.Key]
		return named
	}
	for key := range s {
		if graph.Meets(dep, key) {
			return true
		}
	}
	return false
}

// overtaken returns how many jobs of notifications a transaction of the northbound
// overtook, and the keys that they are about.
func (q *queue) overtaken(j *job) (count int, keys keySet) {
	if j.typ != api.NBTransaction {
		return 0, nil
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	s := q.segments[0]
	for _, n := range s.notifications {
		if n.id > j.id || !s.executed(n.after) {
			break
		}
		if count++; keys == nil {
			keys = keySet{}
		}
		for i := range n.values {
			keys[n.values[i].Key] = struct{}{}
		}
	}
	return count, keys
}

// takeNotifications takes the first jobs of notifications. Only the worker takes jobs,
// so those that overtaken counted are still there; later notifications may have been
// added to them.
func (q *queue) takeNotifications(count int) (jobs []*job) {
	q.mu.Lock()
	defer q.mu.Unlock()
	s := q.segments[0]
	for range count {
		n := s.takeOther(s.notifications[0])
		n.taken = q.now()
		q.left(n.class())
		jobs = append(jobs, n)
	}
	return jobs
}
