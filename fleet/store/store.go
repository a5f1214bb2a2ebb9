// Package store keeps the objects of a fleet in a key-value store such as etcd, below
// /tenuto/fleet/v1/<fleet>/:
//
//	epoch                                   changes when a store that went back is the right one
//	revision/<number>                       a Revision
//	manifest/<digest>                       a Manifest: the configuration of one agent
//	chunk/<digest>                          a part of a configuration, compressed
//	rollout/<name>                          a rollout.Rollout
//	rollout/<name>/decision/<wave>          a rollout.WaveDecision
//	pool/<name>/of/<label>                  the value that a pool has given to an agent
//	agent/<label>/spec                      a fleet.Agent
//	agent/<label>/labels                    the labels that the agent has in files, of the last apply
//	agent/<label>/assignment                a rollout.Assignment
//	agent/<label>/report                    a rollout.Report
//	agent/<label>/status                    a Status
//	agent/<label>/hold                      a Hold: exists while the agent runs
//	agent/<label>/rival                     a Hold of an agent that does not act, because another one has the label
//	content/<lease>                         exists while a client adds or removes content
//	controller/<rollout>/<lease>            a Controller: exists while it executes the rollout, or waits for that
//
// Revisions, manifests and chunks are never changed, and a decision is created at most once. An
// agent writes its report, status and hold, and may create a decision. Everything else is written by
// controllers and operators.
package store

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/tenuto-dev/tenuto/fleet"
	"github.com/tenuto-dev/tenuto/fleet/rollout"
	"github.com/tenuto-dev/tenuto/infra/kv"
)

// Root is the prefix of the keys of all fleets.
const Root = "/tenuto/fleet/v1/"

// ErrConflict is returned if an object was changed or created by another client meanwhile.
var ErrConflict = errors.New("was changed meanwhile")

// Store has the objects of one fleet. Its methods may be called concurrently. They return the errors
// of the kv.DB, with the key; kv.ErrNotFound if there is no such object.
type Store struct {
	db     kv.DB
	prefix string
	leader kv.Leadership // that conditional writes need; nil: none
}

// New returns the store of a fleet. The DB must be able to expire keys with their client.
func New(db kv.DB, name string) Store { return Store{db: db, prefix: Root + name + "/"} }

// Hold says that an agent runs. It expires with the agent.
type Hold struct {
	Instance string `json:"instance"` // unique for each start of an agent
	Host     string `json:"host"`
}

// object is an object as it was read: a write succeeds only if it is still the same.
type object[V any] struct {
	value V
	raw   []byte // nil: there is none
}

// get reads an object; the zero value if there is none.
func get[V any](ctx context.Context, s Store, key string) (o object[V], err error) {
	item, err := s.db.Get(ctx, s.prefix+key)
	if errors.Is(err, kv.ErrNotFound) {
		return o, nil
	}
	if err == nil {
		o, err = decode[V](item.Value)
	}
	return o, describe(key, err)
}

func decode[V any](raw []byte) (o object[V], err error) {
	o.raw = raw
	return o, json.Unmarshal(raw, &o.value)
}

func describe(key string, err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", key, err)
	}
	return nil
}

// swap replaces an object that was read. The error is ErrConflict if it is no longer the same.
func swap[V any](ctx context.Context, s Store, key string, before []byte, value V) error {
	raw, err := json.Marshal(value)
	if err != nil {
		return describe(key, err)
	}
	done, err := s.conditional()(ctx, s.prefix+key, before, raw)
	if err == nil && !done {
		err = ErrConflict
	}
	return describe(key, err)
}

// conditional returns the function for conditional writes.
func (s Store) conditional() func(ctx context.Context, key string, old, value []byte) (bool, error) {
	if s.leader != nil {
		return s.leader.CompareAndSwap
	}
	return s.db.CompareAndSwap
}

// list reads the objects below a prefix, and calls f with the rest of each key.
func (s Store) list(ctx context.Context, prefix string, f func(rest string, raw []byte) error, opts ...kv.ListOption) error {
	listing, err := s.db.List(ctx, s.prefix+prefix, opts...)
	if err != nil {
		return describe(prefix, err)
	}
	for _, item := range listing.Items {
		rest := strings.TrimPrefix(item.Key, s.prefix+prefix)
		if err := f(rest, item.Value); err != nil {
			return describe(prefix+rest, err)
		}
	}
	return nil
}

// Origin is the store, and its revision, that an object was read from.
type Origin struct {
	Store    string `json:"store,omitempty"` // of kv.Identity
	Revision int64  `json:"revision,omitempty"`
	// Epoch changes when an operator says that a store that went back is the right one; see NewEpoch.
	Epoch string `json:"epoch,omitempty"`
}

// WentBack reports whether a store that was read later is another one, or was restored from a backup, and no
// operator has said since that it is the right one.
func (o Origin) WentBack(later Origin) bool {
	return o.Store != "" && (later.Store != o.Store || later.Revision < o.Revision) && later.Epoch == o.Epoch
}

const epochKey = "epoch"

// NewEpoch says that the store is the right one although it went back.
func (s Store) NewEpoch(ctx context.Context) error {
	return describe(epochKey, s.db.Put(ctx, s.prefix+epochKey, []byte(rand.Text())))
}

// WatchAgent calls f with what the store has of an agent, at first and after each change, until ctx
// ends, the connection breaks, or f returns an error, which it returns.
func (s Store) WatchAgent(ctx context.Context, label string, f func(AgentStatus, Origin) error) error {
	prefix := agentKey(label, "")
	a := AgentStatus{Label: label}
	epoch, err := s.db.Get(ctx, s.prefix+epochKey)
	if err != nil && !errors.Is(err, kv.ErrNotFound) {
		return describe(epochKey, err)
	}
	listing, err := s.db.List(ctx, s.prefix+prefix)
	if err != nil {
		return describe(prefix, err)
	}
	o := Origin{listing.Identity.Store, listing.Revision, string(epoch.Value)}
	for _, item := range listing.Items {
		if err := a.set(strings.TrimPrefix(item.Key, s.prefix+prefix), item.Value); err != nil {
			return describe(prefix, err)
		}
	}
	if err := f(a, o); err != nil {
		return err
	}
	return s.db.WatchFrom(ctx, s.prefix+prefix, listing.Revision, func(events []kv.Event) error {
		for _, e := range events {
			o.Revision = e.Revision
			if err := a.set(strings.TrimPrefix(e.Key, s.prefix+prefix), e.Value); err != nil {
				return describe(prefix, err)
			}
		}
		return f(a, o)
	})
}

// set decodes a part of an agent; nil removes it.
func (a *AgentStatus) set(part string, raw []byte) error {
	switch part {
	case "spec":
		a.Spec = fleet.Agent{}
		if err := decodePart(part, raw, &a.Spec); err != nil {
			return err
		}
		for key, v := range a.Spec.Spec.Values {
			a.Spec.Spec.Values[key] = plain(v)
		}
		return nil
	case "hold":
		a.Running = nil
		return decodePart(part, raw, &a.Running)
	case "labels":
		a.FileLabels = nil
		return decodePart(part, raw, &a.FileLabels)
	case "rival":
		a.Rival = nil
		return decodePart(part, raw, &a.Rival)
	case "status":
		a.Status = Status{}
		return decodePart(part, raw, &a.Status)
	case "assignment":
		a.Assignment, a.assignment = rollout.Assignment{}, raw
		return decodePart(part, raw, &a.Assignment)
	case "report":
		a.Report = rollout.Report{}
		return decodePart(part, raw, &a.Report)
	}
	return nil
}

func decodePart(part string, raw []byte, into any) error {
	if raw == nil {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	return describe(part, d.Decode(into))
}

// plain returns a value without json.Number: an integer stays one.
func plain(value any) any {
	switch v := value.(type) {
	case json.Number:
		if i, err := v.Int64(); err == nil {
			return i
		}
		f, _ := v.Float64() // checked by the decoder
		return f
	case []any:
		for i := range v {
			v[i] = plain(v[i])
		}
	case map[string]any:
		for key := range v {
			v[key] = plain(v[key])
		}
	}
	return value
}

// WriteReport replaces the report of an agent.
func (s Store) WriteReport(ctx context.Context, label string, r rollout.Report) error {
	raw, err := json.Marshal(r)
	if err != nil {
		return err
	}
	key := agentKey(label, "report")
	return describe(key, s.db.Put(ctx, s.prefix+key, raw))
}

// Hold says that an agent runs, until the client of the store ends. Only one agent has the claim to a
// label in a store; see holder.Claim.
func (s Store) Hold(ctx context.Context, label string, h Hold) error {
	raw, err := json.Marshal(h)
	if err != nil {
		return err
	}
	key := agentKey(label, "hold")
	return describe(key, s.db.Put(ctx, s.prefix+key, raw, kv.WithClientLifetimeTTL()))
}

// Decision returns the decision of a wave; the zero value if there is none.
func (s Store) Decision(ctx context.Context, name string, wave int) (rollout.WaveDecision, error) {
	o, err := get[rollout.WaveDecision](ctx, s, decisionKey(name, wave))
	return o.value, err
}

// Decide creates the decision of a wave unless there is one, and returns the decision that holds.
func (s Store) Decide(ctx context.Context, name string, wave int, d rollout.WaveDecision) (rollout.WaveDecision, error) {
	err := swap(ctx, s, decisionKey(name, wave), nil, d)
	if errors.Is(err, ErrConflict) {
		return s.Decision(ctx, name, wave)
	}
	return d, err
}

// EditAgent changes an agent of the fleet, which is created if it does not exist. If edit fails, nothing is changed.
func (s Store) EditAgent(ctx context.Context, label string, edit func(*fleet.Agent) error) error {
	key := agentKey(label, "spec")
	for {
		o, err := get[fleet.Agent](ctx, s, key)
		if err != nil {
			return err
		}
		o.value.Metadata.Name = label
		if err := edit(&o.value); err != nil {
			return err
		}
		if err := swap(ctx, s, key, o.raw, o.value); !errors.Is(err, ErrConflict) {
			return err
		}
	}
}

// AgentStatus is all that the store has of an agent.
type AgentStatus struct {
	Label      string
	Spec       fleet.Agent       // the zero value if operators said nothing about it
	Running    *Hold             // nil: it does not run
	Rival      *Hold             // another agent with the label, which does not act; nil: none
	FileLabels map[string]string // of the Agent in the files of the last apply; nil: there was none
	Assignment rollout.Assignment
	Report     rollout.Report
	Status     Status

	assignment []byte // as it was read
}

// Agents returns all agents, by label.
func (s Store) Agents(ctx context.Context) (map[string]AgentStatus, error) {
	agents := map[string]AgentStatus{}
	err := s.list(ctx, "agent/", func(rest string, raw []byte) (err error) {
		label, part, ok := strings.Cut(rest, "/")
		if !ok {
			return nil
		}
		a := agents[label]
		a.Label = label
		err = a.set(part, raw)
		agents[label] = a
		return err
	})
	return agents, err
}

// CreateRollout creates a rollout. The error is ErrConflict if there is one with its name.
func (s Store) CreateRollout(ctx context.Context, r rollout.Rollout) error {
	return swap(ctx, s, rolloutKey(r.Metadata.Name), nil, r)
}

// EditRollout changes the specification of a rollout.
func (s Store) EditRollout(ctx context.Context, name string, edit func(*rollout.Spec) error) error {
	for {
		o, err := get[rollout.Rollout](ctx, s, rolloutKey(name))
		if err == nil && o.raw == nil {
			err = describe(rolloutKey(name), kv.ErrNotFound)
		}
		if err == nil {
			err = edit(&o.value.Spec)
		}
		if err != nil {
			return err
		}
		if err := swap(ctx, s, rolloutKey(name), o.raw, o.value); !errors.Is(err, ErrConflict) {
			return err
		}
	}
}

// Rollouts are the rollouts of a fleet with their decisions.
type Rollouts map[string]RolloutStatus

// RolloutStatus is a rollout with the decisions of its waves.
type RolloutStatus struct {
	Rollout   rollout.Rollout
	Decisions map[int]rollout.WaveDecision

	raw []byte
}

// Rollouts returns all rollouts, by name.
func (s Store) Rollouts(ctx context.Context) (Rollouts, error) {
	all := Rollouts{}
	err := s.list(ctx, "rollout/", func(rest string, raw []byte) (err error) {
		name, decision, ok := strings.Cut(rest, "/decision/")
		r := all[name]
		if r.Decisions == nil {
			r.Decisions = map[int]rollout.WaveDecision{}
		}
		if ok {
			var wave int
			var d rollout.WaveDecision
			if wave, err = strconv.Atoi(decision); err == nil {
				err = json.Unmarshal(raw, &d)
			}
			r.Decisions[wave] = d
		} else {
			r.raw = raw
			err = json.Unmarshal(raw, &r.Rollout)
		}
		all[name] = r
		return err
	})
	return all, err
}

// World returns what a controller has to know of a rollout.
func (all Rollouts) World(name string, agents map[string]AgentStatus) rollout.World {
	r := all[name]
	w := rollout.World{Rollout: r.Rollout, Agents: map[string]rollout.Agent{}, Decisions: r.Decisions}
	for _, labels := range append([][]string{r.Rollout.Spec.Later}, r.Rollout.Spec.Waves...) {
		for _, label := range labels {
			a := agents[label]
			seen := rollout.Agent{
				Running: a.Running != nil, Trouble: a.Status.Trouble.Count > 0, Maintenance: a.Spec.Spec.Maintenance,
				Assignment: a.Assignment, Report: a.Report,
			}
			if other := a.Assignment.Rollout; other != name && other != "" && !all[other].Rollout.Status.Phase.Ended() {
				seen.Busy = other
			}
			w.Agents[label] = seen
		}
	}
	return w
}

// Write does a write of a controller. The error is ErrConflict if what it replaces is no longer as in
// r or agents.
func (s Store) Write(ctx context.Context, r RolloutStatus, agents map[string]AgentStatus, w rollout.Write, by string) error {
	name := r.Rollout.Metadata.Name
	switch {
	case w.Status != nil:
		r.Rollout.Status = *w.Status
		return swap(ctx, s, rolloutKey(name), r.raw, r.Rollout)
	case w.Assignment != nil:
		return swap(ctx, s, agentKey(w.Agent, "assignment"), agents[w.Agent].assignment, *w.Assignment)
	default:
		_, err := s.Decide(ctx, name, w.Wave, rollout.WaveDecision{Decision: w.Decision, By: by, Reason: w.Reason})
		return err
	}
}

// Watch calls changed after each change of rollouts and agents, until ctx ends or the connection
// breaks.
func (s Store) Watch(ctx context.Context, changed func()) error {
	listing, err := s.db.List(ctx, s.prefix+"rollout/")
	if err != nil {
		return err
	}
	changed()
	return s.db.WatchFrom(ctx, s.prefix, listing.Revision, func([]kv.Event) error {
		changed()
		return nil
	})
}

func agentKey(label, part string) string { return "agent/" + label + "/" + part }

func rolloutKey(name string) string { return "rollout/" + name }

func decisionKey(name string, wave int) string {
	return rolloutKey(name) + "/decision/" + strconv.Itoa(wave)
}
