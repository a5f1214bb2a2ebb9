package consul

import (
	"context"
	"encoding/json"
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
	return err
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
