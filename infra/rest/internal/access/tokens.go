package access

import (
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// Errors of tokens, for errors.Is.
var (
	// ErrExpired is that of a token whose time is over.
	ErrExpired = errors.New("the token has expired; log in again")
	// ErrEarly is that of a token that was issued later than it is now. It may have
	// been issued by a clock that was wrong, and would be good for too long.
	ErrEarly = errors.New("the token is of a time to come, the clock of the agent was set back; log in again")
	// ErrRevoked is that of a token whose user has logged out.
	ErrRevoked = errors.New("the token is no longer good, its user has logged out")
	// ErrToken is that of what is no token of this server.
	ErrToken = errors.New("expected a token of this server")
)

// Tokens issues and checks JSON Web Tokens signed with HMAC-SHA256. It may be
// used concurrently.
type Tokens struct {
	keys func() [][]byte
	life time.Duration
	now  func() time.Time
	// passed is the time since the start, however the clock is set.
	passed func() time.Duration

	mu      sync.Mutex
	revoked map[string]revocation // by the id of the token
}

// revocation is what is known of a token that was revoked.
type revocation struct {
	until  time.Time     // it would be good, by the time of day
	passed time.Duration // until then, by Tokens.passed
}

// over tells that the token has expired: by the time of day, and also by the time
// that has passed, or it would be good again after the clock was set forward and
// right again.
func (r revocation) over(now time.Time, passed time.Duration) bool {
	return r.until.Before(now) && passed > r.passed
}

// NewTokens takes the keys, how long a token is good for, and the clock. keys is
// asked every time: the first one signs, tokens of the others are good as well,
// so that a key can be replaced before the tokens of the old one have ended. If
// keys is nil there is a random one, and the tokens are good for nobody but the
// returned value.
func NewTokens(keys func() [][]byte, life time.Duration, now func() time.Time) *Tokens {
	if keys == nil {
		random := [][]byte{[]byte(rand.Text() + rand.Text())}
		keys = func() [][]byte { return random }
	}
	start := time.Now()
	passed := func() time.Duration { return time.Since(start) }
	return &Tokens{keys: keys, life: life, now: now, passed: passed, revoked: map[string]revocation{}}
}

// Issue returns a token of a user, and when it expires.
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

// Revoke makes a good token useless, as long as the process runs.
func (t *Tokens) Revoke(token string) error {
	claims, err := t.parse(token)
	if err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	now, passed := t.now(), t.passed()
	for id, r := range t.revoked { // what has expired needs no memory
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
		return nil, ErrToken // why in detail helps none but those who guess
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, out := t.revoked[claims.ID]; out {
		return nil, ErrRevoked
	}
	return claims, nil
}

// known is the keys as the parser takes them.
func (t *Tokens) known() (set jwt.VerificationKeySet) {
	for _, key := range t.keys() {
		set.Keys = append(set.Keys, key)
	}
	return set
}
