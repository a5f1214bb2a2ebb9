package access

import (
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// Errors of tokens.
var (
	// ErrExpired is returned for an expired token.
	ErrExpired = errors.New("the token has expired; log in again")
	// ErrEarly is returned for a token that was issued in the future. Its clock was
	// probably wrong, and it would be valid for too long.
	ErrEarly = errors.New("the token was issued in the future, so the clock of the agent was set back; log in again")
	// ErrRevoked is returned for a token whose user has logged out.
	ErrRevoked = errors.New("the token was revoked, its user has logged out")
	// ErrToken is returned for any other invalid token.
	ErrToken = errors.New("invalid token")
)

// Tokens issues and checks JSON Web Tokens signed with HMAC-SHA256. It may be
// used concurrently.
type Tokens struct {
	keys func() [][]byte
	life time.Duration
	now  func() time.Time
	// passed is the time since the start, independent of changes of the clock.
	passed func() time.Duration

	mu      sync.Mutex
	revoked map[string]revocation // by token ID
}

// revocation is a revoked token.
type revocation struct {
	until  time.Time     // expiry, by the clock
	passed time.Duration // expiry, by Tokens.passed
}

// over reports whether the token has expired, both by the clock and by the elapsed
// time. Otherwise it would be valid again after the clock was set forward and back.
func (r revocation) over(now time.Time, passed time.Duration) bool {
	return r.until.Before(now) && passed > r.passed
}

// NewTokens returns Tokens with the given keys, lifetime and clock. It calls
// keys every time: the first key signs, tokens signed by the others are valid as
// well, so that a key can be replaced before its tokens have expired. If keys is
// nil, the result uses a random key.
func NewTokens(keys func() [][]byte, life time.Duration, now func() time.Time) *Tokens {
	if keys == nil {
		random := [][]byte{[]byte(rand.Text() + rand.Text())}
		keys = func() [][]byte { return random }
	}
	start := time.Now()
	passed := func() time.Duration { return time.Since(start) }
	return &Tokens{keys: keys, life: life, now: now, passed: passed, revoked: map[string]revocation{}}
}

// Issue returns a token of a user, and its expiry.
func (t *Tokens) Issue(user string) (token string, expires time.Time, err error) {
	now := t.now()
	expires = now.Add(t.life)
	token, err = jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.RegisteredClaims{
		Subject: user, ID: rand.Text(), IssuedAt: jwt.NewNumericDate(now), ExpiresAt: jwt.NewNumericDate(expires),
	}).SignedString(t.keys()[0])
	if err != nil {
		return "", expires, fmt.Errorf("sign a token: %w", err)
	}
	return token, expires, nil
}

// Check returns the user of a token. The error is one of ErrExpired, ErrEarly,
// ErrRevoked and ErrToken.
func (t *Tokens) Check(token string) (user string, err error) {
	claims, err := t.parse(token)
	if err != nil {
		return "", err
	}
	return claims.Subject, nil
}

// Revoke revokes a valid token until the process ends.
func (t *Tokens) Revoke(token string) error {
	claims, err := t.parse(token)
	if err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	now, passed := t.now(), t.passed()
	for id, r := range t.revoked { // expired tokens need not be kept
		if r.over(now, passed) {
			delete(t.revoked, id)
		}
	}
	t.revoked[claims.ID] = revocation{claims.ExpiresAt.Time, passed + claims.ExpiresAt.Sub(now)}
	return nil
}

func (t *Tokens) parse(token string) (*jwt.RegisteredClaims, error) {
	claims := &jwt.RegisteredClaims{}
	_, err := jwt.ParseWithClaims(token, claims, func(*jwt.Token) (any, error) { return t.known(), nil },
		jwt.WithValidMethods([]string{jwt.SigningMethodHS256.Alg()}), jwt.WithExpirationRequired(),
		jwt.WithIssuedAt(), jwt.WithTimeFunc(t.now))
	switch {
	case errors.Is(err, jwt.ErrTokenExpired):
		return nil, ErrExpired
	case errors.Is(err, jwt.ErrTokenUsedBeforeIssued):
		return nil, ErrEarly
	case err != nil || claims.Subject == "" || claims.ID == "":
		return nil, ErrToken // the exact reason would help only attackers
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, out := t.revoked[claims.ID]; out {
		return nil, ErrRevoked
	}
	return claims, nil
}

// known returns the keys in the format of the parser.
func (t *Tokens) known() (set jwt.VerificationKeySet) {
	for _, key := range t.keys() {
		set.Keys = append(set.Keys, key)
	}
	return set
}
