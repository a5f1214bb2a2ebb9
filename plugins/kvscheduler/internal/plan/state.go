package plan

import (
	"errors"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/graph"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/registry"
	"github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
)

// State computes the public state of a value from its desired and actual state
// and what came of the last operation. A nil node does not exist.
func State(n *graph.Node) api.ValueState {
	switch {
	case n == nil || n.Want == nil && n.Have == nil && n.Err == nil:
		return kvscheduler.ValueState_NONEXISTENT
	case n.Err != nil && n.Want != nil && errors.Is(n.Err, api.ErrUnimplemented):
		return kvscheduler.ValueState_UNIMPLEMENTED
	case n.Err != nil && n.Want != nil && errors.Is(n.Err, api.ErrInvalid):
		return kvscheduler.ValueState_INVALID
	case n.Err != nil && n.Retrying:
		return kvscheduler.ValueState_RETRYING
	case n.Err != nil:
		return kvscheduler.ValueState_FAILED
	case n.Want == nil:
		return kvscheduler.ValueState_DISCOVERED
	case n.Obtained():
		return kvscheduler.ValueState_OBTAINED
	case n.Want.Invalid != nil: // two descriptors for one key is one reason
		return kvscheduler.ValueState_INVALID
	case n.Desc == nil && n.Base == nil:
		return kvscheduler.ValueState_UNIMPLEMENTED
	case n.Have != nil:
		return kvscheduler.ValueState_CONFIGURED
	case n.Missing:
		return kvscheduler.ValueState_MISSING
	}
	return kvscheduler.ValueState_PENDING
}

// existing is the state of a value that exists after its operation.
func existing(n *node) api.ValueState { return existingAs(n.want) }

// existingAs is the state of a value that exists if want is desired.
func existingAs(want *registry.Value) api.ValueState {
	switch {
	case want == nil:
		return kvscheduler.ValueState_DISCOVERED
	case want.FromSB:
		return kvscheduler.ValueState_OBTAINED
	case want.Invalid != nil:
		return kvscheduler.ValueState_INVALID
	}
	return kvscheduler.ValueState_CONFIGURED
}

// afterDown is the state between a removal and what may follow.
func (s *sorter) afterDown(n *node) api.ValueState {
	switch {
	case n.want == nil || n.recreate || n.goesWithBase():
		return kvscheduler.ValueState_REMOVED
	case n.want.Invalid != nil:
		return kvscheduler.ValueState_INVALID
	case s.p.req.Lost[n.key]:
		return kvscheduler.ValueState_MISSING
	}
	return kvscheduler.ValueState_PENDING
}

// goesWithBase reports whether a value goes down because its base does.
func (n *node) goesWithBase() bool {
	return n.base != nil && (!n.base.in || n.bounce && n.base.bounce)
}

// noteState is the state of a value whose wish changes without an operation.
func noteState(n *node) api.ValueState {
	switch {
	case n.want == nil && n.exists():
		return n.before
	case n.want == nil:
		return kvscheduler.ValueState_REMOVED
	case n.want.Invalid != nil:
		return kvscheduler.ValueState_INVALID
	case n.unimplemented():
		return kvscheduler.ValueState_UNIMPLEMENTED
	case n.exists():
		return existing(n)
	}
	return kvscheduler.ValueState_PENDING
}
