package consul

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/tenuto-dev/tenuto/infra/kv"
)

const (
	// minTTL and maxTTL are the limits that Consul has for sessions.
	minTTL = 10 * time.Second
	maxTTL = 24 * time.Hour
)

// putFor puts an entry that expires: a new session locks it, and Consul deletes the entries of a
// session with it. A session that is not renewed ends after its TTL, or up to twice as late.
// Sessions of earlier puts end on their own, without an effect on the entry.
func (d *database) putFor(ctx context.Context, ttl time.Duration, key string, value []byte) error {
	if ttl < minTTL || ttl > maxTTL {
		return fmt.Errorf("a TTL of %v: Consul has %v to %v: %w", ttl, minTTL, maxTTL, kv.ErrNotSupported)
	}
	n, err := name(key)
	if err != nil {
		return err
	}
	session, err := d.newSession(ctx, ttl)
	if err != nil {
		return err
	}
	// The deletion releases the lock of an earlier session.
	_, err = d.transact(ctx, verb{Verb: "delete", Key: n}, verb{Verb: "lock", Key: n, Value: value, Session: session})
	if err == nil {
		d.remember(key, session)
	}
	return err
}

// remember stores the session that locks a key; none if it is empty.
func (d *database) remember(key, session string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if session == "" {
		delete(d.sessions, key)
		return
	}
	d.sessions[key] = session
}

// Renew implements kv.Renewer: it renews the session of the entry, which Consul does not store.
// The TTL of the session does not change.
func (d *database) Renew(ctx context.Context, key string, _ time.Duration) (bool, error) {
	d.mu.Lock()
	session := d.sessions[key]
	d.mu.Unlock()
	if session == "" {
		return false, nil
	}
	ctx, cancel := context.WithTimeout(ctx, d.timeout)
	defer cancel()
	resp, text, err := d.do(ctx, http.MethodPut, "/v1/session/renew/"+session, nil, nil)
	switch {
	case err != nil:
		return false, wrap("renew", key, err)
	case resp.StatusCode == http.StatusNotFound:
		d.remember(key, "")
		return false, nil
	case resp.StatusCode != http.StatusOK:
		return false, wrap("renew", key, refusal(resp.StatusCode, text))
	}
	return true, nil
}

// Claim implements kv.Claimer. The entry is locked by a session.
func (d *database) Claim(ctx context.Context, key string, old, value []byte, ttl time.Duration) ([]byte, error) {
	n, err := name(key)
	if err != nil {
		return nil, wrap("claim", key, err)
	}
	session := ""
	for ctx.Err() == nil {
		pairs, err := d.transact(ctx, verb{Verb: "get", Key: n})
		if err != nil && !missing(err) {
			return nil, wrap("claim", key, err)
		}
		if len(pairs) > 0 && (old == nil || !bytes.Equal(pairs[0].Value, old)) {
			return append([]byte{}, pairs[0].Value...), nil
		}
		if session == "" {
			if session, err = d.newSession(ctx, max(ttl, minTTL)); err != nil {
				return nil, wrap("claim", key, err)
			}
		}
		verbs := []verb{{Verb: "lock", Key: n, Value: value, Session: session}}
		if len(pairs) > 0 { // the deletion releases the lock of the old session
			verbs = append([]verb{{Verb: "delete-cas", Key: n, Index: pairs[0].ModifyIndex}}, verbs...)
		}
		_, err = d.transact(ctx, verbs...)
		if err == nil {
			d.remember(key, session)
			return nil, nil
		}
		if _, conflict := errors.AsType[conflictError](err); !conflict {
			return nil, wrap("claim", key, err)
		}
	}
	return nil, wrap("claim", key, ctx.Err())
}

// newSession creates a session. A token that may not do that cannot use TTLs.
func (d *database) newSession(ctx context.Context, ttl time.Duration) (id string, err error) {
	body, err := json.Marshal(map[string]any{
		"Name": "entry with a TTL", "TTL": ttl.Round(time.Second).String(), "Behavior": "delete", "LockDelay": "0s",
		"NodeChecks": []string{}, // the session does not depend on the health of the node
	})
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, d.timeout)
	defer cancel()
	resp, text, err := d.do(ctx, http.MethodPut, "/v1/session/create", nil, body)
	switch {
	case err != nil:
		return "", err
	case resp.StatusCode == http.StatusForbidden:
		return "", fmt.Errorf("%w: %w", refusal(resp.StatusCode, text), kv.ErrNotSupported)
	case resp.StatusCode != http.StatusOK:
		return "", refusal(resp.StatusCode, text)
	}
	var session struct{ ID string }
	if err := json.Unmarshal(text, &session); err != nil {
		return "", fmt.Errorf("decode the response of Consul: %w", err)
	}
	return session.ID, nil
}
