package store

import (
	"context"
	"strings"
)

// Allocations returns the values that pools have given to agents: by pool and agent.
func (s Store) Allocations(ctx context.Context) (map[string]map[string]string, error) {
	all := map[string]map[string]string{}
	err := s.list(ctx, "pool/", func(rest string, raw []byte) error {
		pool, label, ok := strings.Cut(rest, "/of/")
		if !ok {
			return nil
		}
		if all[pool] == nil {
			all[pool] = map[string]string{}
		}
		all[pool][label] = string(raw)
		return nil
	})
	return all, err
}

// Allocate records the value that a pool gives to an agent. The error is ErrConflict if the agent has a
// value of the pool.
func (s Store) Allocate(ctx context.Context, pool, label, value string) error {
	key := poolKey(pool, label)
	done, err := s.db.CompareAndSwap(ctx, s.prefix+key, nil, []byte(value))
	if err == nil && !done {
		err = ErrConflict
	}
	return describe(key, err)
}

func poolKey(pool, label string) string { return "pool/" + pool + "/of/" + label }
