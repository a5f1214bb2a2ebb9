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
		news := c.queue.newsFor(j, func(news keySet) bool { return needs(pl, news) })
		if len(news) == 0 {
			return p, pl, true
		}
		for _, n := range news {
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

// newsFor takes the notifications that a transaction overtook, if it turns out to be
// about the keys of any of them; nil if not.
func (q *queue) newsFor(j *job, about func(keySet) bool) (news []*job) {
	if j.typ != api.NBTransaction {
		return nil
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	s, keys, overtaken := q.segments[0], keySet{}, 0
	for _, n := range s.notifications {
		if n.id > j.id || !s.executed(n.after) {
			break
		}
		overtaken++
		for i := range n.values {
			keys[n.values[i].Key] = struct{}{}
		}
	}
	if overtaken == 0 || !about(keys) {
		return nil
	}
	for range overtaken {
		n := s.takeOther(s.notifications[0])
		n.taken = q.now()
		q.left(n.class())
		news = append(news, n)
	}
	return news
}
