package plan

import (
	"errors"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"google.golang.org/protobuf/proto"
)

// refused returns why the target of n does not fit the values that it depends on, or that another
// value is the same item; nil if it fits. The southbound already has what it notifies, so nothing is refused there.
func (p *planner) refused(n *node) error {
	if n.target == nil || n.target.FromSB || p.req.Notified[n.key] {
		return nil
	}
	errs := []error{p.spelled.refused(n)}
	for i := range n.target.Deps {
		dep := &n.target.Deps[i]
		if dep.Accepts == nil || dep.Key == "" {
			continue
		}
		if msg := p.provided(n, i); msg != nil {
			errs = append(errs, dep.Accepts(msg))
		}
	}
	return api.Invalid(errors.Join(errs...))
}

// provided returns what the value that dependency i of n names will be; nil if it will not exist.
func (p *planner) provided(n *node, i int) proto.Message {
	switch gn, w := p.named(n, n.target, i); {
	case w != nil && w.in && w.target != nil:
		return w.target.Msg
	case w == nil && gn != nil && gn.Have != nil:
		return gn.Have.Msg
	}
	return nil
}
