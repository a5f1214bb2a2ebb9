package orchestrator

import (
	"context"

	"github.com/tenuto-dev/tenuto/plugins/orchestrator/internal/fairqueue"
)

const withdrawal = "withdraw the configuration"

// Withdraw removes all items of all sources, and ignores further changes, for an
// agent that must not leave its configuration behind. It also removes values
// found in the southbound that are not desired, if the state of all sources is
// known. It does nothing if the agent has configured nothing yet, because its
// start failed.
func (p *Plugin) Withdraw(ctx context.Context) error {
	turn, err := p.takeTurn(ctx, fairqueue.Request{Class: fairqueue.Urgent, What: withdrawal})
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
