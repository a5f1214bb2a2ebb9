package orchestrator

import (
	"context"

	"github.com/tenuto-dev/tenuto/plugins/orchestrator/internal/turns"
)

const withdrawal = "withdraw the configuration"

// Withdraw removes everything that the plugin asked for, of all sources, and
// makes it deaf to further changes: the clean end of an agent that is to leave
// nothing behind. What was found in the southbound and nobody has asked for is
// removed, too, if all sources have told what they want. An agent that asked for
// nothing yet, as its start failed, has nothing to take back.
func (p *Plugin) Withdraw(ctx context.Context) error {
	turn, err := p.takeTurn(ctx, turns.Request{Class: turns.Urgent, What: withdrawal})
	if err != nil {
		return err
	}
	defer turn.End()
	p.mu.Lock()
	if !p.begun {
		p.closed = true
		p.mu.Unlock()
		return nil
	}
	keep := p.keeping
	p.closed = true
	p.store.sources, p.unconfirmed = nil, nil
	p.mu.Unlock()
	if p.State != nil {
		p.saveAll()
	}
	return p.commit(ctx, turn, nil, change{resync: true, keep: keep, description: withdrawal})
}
