package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
)

// ErrNothingToConfirm: no change waits to be confirmed (any more). Compare with
// errors.Is.
var ErrNothingToConfirm = errors.New("no change waits to be confirmed")

// unconfirmed is a change that is taken back unless it is confirmed in time.
// It does not outlive the agent: like all that clients asked for it is gone
// with it.
type unconfirmed struct {
	seq       uint64
	by        time.Time
	source    string
	before    []KeyVal // what the source wanted of the items of the change
	after     []KeyVal // the items, in the same order
	confirmed chan struct{}
}

// String tells which change it is.
func (u *unconfirmed) String() string {
	if u.seq == api.NoSeqNum {
		return "until " + u.by.UTC().Format(time.RFC3339)
	}
	return fmt.Sprintf("transaction %d, until %s", u.seq, u.by.UTC().Format(time.RFC3339))
}

// expectConfirmation begins to wait for the confirmation of a change.
func (p *Plugin) expectConfirmation(seq uint64, timeout time.Duration, source string, before, after []KeyVal) (by time.Time) {
	u := &unconfirmed{
		seq: seq, by: time.Now().Add(timeout), source: source, before: before, after: after, confirmed: make(chan struct{}),
	}
	p.mu.Lock()
	p.unconfirmed = u
	p.mu.Unlock()
	p.Go(func(ctx context.Context) {
		timer := time.NewTimer(timeout)
		defer timer.Stop()
		select {
		case <-timer.C:
			p.takeBack(ctx, u)
		case <-u.confirmed:
		case <-ctx.Done():
		}
	})
	return u.by
}

// Confirm keeps the change that waits to be confirmed and returns its
// transaction (api.NoSeqNum if that is not known). The error is an
// ErrNothingToConfirm.
func (p *Plugin) Confirm() (seqNum uint64, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	u := p.unconfirmed
	if u == nil {
		return api.NoSeqNum, ErrNothingToConfirm
	}
	p.unconfirmed = nil
	close(u.confirmed)
	return u.seq, nil
}

// takeBack makes the source want again what it wanted before the change, but
// for items that were changed once more since then.
func (p *Plugin) takeBack(ctx context.Context, u *unconfirmed) {
	p.mu.Lock()
	if p.unconfirmed != u {
		p.mu.Unlock()
		return // confirmed at the last moment
	}
	p.unconfirmed = nil
	var items []KeyVal
	for i, now := range p.wants(u.source, u.after) {
		if proto.Equal(now.Val, u.after[i].Val) {
			items = append(items, u.before[i])
		}
	}
	p.mu.Unlock()
	p.Log.Warn("a change was not confirmed in time and is taken back",
		"seq-num", u.seq, "items", len(items), "changed-since", len(u.after)-len(items))
	_, err := p.apply(ctx, change{
		source: u.source, items: items, again: true, description: fmt.Sprintf("revert: %s was not confirmed in time", u.what()),
	})
	p.tellFailures(err)
}

func (u *unconfirmed) what() string {
	if u.seq == api.NoSeqNum {
		return "a change"
	}
	return fmt.Sprintf("transaction %d", u.seq)
}
