package orchestrator

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
)

// ErrOtherCommit is returned if the change that waits for confirmation has another ID.
var ErrOtherCommit = errors.New("another change is waiting for confirmation")

// newCommitID returns an ID for a change whose client has not given one.
func newCommitID() string {
	var id [4]byte
	_, _ = rand.Read(id[:]) // never fails
	return hex.EncodeToString(id[:])
}

// is returns ErrOtherCommit if the change has another ID. An empty ID
// stands for whichever change waits.
func (u *unconfirmed) is(id string) error {
	if id != "" && u.id != id {
		return fmt.Errorf("%w: its ID is %q, not %q", ErrOtherCommit, u.id, id)
	}
	return nil
}

// Unconfirmed returns the ID of the change that waits for confirmation; empty if there is none.
func (p *Plugin) Unconfirmed() (id string) {
	u, err := p.waitingCommit("")
	if err != nil {
		return ""
	}
	return u.id
}

// ConfirmCommit confirms the waiting change with an ID and returns its transaction
// (api.NoSeqNum if unknown). An empty ID confirms whatever change waits. The errors are
// ErrNothingToConfirm and ErrOtherCommit, as for CancelCommit and ExtendCommit.
func (p *Plugin) ConfirmCommit(id string) (seqNum uint64, err error) {
	p.mu.Lock()
	u, err := p.waiting(id)
	if err != nil {
		p.mu.Unlock()
		return api.NoSeqNum, err
	}
	p.unconfirmed = nil
	close(u.confirmed)
	p.mu.Unlock()
	p.save(u.source, nil, nothingUnconfirmed())
	p.tellHealth()
	return u.seq, nil
}

// CancelCommit reverts the change that waits for confirmation. The error can also be
// the *api.TransactionError of the revert, or ctx's error: the change waits as before
// then.
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
