package store

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/tenuto-dev/tenuto/infra/kv"
)

// DefaultKeep is how many revisions and ended rollouts are kept if nothing else is said.
const DefaultKeep = 10

// contentKey is the election for the right to add and remove content: what one client writes is not
// referenced yet while another one looks for what to remove.
const contentKey = "content"

// withContent calls f when no other client adds or removes content. What f does with the leadership fails
// if another client has got it since.
func (s Store) withContent(ctx context.Context, what string, f func(kv.Leadership) error) error {
	elector, ok := s.db.(kv.Elector)
	if !ok {
		return fmt.Errorf("%s: %w", contentKey, kv.ErrNotSupported)
	}
	l, err := elector.Campaign(ctx, s.prefix+contentKey, []byte(what), controllerTTL)
	if err != nil {
		return describe(contentKey, err)
	}
	return errors.Join(f(l), l.Resign())
}

// Revise stores the configurations of agents, and a revision with them, which gets the next number. Of r
// the agents are set.
func (s Store) Revise(ctx context.Context, r Revision, configs map[string][]Item) (number int64, err error) {
	err = s.withContent(ctx, "revise", func(l kv.Leadership) error {
		s.leader = l
		r.Agents = map[string]string{}
		for label, items := range configs {
			manifest, err := s.PutConfig(ctx, items)
			if err != nil {
				return fmt.Errorf("%s: %w", label, err)
			}
			r.Agents[label] = manifest
		}
		number, err = s.CreateRevision(ctx, r)
		return err
	})
	return number, err
}

// Collected counts what Collect has removed.
type Collected struct {
	Revisions int `json:"revisions"`
	Rollouts  int `json:"rollouts"`
	Objects   int `json:"objects"` // manifests and chunks
}

// Collect removes old revisions, ended rollouts, and the content that no revision refers to any longer. It
// keeps the last revisions and rollouts, at least one of each, and whatever an agent has or can go back to, is
// assigned to, or gets from a rollout that has not ended.
func (s Store) Collect(ctx context.Context, keep int) (c Collected, err error) {
	keep = max(keep, 1)
	err = s.withContent(ctx, "collect", func(l kv.Leadership) error {
		rollouts, err := s.Rollouts(ctx)
		if err != nil {
			return err
		}
		// Agents are read after rollouts: what a rollout that ended meanwhile gave them is theirs then.
		agents, err := s.Agents(ctx)
		if err != nil {
			return err
		}
		if c.Rollouts, err = s.collectRollouts(ctx, l, keep, rollouts, agents); err != nil {
			return err
		}
		revisions, err := s.Revisions(ctx)
		if err != nil {
			return err
		}
		old := oldRevisions(keep, revisions, rollouts, agents)
		var keys []string
		for _, number := range old {
			keys = append(keys, s.prefix+revisionKey(number))
			delete(revisions, number)
		}
		if err := l.Delete(ctx, keys...); err != nil {
			return err
		}
		c.Revisions = len(old)
		c.Objects, err = s.collectContent(ctx, l, revisions)
		return err
	})
	return c, err
}

// oldRevisions returns the revisions that are not needed.
func oldRevisions(keep int, revisions map[int64]Revision, rollouts Rollouts, agents map[string]AgentStatus) (old []int64) {
	needed := map[int64]bool{}
	for _, r := range rollouts {
		if !r.Rollout.Status.Phase.Ended() {
			needed[r.Rollout.Spec.Revision] = true
		}
	}
	for _, a := range agents {
		for _, number := range []int64{a.Report.Confirmed, a.Report.Previous, a.Assignment.Revision} {
			needed[number] = true
		}
	}
	numbers := slices.Sorted(maps.Keys(revisions))
	for _, number := range numbers[:max(0, len(numbers)-keep)] {
		if !needed[number] {
			old = append(old, number)
		}
	}
	return old
}

// collectRollouts removes ended rollouts that no agent is assigned to, without their last decision before
// the rollout: another rollout with the name would follow it.
func (s Store) collectRollouts(ctx context.Context, l kv.Leadership, keep int, rollouts Rollouts, agents map[string]AgentStatus) (n int, err error) {
	assigned := map[string]bool{}
	for _, a := range agents {
		assigned[a.Assignment.Rollout], assigned[a.Report.Rollout] = true, true
	}
	var ended []string
	for name, r := range rollouts {
		if r.Rollout.Status.Phase.Ended() {
			ended = append(ended, name)
		}
	}
	slices.SortFunc(ended, func(a, b string) int {
		return cmp.Or(rollouts[a].Rollout.Status.Since.Compare(rollouts[b].Rollout.Status.Since), cmp.Compare(a, b))
	})
	for _, name := range ended[:max(0, len(ended)-keep)] {
		if assigned[name] {
			continue
		}
		var keys []string
		for _, wave := range slices.Sorted(maps.Keys(rollouts[name].Decisions)) {
			keys = append(keys, s.prefix+decisionKey(name, wave))
		}
		if err := l.Delete(ctx, append(keys, s.prefix+rolloutKey(name))...); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// collectContent removes the manifests and chunks that the revisions do not refer to.
func (s Store) collectContent(ctx context.Context, l kv.Leadership, revisions map[int64]Revision) (n int, err error) {
	needed := map[string]bool{}
	for _, r := range revisions {
		for _, manifest := range r.Agents {
			needed[manifest] = true
		}
	}
	var keys []string
	chunks := map[string]bool{}
	err = s.list(ctx, "manifest/", func(name string, raw []byte) error {
		if !needed[name] {
			keys = append(keys, s.prefix+"manifest/"+name)
			return nil
		}
		var m Manifest
		err := json.Unmarshal(raw, &m)
		for _, chunk := range m.Chunks {
			chunks[chunk] = true
		}
		return err
	})
	if err != nil {
		return 0, err
	}
	err = s.list(ctx, "chunk/", func(name string, _ []byte) error {
		if !chunks[name] {
			keys = append(keys, s.prefix+"chunk/"+name)
		}
		return nil
	}, kv.KeysOnly())
	if err != nil {
		return 0, err
	}
	return len(keys), l.Delete(ctx, keys...)
}

// ErrInUse is returned for an agent that cannot be forgotten.
var ErrInUse = errors.New("the agent is in use")

// Forget removes an agent that is gone, with the values that pools gave it, which it returns. The error is
// ErrInUse if it runs, or is in a rollout that has not ended.
func (s Store) Forget(ctx context.Context, label string) (released map[string]string, err error) {
	rollouts, err := s.Rollouts(ctx)
	if err != nil {
		return nil, err
	}
	for name, r := range rollouts {
		if !r.Rollout.Status.Phase.Ended() && slices.Contains(append(slices.Concat(r.Rollout.Spec.Waves...), r.Rollout.Spec.Later...), label) {
			return nil, fmt.Errorf("%s: %w: it is in rollout %s, which has not ended", label, ErrInUse, name)
		}
	}
	agents, err := s.Agents(ctx)
	if err != nil {
		return nil, err
	}
	a, known := agents[label]
	if a.Running != nil {
		return nil, fmt.Errorf("%s: %w: it runs on %s", label, ErrInUse, a.Running.Host)
	}
	allocations, err := s.Allocations(ctx)
	if err != nil {
		return nil, err
	}
	released = map[string]string{}
	var ops []kv.Op
	for pool, of := range allocations {
		if value, ok := of[label]; ok {
			released[pool] = value
			ops = append(ops, kv.Op{Key: s.prefix + poolKey(pool, label)})
		}
	}
	if !known && len(ops) == 0 {
		return nil, describe("agent/"+label, kv.ErrNotFound)
	}
	for _, part := range []string{"spec", "labels", "assignment", "report", "status"} {
		ops = append(ops, kv.Op{Key: s.prefix + agentKey(label, part)})
	}
	return released, s.db.Txn(ctx, ops...)
}
