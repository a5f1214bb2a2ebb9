package access

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/tenuto-dev/tenuto/infra/infratest"
)

func TestTokens(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_800_000_000, 0)
	key := []byte(strings.Repeat("k", 32))
	keys := [][]byte{key}
	tokens := NewTokens(func() [][]byte { return keys }, time.Hour, func() time.Time { return now })
	token, expires, err := tokens.Issue("a")
	if err != nil || !expires.Equal(now.Add(time.Hour)) {
		t.Fatal(expires, err)
	}
	if user, err := tokens.Check(token); user != "a" || err != nil {
		t.Errorf("got %q, %v", user, err)
	}
	none, err := jwt.NewWithClaims(jwt.SigningMethodNone, jwt.RegisteredClaims{Subject: "a", ID: "1", ExpiresAt: jwt.NewNumericDate(expires)}).
		SignedString(jwt.UnsafeAllowNoneSignatureType)
	infratest.Fatal(t, err)
	forever, err := jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.RegisteredClaims{Subject: "a", ID: "1"}).SignedString(key)
	infratest.Fatal(t, err)
	foreign, _, err := NewTokens(nil, time.Hour, time.Now).Issue("a")
	infratest.Fatal(t, err)
	for what, bad := range map[string]string{"unsigned": none, "without end": forever, "of another key": foreign, "cut": token[:len(token)-2], "empty": "", "text": "a.b.c"} {
		if _, err := tokens.Check(bad); !errors.Is(err, ErrToken) {
			t.Errorf("%s: got %v", what, err)
		}
	}
	second, _, err := tokens.Issue("a")
	infratest.Fatal(t, err)
	if err := tokens.Revoke(second); err != nil {
		t.Error(err)
	}
	if _, err := tokens.Check(second); !errors.Is(err, ErrRevoked) {
		t.Errorf("after the logout: %v", err)
	}
	if _, err := tokens.Check(token); err != nil {
		t.Errorf("another token of the user: %v", err)
	}
	keys = [][]byte{[]byte(strings.Repeat("n", 32)), key}
	renewed, _, err := tokens.Issue("b")
	infratest.Fatal(t, err)
	if _, err := tokens.Check(token); err != nil {
		t.Errorf("one of the old key: %v", err)
	}
	keys = keys[:1]
	if _, err := tokens.Check(token); !errors.Is(err, ErrToken) {
		t.Errorf("one of a key that is gone: %v", err)
	}
	if user, err := tokens.Check(renewed); user != "b" || err != nil {
		t.Errorf("one of the new key: %q, %v", user, err)
	}
	keys = [][]byte{key}
	now = expires
	if _, err := tokens.Check(token); !errors.Is(err, ErrExpired) {
		t.Errorf("after its time: %v", err)
	}
}

// However the clock is set and set right again, a token that was revoked stays
// so, and is forgotten when it has expired.
func TestTokensWhileTheClockJumps(t *testing.T) {
	t.Parallel()
	const year = 365 * 24 * time.Hour
	now, passed := time.Unix(1_800_000_000, 0), time.Duration(0)
	tokens := NewTokens(nil, time.Hour, func() time.Time { return now })
	tokens.passed = func() time.Duration { return passed }
	issue := func() string {
		t.Helper()
		token, _, err := tokens.Issue("a")
		infratest.Fatal(t, err)
		return token
	}
	check := func(what, token string, want error) {
		t.Helper()
		if _, err := tokens.Check(token); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", what, err, want)
		}
	}
	revoke := func(token string) {
		t.Helper()
		if err := tokens.Revoke(token); err != nil {
			t.Error(err)
		}
	}
	good, out := issue(), issue()
	revoke(out)
	for _, jump := range []time.Duration{year, -year} {
		now = now.Add(jump)
		want := ErrExpired
		if jump < 0 {
			want = ErrEarly
		}
		check("issued before", good, want)
		there := issue()
		check("issued then", there, nil)
		revoke(issue()) // what has expired is forgotten
		now = now.Add(-jump)
		if want = ErrExpired; jump > 0 {
			want = ErrEarly // and not for more than a year
		}
		check("issued then, and the clock is right again", there, want)
		check("the clock is right again", good, nil)
		check("revoked, and the clock is right again", out, ErrRevoked)
	}
	now, passed = now.Add(2*year), 2*year
	revoke(issue())
	if len(tokens.revoked) != 1 {
		t.Errorf("%d revoked tokens are remembered when all but one have expired", len(tokens.revoked))
	}
}

func FuzzToken(f *testing.F) {
	tokens := NewTokens(nil, time.Hour, time.Now)
	f.Add("eyJhbGciOiJub25lIn0.eyJzdWIiOiJhIn0.")
	f.Add("..")
	f.Fuzz(func(t *testing.T, token string) {
		if user, err := tokens.Check(token); err == nil {
			t.Errorf("%q is good for %q", token, user)
		}
	})
}

func TestGroups(t *testing.T) {
	t.Parallel()
	g := NewGroups()
	for _, pattern := range []string{"PUT /log/{logger}/{level}", "/dump/", "GET /a/{x}/b", "GET /a/b/{y}"} {
		if err := g.Add("some", pattern); err != nil {
			t.Error(err)
		}
	}
	for _, bad := range []string{"", "GET", "host/path", "GET host/path", "/{", "G(T /x"} {
		if err := g.Add("bad", bad); err == nil {
			t.Errorf("%q is no error", bad)
		}
	}
	for _, test := range []struct {
		group, method, path string
		want                bool
	}{
		{"some", "PUT", "/log/default/debug", true}, {"some", "PUT", "/log/a%2Fb/debug", true},
		{"some", "GET", "/log/default/debug", false}, {"some", "PUT", "/log/debug", false}, {"some", "PUT", "/log/a/b/c", false},
		{"some", "GET", "/dump/x/y", true}, {"some", "DELETE", "/dump/", true}, {"some", "GET", "/dump", false},
		{"some", "GET", "/dump/../configuration", false}, {"some", "GET", "//dump/x", false}, {"some", "HEAD", "/a/b/b", true},
		{"read", "GET", "/x", true}, {"read", "HEAD", "/x", true}, {"read", "PUT", "/x", false},
		{"all", "PUT", "/x", true}, {"none", "GET", "/x", false}, {"bad", "GET", "/x", false},
	} {
		r, err := http.NewRequestWithContext(t.Context(), test.method, "http://host"+test.path, nil)
		infratest.Fatal(t, err)
		if got := g.Allow([]string{"other", test.group}, r); got != test.want {
			t.Errorf("%s: %s %s: got %v", test.group, test.method, test.path, got)
		}
	}
	if got := strings.Join(g.Names(), " "); got != "all read some" || g.Known("bad") || !g.Known("some") || !g.Known("all") {
		t.Errorf("groups %s", got)
	}
}
