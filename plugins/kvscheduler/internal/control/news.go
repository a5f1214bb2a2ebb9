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
		if p, ok = c.prepare(j); !ok {
			return p, nil, false
		}
		pl = plan.Make(c.graph, p.request)
		news := c.queue.newsFor(j, func(news *job) bool { return needs(pl, news) })
		if news == nil {
			return p, pl, true
		}
		c.execute(news)
	}
}

// needs tells whether the outcome of a plan may depend on news: something would
// have to wait, perhaps for them by way of others, or stands on what they are about.
func needs(pl *plan.Plan, news *job) bool {
	for i := range pl.Ops {
		op := &pl.Ops[i]
		switch {
		case op.Want == nil:
		case op.After == kvscheduler.ValueState_PENDING:
			return true
		case op.Kind == plan.Up || op.Kind == plan.Update:
			for j := range op.Want.Deps {
				if news.names(&op.Want.Deps[j]) {
					return true
				}
			}
		}
	}
	return false
}

// names tells whether the values of a notification meet a dependency.
func (j *job) names(dep *api.Dependency) bool {
	if dep.Key != "" {
		_, named := j.at[dep.Key]
		return named
	}
	for i := range j.values {
		if graph.Meets(dep, j.values[i].Key) {
			return true
		}
	}
	return false
}

// newsFor takes the notifications that a transaction overtook, the first of them
// first, if it turns out to be about any of them; nil if not.
func (q *queue) newsFor(j *job, about func(news *job) bool) *job {
	if j.typ != api.NBTransaction {
		return nil
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	s := q.segments[0]
	found := false
	for _, n := range s.notifications {
		if n.id > j.id || !s.executed(n.after) {
			break
		}
		found = found || about(n)
	}
	if !found {
		return nil
	}
	news := s.takeOther(s.notifications[0])
	news.taken = q.now()
	q.left(news.class())
	return news
}
