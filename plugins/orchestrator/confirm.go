package orchestrator

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/internal/fairqueue"
)

// ErrNothingToConfirm is returned if no change is waiting for confirmation.
var ErrNothingToConfirm = errors.New("no change is waiting for confirmation")

// unconfirmed is a change that is reverted unless it is confirmed in time. With a
// State it is persistent: after a restart, the agent continues to wait, or
// reverts the change if the deadline has passed.
type unconfirmed struct {
	id        string // of ApplyOptions.CommitID, or made by newCommitID; empty: of an older agent
	seq       uint64
	by        time.Time
	source    string
	before    []KeyVal // the items of the change before it
	after     []KeyVal // the items, in the same order
	confirmed chan struct{}
	kept      []byte // as stored by State; nil without State
}

// keptChange is the persistent form of an unconfirmed change.
type keptChange struct {
	ID       string     `json:"id,omitempty"`
	Deadline deadline   `json:"deadline"`
	Source   string     `json:"source"`
	Before   []keptItem `json:"before"`
	After    []keptItem `json:"after"`
}

// String identifies the change.
func (u *unconfirmed) String() string {
	return fmt.Sprintf("%s (%s), until %s", u.command("confirm"), u.what(), u.by.UTC().Format(time.RFC3339))
}

// note describes the waiting change for the health report.
func (u *unconfirmed) note() string {
	if u == nil {
		return ""
	}
	return fmt.Sprintf("; %s will be reverted at %s unless it is confirmed (%s)", u.what(), u.by.UTC().Format(time.RFC3339), u.command("confirm"))
}

// command returns the command of agentctl for the change.
func (u *unconfirmed) command(name string) string {
	return strings.TrimSpace("agentctl " + name + " " + u.id)
}

// newUnconfirmed records a change before it is made.
func (p *Plugin) newUnconfirmed(o ApplyOptions, source string, before, after []KeyVal) *unconfirmed {
	u := &unconfirmed{
		id: cmp.Or(o.CommitID, newCommitID()), seq: api.NoSeqNum, by: p.clocks.now().Add(o.ConfirmTimeout), source: source, before: before, after: after,
		confirmed: make(chan struct{}),
	}
	u.kept = p.keepUnconfirmed(u, o.ConfirmTimeout)
	return u
}

// keepUnconfirmed returns the persistent form of a change; nil without State.
func (p *Plugin) keepUnconfirmed(u *unconfirmed, timeout time.Duration) []byte {
	if p.State == nil {
		return nil
	}
	kept := keptChange{ID: u.id, Deadline: p.clocks.in(timeout), Source: u.source}
	var errs []error
	for i := range u.after {
		for _, x := range []struct {
			to   *[]keptItem
			item KeyVal
		}{{&kept.Before, u.before[i]}, {&kept.After, u.after[i]}} {
			it, err := keep(x.item)
			it.Key = x.item.Key
			*x.to = append(*x.to, it)
			errs = append(errs, err)
		}
	}
	data, err := json.Marshal(kept)
	if err := errors.Join(append(errs, err)...); err != nil {
		p.Log.Error("cannot store the unconfirmed change: it will not be reverted if the agent ends before the confirmation", "error", err)
		return nil
	}
	return data
}

// state returns the persistent state of an unconfirmed change.
func (u *unconfirmed) state() map[string][]byte {
	if u == nil || u.kept == nil {
		return nil
	}
	return map[string][]byte{confirmKey: u.kept}
}

// nothingUnconfirmed returns the persistent state without an unconfirmed
// change.
func nothingUnconfirmed() map[string][]byte { return map[string][]byte{confirmKey: nil} }

// recallUnconfirmed restores an unconfirmed change of the previous agent. If
// its deadline has passed, the change is reverted before the initial
// synchronisation. The lock is held.
func (p *Plugin) recallUnconfirmed(data []byte) error {
	if data == nil {
		return nil
	}
	var kept keptChange
	if err := json.Unmarshal(data, &kept); err != nil || len(kept.Before) != len(kept.After) {
		p.Log.Error("cannot revert an unconfirmed change: its record is damaged", "error", err)
		return nil
	}
	left := p.clocks.left(kept.Deadline)
	u := &unconfirmed{id: kept.ID, seq: api.NoSeqNum, by: p.clocks.now().Add(left), source: kept.Source, confirmed: make(chan struct{}), kept: data}
	for i := range kept.After {
		before, err1 := kept.Before[i].item(kept.Before[i].Key)
		after, err2 := kept.After[i].item(kept.After[i].Key)
		if err := errors.Join(err1, err2); err != nil {
			p.Log.Error("cannot revert an item of an unconfirmed change", "error", err)
			continue
		}
		u.before, u.after = append(u.before, before), append(u.after, after)
	}
	if left > 0 {
		p.Log.Warn("a change from before the restart is waiting for confirmation", "items", len(u.after), "left", left)
		p.unconfirmed = u
		return nil
	}
	items := p.toTakeBack(u)
	p.store.edit(u.source, items, false)
	p.overdue = items
	p.Log.Warn("a change was not confirmed before the restart; reverting it",
		"items", len(items), "changed-since", len(u.after)-len(items))
	return nil
}

// goOn persists the effects of recallUnconfirmed.
func (p *Plugin) goOn() {
	p.mu.Lock()
	u, overdue := p.unconfirmed, p.overdue
	p.overdue = nil
	p.mu.Unlock()
	if overdue != nil {
		p.saveAll()
	}
	if u != nil {
		p.expect(u)
	}
}

// expectConfirmation starts to wait for the confirmation of a change.
func (p *Plugin) expectConfirmation(u *unconfirmed, seq uint64, timeout time.Duration) {
	p.mu.Lock()
	u.seq, u.by = seq, p.clocks.now().Add(timeout)
	p.unconfirmed = u
	p.mu.Unlock()
	p.expect(u)
}

// confirmBy returns the deadline and the ID of the confirmation; zero if the change does
// not wait for one.
func (p *Plugin) confirmBy(u *unconfirmed) (by time.Time, id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.unconfirmed != u {
		return by, ""
	}
	return u.by, u.id
}

// expect reverts the change when its deadline passes.
func (p *Plugin) expect(u *unconfirmed) {
	left := u.by.Sub(p.clocks.now())
	p.Go(func(ctx context.Context) {
		timer := time.NewTimer(left)
		defer timer.Stop()
		select {
		case <-timer.C:
			_, _ = p.takeBack(ctx, u, "was not confirmed in time") // logged
		case <-u.confirmed:
		case <-ctx.Done():
		}
	})
}

// takeBack restores the items of the source from before the change, except
// items that were changed again since then. The error is the error of the
// transaction, which continues after the end of ctx, or why it did not begin: began
// is false then.
func (p *Plugin) takeBack(ctx context.Context, u *unconfirmed, why string) (began bool, err error) {
	turn, err := p.takeTurn(ctx, fairqueue.Request{Class: fairqueue.Urgent, Source: u.source, What: "revert the unconfirmed change"})
	if err != nil {
		return false, err // if the agent stops, the next one reverts it
	}
	p.mu.Lock()
	if p.unconfirmed != u {
		p.mu.Unlock()
		turn.End()
		return false, ErrNothingToConfirm // confirmed at the last moment
	}
	p.unconfirmed = nil
	items := p.toTakeBack(u)
	p.mu.Unlock()
	p.Log.Warn("reverting an unconfirmed change", "reason", why,
		"seq-num", u.seq, "items", len(items), "changed-since", len(u.after)-len(items))
	_, err = p.applyInTurn(p.Context(), turn, change{
		source: u.source, items: items, again: true, state: nothingUnconfirmed(), description: fmt.Sprintf("revert: %s %s", u.what(), why),
	})
	p.tellFailures(err)
	p.tellHealth()
	return true, err
}

// toTakeBack returns the items that restore the state before the change,
// except those that were changed again. The lock is held.
func (p *Plugin) toTakeBack(u *unconfirmed) (items []KeyVal) {
	for i, now := range p.wants(u.source, u.after) {
		if proto.Equal(now.Val, u.after[i].Val) {
			items = append(items, u.before[i])
		}
	}
	return items
}

func (u *unconfirmed) what() string {
	if u.seq == api.NoSeqNum {
		return "a change"
	}
	return fmt.Sprintf("transaction %d", u.seq)
}
