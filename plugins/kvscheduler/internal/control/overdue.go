package control

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/exec"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/graph"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/internal/plan"
	"github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
)

// overdueCall is told that a callback was given up, or that it returned.
func (c *Control) overdueCall(call exec.Call) {
	if call.Returned.IsZero() {
		c.log.Warn("callback did not return in time", "descriptor", call.Descriptor, "callback", call.Callback, "key", call.Key)
	} else {
		c.log.Info("callback returned late", "descriptor", call.Descriptor, "callback", call.Callback, "key", call.Key,
			"took", call.Returned.Sub(call.Since), "error", call.Err)
		c.returnedLate()
	}
	if c.opts.Overdue != nil {
		c.opts.Overdue(c.overdue.Hanging())
	}
}

// returnedLate queues a look at the callbacks that returned after they had
// been given up. Many that return at once, as when a connection breaks, are
// looked at together.
func (c *Control) returnedLate() {
	if !c.returns.Swap(true) {
		_ = c.push(lateReturns{}) // a closed scheduler looks at nothing
	}
}

// prepareLate takes over what callbacks did that returned late, and tries again
// what failed, if that was asked for or if something else is wanted by now.
func (c *Control) prepareLate(p *prepared) bool {
	c.returns.Store(false)
	calls, more := c.overdue.Take()
	if more {
		c.returnedLate()
	}
	if len(calls) == 0 {
		return false
	}
	p.ofTxn, p.attempt = calls[0].OfTxn, calls[0].Attempt+1
	for _, call := range calls {
		c.exec.Settle(call)
	}
	calls = c.decide(calls, &p.request)
	c.pin(&p.request) // without those that are decided
	var texts []string
	for _, call := range calls {
		texts = append(texts, describeReturn(call))
		c.leave(call.Key)
	}
	p.opts.Description = abbreviated(texts)
	for _, call := range calls {
		p.request.Touch = append(p.request.Touch, call.Key)
		p.request.Touch = append(p.request.Touch, c.held(call)...)
		if n := c.graph.Node(call.Key); n != nil {
			c.refreshed = append(c.refreshed, n.Root().Key)
		}
		again := c.again(call)
		if !again { // it stays failed, others are retried
			if p.request.Pinned == nil {
				p.request.Pinned = map[string]bool{}
			}
			p.request.Pinned[call.Key] = true
		}
		if s := c.ward.get(call.Key); s != nil {
			s.again = s.again || s.tried && again
			c.beginTrials(call.Southbound)
		}
	}
	return len(calls) > 0
}

// again tells whether the value of a callback that returned late is looked at
// like any other: the callback was successful, or a retry or something new is
// asked for.
func (c *Control) again(call *exec.Call) bool {
	n := c.graph.Node(call.Key)
	switch {
	case n == nil || n.Err == nil || n.Want == nil:
		return true
	case call.Err == nil || call.Stale || call.Owed == nil:
		return true
	}
	return call.Owed.Retry != nil || n.Root().Revision != call.Revision
}

// held lists what the value of a callback kept from being changed or removed,
// sorted.
func (c *Control) held(call *exec.Call) (keys []string) {
	look := func(n *graph.Node) {
		for ; n != nil; n = n.Base { // a derived value holds its base
			if n.Held {
				keys = append(keys, n.Key)
			}
		}
	}
	base, deps := call.StoodOn()
	look(c.graph.Node(base))
	for i := range deps {
		look(c.graph.Node(deps[i].Key))
		for _, prefix := range deps[i].AnyOf.KeyPrefixes {
			c.graph.Ascend(prefix, func(n *graph.Node) bool {
				look(n)
				return true
			})
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

func operation(change *plan.Change) api.TxnOperation {
	switch {
	case change.Want == nil:
		return kvscheduler.TxnOperation_DELETE
	case change.Node != nil && change.Node.Have != nil:
		return kvscheduler.TxnOperation_UPDATE
	}
	return kvscheduler.TxnOperation_CREATE
}

func describeReturn(call *exec.Call) string {
	text := fmt.Sprintf("%s of %s returned after %v", call.Callback, call.Key, call.Returned.Sub(call.Since))
	if call.Err != nil {
		text += ": " + call.Err.Error()
	}
	return text
}

// abbreviated joins a few texts.
func abbreviated(texts []string) string {
	const most = 5
	if n := len(texts) - most; n > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(texts[:most], ", "), n)
	}
	return strings.Join(texts, ", ")
}

// postpone notes that a change cannot be made now, because a callback of its value
// or of one derived from it has not returned.
func (c *Control) postpone(p *prepared, change *plan.Change) {
	if len(p.request.Pinned) == 0 {
		return
	}
	keys := []string{change.Key}
	if change.Node != nil {
		for child := range change.Node.Derived {
			keys = append(keys, child.Key)
		}
	}
	for _, key := range keys {
		if why, _ := c.overdue.Of(key); why != "" {
			p.delayed = append(p.delayed, api.KeyWithError{
				Key: key, TxnOperation: operation(change),
				Error: errors.New(why + "; the change is made when it does"),
			})
		}
	}
}

// Overdue lists the callbacks that were given up and whose outcome was not
// taken over yet.
func (c *Control) Overdue() []exec.Call { return c.overdue.List() }

// Hanging lists the callbacks that were given up and have not returned.
func (c *Control) Hanging() []exec.Call { return c.overdue.Hanging() }

// Timeouts counts the callbacks that were given up, by descriptor.
func (c *Control) Timeouts() map[string]uint64 { return c.overdue.Given() }
