package exec

import (
	"errors"
	"fmt"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/graph"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/plan"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/registry"
)

// StoodOn is what the value of the call may have kept from going: its base, and
// what its dependencies lead to.
func (c *Call) StoodOn() (base string, deps []api.Dependency) {
	if c.op == nil {
		return "", nil
	}
	for _, v := range []*registry.Value{c.op.Have, c.op.Target} {
		if v != nil {
			deps = append(deps, v.Deps...)
		}
	}
	return c.op.Base, deps
}

// Target is the base value that the call may have brought about; nil if none.
func (c *Call) Target() *registry.Value {
	if c.op == nil || c.op.Base != "" || c.op.Kind == plan.Down {
		return nil
	}
	return c.op.Target
}

// errGivenUp lets a value that came late be removed, when nobody wants it any
// more; values without an error that nobody wants are left alone.
var errGivenUp = errors.New("was given up, and came late")

// Settle brings the outcome of a callback that returned late into the graph:
// what it did if it was successful, else why it failed. The value should be
// read back afterwards, as far as that is possible.
func (x *Executor) Settle(c *Call) {
	if c.op == nil || c.Stale {
		return
	}
	x.Lock.Lock()
	defer x.Lock.Unlock()
	n := x.Graph.Node(c.Key)
	if n == nil { // forgotten meanwhile
		var base *graph.Node
		if c.op.Base != "" {
			if base = x.Graph.Node(c.op.Base); base == nil {
				return // it went with its base
			}
		}
		n = x.Graph.Ensure(c.Key, c.op.Desc, base)
		n.Err = errGivenUp
		if c.Err != nil && c.op.Desc.RetrieveValue != nil {
			_ = x.Graph.SetHave(n, c.op.Target, nil) // to be read by what it may be
		}
	}
	if c.Err != nil {
		if n.Err != nil {
			n.Err = fmt.Errorf("%w (%s returned after %v)", c.Err, c.Callback, c.Returned.Sub(c.Since))
		}
		return
	}
	have, meta := c.op.Target, c.meta
	if c.op.Kind == plan.Down {
		have, meta = nil, nil
	}
	if !c.op.Desc.WithMetadata {
		meta = nil
	}
	if err := x.Graph.SetHave(n, have, meta); err != nil && n.Err == nil {
		n.Err = err
	}
}
