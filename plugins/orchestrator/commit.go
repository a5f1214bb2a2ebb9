package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// ErrOtherCommit is returned if the change that waits for confirmation has another ID.
var ErrOtherCommit = errors.New("another change is waiting for confirmation")

// is returns ErrOtherCommit if the change has another ID.
func (u *unconfirmed) is(id string) error {
	if u.id != id {
		return fmt.Errorf("%w: its ID is %q, not %q", ErrOtherCommit, u.id, id)
	}
	return nil
}

// ConfirmCommit is Confirm for the change with ApplyOptions.CommitID id. The errors are
// ErrNothingToConfirm and ErrOtherCommit, as those of CancelCommit and ExtendCommit.
func (p *Plugin) ConfirmCommit(id string) (seqNum uint64, err error) {
	return p.confirm(func(u *unconfirmed) error { return u.is(id) })
}

// CancelCommit reverts the change that waits for confirmation. The error can also be the
// *api.TransactionError of the revert, or that of ctx: the change waits as before then.
func (p *Plugin) CancelCommit(ctx context.Context, id string) error {
	u, err := p.waitingCommit(id)
	if err != nil {
		return err
	}
	began, err := p.takeBack(ctx, u, "was canceled")
	if began {
		close(u.confirmed)
	}
	return err
}

// ExtendCommit restarts the time to confirm a change.
func (p *Plugin) ExtendCommit(id string, timeout time.Duration) error {
	p.mu.Lock()
	u, err := p.waiting(id)
	if err != nil {
		p.mu.Unlock()
		return err
	}
	extended := *u
	extended.by, extended.confirmed = p.clocks.now().Add(timeout), make(chan struct{})
	extended.kept = p.keepUnconfirmed(&extended, timeout)
	p.unconfirmed = &extended
	close(u.confirmed)
	p.mu.Unlock()
	p.save(u.source, nil, extended.state())
	p.tellHealth()
	p.expect(&extended)
	return nil
}

func (p *Plugin) waitingCommit(id string) (*unconfirmed, error) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.waiting(id)
}

// waiting returns the change that waits for confirmation. The lock is held.
func (p *Plugin) waiting(id string) (*unconfirmed, error) {
	if p.unconfirmed == nil {
		return nil, ErrNothingToConfirm
	}
	return p.unconfirmed, p.unconfirmed.is(id)
}
