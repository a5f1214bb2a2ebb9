package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/tenuto-dev/tenuto/infra/kv"
)

// Controller describes a process that executes a rollout.
type Controller struct {
	Name  string    `json:"name"`
	Host  string    `json:"host"`
	PID   int       `json:"pid"`
	Since time.Time `json:"since"`
}

// String describes the controller in a sentence.
func (c Controller) String() string {
	return fmt.Sprintf("%s on %s (pid %d, since %s)", c.Name, c.Host, c.PID, c.Since.Local().Format(time.DateTime))
}

// controllerTTL is how long a controller that cannot be reached keeps its rollout.
const controllerTTL = 10 * time.Second

// Lead waits until no other controller executes a rollout, or ctx ends. It returns a store whose
// conditional writes fail with kv.ErrNotLeader when another controller has taken over.
func (s Store) Lead(ctx context.Context, rollout string, c Controller) (Store, kv.Leadership, error) {
	elector, ok := s.db.(kv.Elector)
	if !ok {
		return s, nil, fmt.Errorf("election of a controller: %w", kv.ErrNotSupported)
	}
	raw, err := json.Marshal(c)
	if err != nil {
		return s, nil, err
	}
	key := controllerKey(rollout)
	s.leader, err = elector.Campaign(ctx, s.prefix+key, raw, controllerTTL)
	return s, s.leader, describe(key, err)
}

// Leader returns the controller that executes a rollout; ok is false if there is none.
func (s Store) Leader(ctx context.Context, rollout string) (c Controller, ok bool, err error) {
	elector, can := s.db.(kv.Elector)
	if !can {
		return c, false, fmt.Errorf("election of a controller: %w", kv.ErrNotSupported)
	}
	key := controllerKey(rollout)
	raw, err := elector.Leader(ctx, s.prefix+key)
	if errors.Is(err, kv.ErrNotFound) {
		return c, false, nil
	}
	if err == nil {
		err = json.Unmarshal(raw, &c)
	}
	return c, err == nil, describe(key, err)
}

func controllerKey(rollout string) string { return "controller/" + rollout }
