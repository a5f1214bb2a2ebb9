package control

import (
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/graph"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/plan"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/queue"
	"github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
)

// plan prepares and plans a task; ok is false if there is nothing to do. Notifications
// that the transaction overtook are executed first after all if they are about what it
// needs: a client that reports an interface and then commits its dependents finds the
// interface there.
func (c *Control) plan(e *queue.Entry) (p *prepared, ok bool, err error) {
	for {
		from := c.clock.Now()
		p = &prepared{entry: e}
		if ok, err = c.prepare(p); !ok || err != nil {
			return p, false, err
		}
		p.from, p.at = from, c.clock.Now()
		p.plan = plan.Make(c.graph, p.request)
		overtaken, keys := c.queue.Overtaken(e)
		if overtaken == 0 || !needs(p.plan, keys) { // selectors of plugins run without the lock of the queue
			return p, true, nil
		}
		for _, n := range c.queue.TakeNotifications(overtaken) {
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
