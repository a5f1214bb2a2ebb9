package rest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tenuto-dev/tenuto/infra/config"
	"github.com/tenuto-dev/tenuto/infra/internal/accounts"
	"github.com/tenuto-dev/tenuto/infra/logging"
	"github.com/tenuto-dev/tenuto/infra/reload"
	"github.com/tenuto-dev/tenuto/infra/rest/internal/access"
)

// guard authenticates clients and checks their permissions.
type guard struct {
	users    *reload.Value[users] // of http.conf
	attempts *accounts.Attempts
	tokens   *access.Tokens // nil: tokens are disabled
	groups   *access.Groups
	log      logging.Logger
}

// users are the users in http.conf.
type users struct {
	*accounts.Accounts
	// anonymous are the permissions that need no user.
	anonymous []string
}

// liveUsers follows the users in http.conf; other keys need a restart. A file without users is an error then,
// because every client would have all permissions.
func (p *Plugin) liveUsers(groups *access.Groups) (*reload.Value[users], error) {
	files, path, err := config.Files(p.Cfg)
	if err != nil {
		return nil, err
	}
	cfg, loaded := p.cfg, false
	load := func() (users, error) {
		if loaded {
			var err error
			if cfg, _, err = config.Load(p.Cfg, config.Or(p.defaults, DefaultConfig())); err != nil {
				return users{}, err
			}
			if !cfg.hasAccounts() {
				return users{}, errors.New("without users every client would have all permissions: restart the agent if that is intended")
			}
		}
		loaded = true
		known, err := cfg.accounts(groups)
		return users{known, cfg.Anonymous}, err
	}
	return reload.Load(files, load, reload.Options{Changed: reload.Log(p.Log, "users of the HTTP server; other changes of the file need a restart", path)})
}

// newGuard returns nil if clients need no credentials.
func (p *Plugin) newGuard() (*guard, error) {
	if !p.cfg.hasAccounts() {
		return nil, nil
	}
	groups := p.routes().perms
	live, err := p.liveUsers(groups)
	if err != nil {
		return nil, err
	}
	g := &guard{users: live, attempts: accounts.NewAttempts(time.Now), groups: groups, log: p.Log}
	if !p.cfg.EnableTokenAuth {
		return g, nil
	}
	keys, err := p.signingKeys()
	if err != nil {
		return nil, err
	}
	g.tokens = access.NewTokens(keys, p.cfg.TokenExpiration, time.Now)
	return g, p.Register(p.String(), g.endpoints()...)
}

// signingKeys returns a function that returns the present keys of tokens, nil
// if there are none.
func (p *Plugin) signingKeys() (func() [][]byte, error) {
	if key := p.cfg.TokenSignature + p.cfg.SignKey; key != "" { // at most one of them is set
		if len(key) < minKey { // configurations of the predecessor have such keys
			p.Log.Warn("the key that signs tokens is short enough to be guessed", "bytes", len(key),
				"hint", "set token-signature in http.conf to the output of openssl rand -hex 32")
		}
		return func() [][]byte { return [][]byte{[]byte(key)} }, nil
	}
	file := p.cfg.TokenSignatureFile
	if file == "" {
		return nil, nil
	}
	load := func() ([][]byte, error) {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("token-signature-file: %w", err)
		}
		keys := bytes.Fields(data)
		short := func(key []byte) bool { return len(key) < minKey }
		if len(keys) == 0 || slices.ContainsFunc(keys, short) {
			return nil, fmt.Errorf("token-signature-file: %s: expected keys of %d bytes or more, one per line, for example the output of openssl rand -hex 32", file, minKey)
		}
		return keys, nil
	}
	live, err := reload.Load([]string{file}, load, reload.Options{Changed: reload.Log(p.Log, "keys of tokens", file)})
	if err != nil {
		return nil, err
	}
	return live.Get, nil
}

func (c Config) accounts(groups *access.Groups) (*accounts.Accounts, error) {
	for i, u := range c.Users {
		if err := addPatterns(groups, fmt.Sprintf("users[%d].permissions", i), u.Permissions); err != nil {
			return nil, err
		}
	}
	if err := addPatterns(groups, "anonymous", c.Anonymous); err != nil {
		return nil, err
	}
	return c.lists().Accounts(access.Everything)
}

// addPatterns creates groups for those permissions that are endpoints, such as
// "PUT /log/{logger}/{level}".
func addPatterns(groups *access.Groups, key string, permissions []string) error {
	for i, permission := range permissions {
		if !strings.Contains(permission, "/") {
			continue
		}
		if err := groups.Add(permission, permission); err != nil {
			return fmt.Errorf("%s[%d]: %w", key, i, err)
		}
	}
	return nil
}

var (
	// errCredentials is the error of invalid credentials.
	errCredentials = errors.New("expected a known user and password")
	// errNoCredentials is the error of a request without credentials.
	errNoCredentials = fmt.Errorf("%w", errCredentials)
)

func (g *guard) protect(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if g.tokens != nil && (r.URL.Path == loginPath || r.URL.Path == authenticatePath) {
			next.ServeHTTP(w, r)
			return
		}
		account, err := g.who(r)
		if err == nil { // modified in place, since the metrics read the pattern of the same request
			*r = *r.WithContext(context.WithValue(r.Context(), userKey{}, account.Name))
		}
		if (err == nil || errors.Is(err, errNoCredentials)) && g.allow(g.users.Get().anonymous, r) {
			next.ServeHTTP(w, r)
			return
		}
		if err != nil {
			g.refuse(w, r, err)
			return
		}
		if !g.groups.Allow(account.Permissions, r) && !g.ownPath(r) {
			WriteError(w, http.StatusForbidden, fmt.Errorf("user %q may not %s %s; permissions that include it: %s (users[].permissions in http.conf)",
				account.Name, r.Method, r.URL.Path, strings.Join(g.groups.Of(r), ", ")))
			return
		}
		if ShowSecrets(r) && !maySeeSecrets(account.Permissions) {
			WriteError(w, http.StatusForbidden, errSecrets(account.Name))
			return
		}
		next.ServeHTTP(w, r)
	})
}

// ownPath reports whether a request is about the client itself, which needs no permission.
func (g *guard) ownPath(r *http.Request) bool {
	return r.URL.Path == accessPath && r.Method == http.MethodGet || g.tokens != nil && r.URL.Path == logoutPath
}

// who returns the account of a request.
func (g *guard) who(r *http.Request) (*accounts.Account, error) {
	if user, password, ok := r.BasicAuth(); ok {
		return g.login(r, user, password)
	}
	token := g.token(r)
	switch {
	case token == "" && r.Header.Get("Authorization") != "":
		return nil, errCredentials
	case token == "":
		return nil, errNoCredentials
	}
	user, err := g.tokens.Check(token)
	if err != nil {
		return nil, err
	}
	if account := g.users.Get().Lookup(user); account != nil {
		return account, nil
	}
	return nil, access.ErrToken // the user has been removed since
}

// token returns the token of a request, as "Authorization: Bearer" or a cookie.
func (g *guard) token(r *http.Request) string {
	if g.tokens == nil {
		return ""
	}
	scheme, token, ok := strings.Cut(r.Header.Get("Authorization"), " ")
	if ok && strings.EqualFold(scheme, "Bearer") { // the scheme is case-insensitive (RFC 9110, 11.1)
		return strings.TrimSpace(token)
	}
	if c, err := r.Cookie(cookieName); err == nil {
		return c.Value
	}
	return ""
}

func (g *guard) login(r *http.Request, user, password string) (*accounts.Account, error) {
	account, err := g.users.Get().Check(r.Context(), g.attempts, r.RemoteAddr, user, password)
	if err != nil {
		return nil, err
	}
	if account == nil { // the slow comparison limits the rate of this log message
		g.log.Warn("wrong user or password for the HTTP server", "user", user, "remote", r.RemoteAddr)
		return nil, errCredentials
	}
	return account, nil
}

// tooMany responds to a client that has to wait before it sends another password.
func tooMany(w http.ResponseWriter, err error) bool {
	var many *accounts.TooManyError
	if !errors.As(err, &many) {
		return false
	}
	w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(many.Wait.Seconds()))))
	WriteError(w, http.StatusTooManyRequests, many)
	return true
}

// acceptsHTML reports whether a browser makes a request to show the answer.
func acceptsHTML(r *http.Request) bool { return strings.Contains(r.Header.Get("Accept"), "text/html") }

// refuse requests credentials; it redirects a browser to the login form.
func (g *guard) refuse(w http.ResponseWriter, r *http.Request, err error) {
	if tooMany(w, err) {
		return
	}
	if g.tokens != nil && r.Method == http.MethodGet && acceptsHTML(r) {
		login := url.URL{Path: loginPath}
		if r.URL.Path != "/" {
			login.RawQuery = url.Values{nextParameter: {r.URL.Path}}.Encode()
		}
		http.Redirect(w, r, login.String(), http.StatusSeeOther)
		return
	}
	if g.tokens == nil || r.Header.Get("Sec-Fetch-Dest") != "empty" { // a script of a page leads to the form itself
		w.Header().Add("WWW-Authenticate", `Basic realm="agent", charset="UTF-8"`)
	}
	if g.tokens != nil {
		w.Header().Add("WWW-Authenticate", `Bearer realm="agent"`)
	}
	WriteError(w, http.StatusUnauthorized, err)
}

// warnOfUnknown logs unknown permissions: such a user has fewer rights than
// intended.
func (p *Plugin) warnOfUnknown() {
	groups := p.routes().perms
	check := func(user string, permissions []string) {
		for _, permission := range permissions {
			if !groups.Known(permission) {
				p.Log.Warn("unknown permission in http.conf", "user", user, "permission", permission,
					"known", strings.Join(groups.Names(), ", "))
			}
		}
	}
	for _, u := range p.cfg.Users {
		check(u.Name, u.Permissions)
	}
	check("anonymous", p.cfg.Anonymous)
}

// userKey is the context key of the name of the user, a string, if the server knows users.
type userKey struct{}

// Caller returns the user who made a request, empty if the server knows no users
// or needs none for it, and the peer address as host:port. The peers of a unix
// socket have no addresses; they are numbered, as in unix-socket:7.
func Caller(r *http.Request) (user, addr string) {
	user, _ = r.Context().Value(userKey{}).(string)
	return user, r.RemoteAddr
}
