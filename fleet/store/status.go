package store

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/tenuto-dev/tenuto/infra/kv"
)

// Status is what an agent reports about itself, apart from its assignments. Only the agent writes it, and only if
// something has changed. Times are of the clock of the agent; they are for people.
type Status struct {
	Instance string    `json:"instance"`
	Host     string    `json:"host,omitempty"`
	Started  time.Time `json:"started,omitzero"`
	// Stopped is when the agent was stopped. It is missing if the agent runs, crashed, or was cut off.
	Stopped time.Time `json:"stopped,omitzero"`
	// Reported is when the status was written.
	Reported time.Time `json:"reported,omitzero"`
	// Since is when the agent got into the state of its report.
	Since time.Time `json:"since,omitzero"`
	// NotFollowed says why the agent does not follow its assignments in this store; empty: it does.
	NotFollowed string `json:"notFollowed,omitempty"`
	// Items is the number of items of all sources of the agent, and Waiting of those that wait for others.
	Items   int `json:"items"`
	Waiting int `json:"waiting,omitempty"`
	// Trouble are the items that failed, are invalid or missing.
	Trouble Findings `json:"trouble,omitzero"`
	// Drift are the items that differ in the southbound; nil: the agent has not looked for drift.
	Drift *Findings `json:"drift,omitempty"`
	// History are the revisions that the agent has confirmed, the newest last.
	History []Confirmed `json:"history,omitempty"`
}

// Findings are items with something wrong.
type Findings struct {
	Count int `json:"count"`
	// Since is when Count became more than 0.
	Since time.Time `json:"since,omitzero"`
	// First are some of them, the worst first.
	First []Finding `json:"first,omitempty"`
}

// Finding is what is wrong with an item.
type Finding struct {
	Key    string `json:"key"`
	State  string `json:"state"` // of the value, or the kind of drift
	Reason string `json:"reason,omitempty"`
}

// Complete reports whether First has all of them.
func (f *Findings) Complete() bool { return f != nil && f.Count == len(f.First) }

// Of returns what is wrong with an item; nil: nothing that is in First.
func (f *Findings) Of(key string) *Finding {
	if f == nil {
		return nil
	}
	for i := range f.First {
		if f.First[i].Key == key {
			return &f.First[i]
		}
	}
	return nil
}

// Confirmed is a revision that an agent has confirmed.
type Confirmed struct {
	Revision int64     `json:"revision"`
	Rollout  string    `json:"rollout"`
	Time     time.Time `json:"time"`
}

// WriteStatus replaces the status of an agent.
func (s Store) WriteStatus(ctx context.Context, label string, st Status) error {
	raw, err := json.Marshal(st)
	if err != nil {
		return err
	}
	key := agentKey(label, "status")
	return describe(key, s.db.Put(ctx, s.prefix+key, raw))
}

// WriteRival says that an agent does not act because another one has its label, until the client of the store ends.
func (s Store) WriteRival(ctx context.Context, label string, h Hold) error {
	raw, err := json.Marshal(h)
	if err != nil {
		return err
	}
	key := agentKey(label, "rival")
	return describe(key, s.db.Put(ctx, s.prefix+key, raw, kv.WithClientLifetimeTTL()))
}

// RemoveRival says that the agent acts now.
func (s Store) RemoveRival(ctx context.Context, label string) error {
	key := agentKey(label, "rival")
	_, err := s.db.Delete(ctx, s.prefix+key)
	return describe(key, err)
}

// Agent returns what the store has of an agent. The error is kv.ErrNotFound if it has nothing.
func (s Store) Agent(ctx context.Context, label string) (a AgentStatus, err error) {
	a.Label = label
	found := false
	err = s.list(ctx, agentKey(label, ""), func(part string, raw []byte) error {
		found = true
		return a.set(part, raw)
	})
	if err == nil && !found {
		err = describe(agentKey(label, ""), kv.ErrNotFound)
	}
	return a, err
}

// Labels returns the labels of all agents, sorted.
func (s Store) Labels(ctx context.Context) (labels []string, err error) {
	err = s.list(ctx, "agent/", func(rest string, _ []byte) error {
		label, _, _ := strings.Cut(rest, "/")
		if len(labels) == 0 || labels[len(labels)-1] != label {
			labels = append(labels, label)
		}
		return nil
	}, kv.KeysOnly())
	return labels, err
}

// Labels returns the labels of an agent: those in files, or else those that operators gave it.
func (a AgentStatus) Labels() map[string]string {
	if a.FileLabels != nil {
		return a.FileLabels
	}
	return a.Spec.Metadata.Labels
}

// SetFileLabels records the labels that an agent has in files, for those who read the fleet.
func (s Store) SetFileLabels(ctx context.Context, label string, labels map[string]string) error {
	if labels == nil {
		labels = map[string]string{}
	}
	raw, err := json.Marshal(labels)
	if err != nil {
		return err
	}
	key := agentKey(label, "labels")
	return describe(key, s.db.Put(ctx, s.prefix+key, raw))
}
